/** Why a session stands where it stands, as a sentence: the page of a session begins with it. */
import { isStuck, STUCK_SECONDS } from "./filter.js";
import type { ListedSession, Why } from "./model.js";
import { STANDING_WORDS } from "./standing.js";

/** A host with another limit than the server counts more attempts than its own limit allows: then it does not know the server's. */
function attemptsText({ attempts, limit }: NonNullable<Why["attempts"]>): string {
  return attempts > limit ? `${attempts} attempts` : `${attempts} of ${limit} attempts`;
}

/**
 * Returns why a session stands where it stands, in one sentence: `Paused by ann: design review is on Thursday`; with what is said
 * of one that is stuck: `Works on 1 Read; no change for 4 days`.
 */
export function whyText(why: Why, unchanged?: string): string {
  const text = sentence(why);
  if (unchanged === undefined) return text;
  return /[.!?…]$/.test(text)
    ? `${text} ${unchanged.slice(0, 1).toUpperCase()}${unchanged.slice(1)}.`
    : `${text}; ${unchanged}`;
}

/**
 * Says of a session that is stuck how long it has been so: `no change for 4 days`; undefined for any other one. `duration` writes
 * a number of seconds.
 */
export function unchangedText(
  session: ListedSession,
  now: number,
  duration: (seconds: number) => string,
): string | undefined {
  if (!isStuck(session, STUCK_SECONDS, now)) return undefined;
  return `no change for ${duration((now - Date.parse(session.updatedAt)) / 1000)}`;
}

function sentence({ standing, at, by, reason, attempts, waits }: Why): string {
  const where = at === undefined ? "" : ` at ${at}`;
  const why = reason === undefined ? "" : `: ${reason}`;
  const used = attempts === undefined || attempts.attempts === 0 ? "" : attemptsText(attempts);
  const counted = used === "" ? "" : `${/[.!?]$/.test(why) ? "" : "."} ${used}`;
  if (standing === "working") return at === undefined ? "Working" : `Works on ${at}${why}`;
  if (standing === "paused") return `Paused${by === undefined ? where : ` by ${by}`}${why}`;
  if (waits !== undefined) {
    const who = waits.by === undefined ? "somebody" : waits.by.join(" or ");
    if (waits.for === "approval") return `Waits for ${who} to approve${at === undefined ? "" : ` ${at}`}`;
    if (waits.for === "waiver") return `Waits for ${who} to waive ${waits.fields?.join(", ") ?? ""}${where}`;
    return `Waits for the host to grant more attempts${where}${why}${counted}`;
  }
  return standing === "done" || standing === "deleted"
    ? STANDING_WORDS[standing]
    : `${STANDING_WORDS[standing]}${where}${why}${counted}`;
}
