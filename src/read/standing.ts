/** How a session stands, in the words that people are shown everywhere: in the list of the page, in the terminal, above a session. */
import type { ListedSession } from "../engine/lists.js";

/** The most urgent first. `needs_you`: a person must answer, or the host must grant more attempts. `refused`: its gate has refused the last submission. */
export const STANDINGS = ["needs_you", "failed", "refused", "working", "paused", "done", "deleted"] as const;
export type Standing = (typeof STANDINGS)[number];

/** How the sessions of a list may stand. */
export const LISTED = STANDINGS.filter((standing) => standing !== "deleted");

export function standingOf({ status, waitsFor, refused }: ListedSession): Standing {
  if (status === "completed") return "done";
  if (status !== "active") return status;
  if (waitsFor !== undefined) return "needs_you";
  return refused === undefined ? "working" : "refused";
}

/** Each in words, without numbers. */
export const STANDING_WORDS: Readonly<Record<Standing, string>> = {
  working: "Working",
  refused: "Refused",
  needs_you: "Needs you",
  paused: "Paused",
  failed: "Failed",
  done: "Done",
  deleted: "Deleted",
};

/** Returns a session's standing in words: `Needs you`, `Refused 2 of 3`. */
export function standingText(session: ListedSession): string {
  const standing = standingOf(session);
  const { attempts, limit } = session.refused ?? { attempts: 0, limit: 0 };
  if (standing !== "refused" || attempts === 0) return STANDING_WORDS[standing];
  // Whoever lists may have another limit than the server that counts.
  return attempts > limit ? `Refused ${attempts} times` : `Refused ${attempts} of ${limit}`;
}
