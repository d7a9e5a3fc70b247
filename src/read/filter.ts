/**
 * The filters of the list of sessions. The server chooses with them, and the page, which shares this file, finds whether a session
 * that has just changed belongs to what it shows.
 */
import type { ListedSession } from "./model.js";
import { standingOf } from "./standing.js";

/**
 * The filters by their names in the query: `status` is how a session stands, or several of that, joined by commas; `phase` the
 * number or the name of a phase, or a step's name; `waived` is anything; `stuck` the seconds without a commit; `text` is in any column of the list, or in what was waived.
 */
export const FILTERS = ["kind", "status", "workflow", "phase", "waiting", "waived", "stuck", "text", "owner"] as const;

export type SessionFilter = { readonly [K in (typeof FILTERS)[number]]?: string };

export function filterOf(query: URLSearchParams): SessionFilter {
  return Object.fromEntries(FILTERS.flatMap((key) => (query.get(key) ? [[key, query.get(key)]] : [])));
}

/** Checks a session against all filters except `stuck`, which depends on the time. */
export function isChosen(
  session: ListedSession,
  { kind, status, workflow, owner, phase, waiting, waived, text }: SessionFilter,
): boolean {
  const { workflowType, current, waitsFor = [] } = session;
  return (
    (kind === undefined || session.kind === kind) &&
    (status === undefined || status.split(",").includes(standingOf(session))) &&
    (workflow === undefined || workflowType === workflow) &&
    (owner === undefined || session.owner === owner) &&
    (phase === undefined || String(current) === phase || session.phaseName === phase) &&
    (waiting === undefined || waitsFor.some((what) => waiting === "any" || waiting === what)) &&
    (waived === undefined || session.waived === true) &&
    (text === undefined || textOf(session).includes(text.toLowerCase()))
  );
}

function textOf(session: ListedSession): string {
  const { sessionId, workflowType, workflowName, target, current, phaseName, owner } = session;
  const columns = [sessionId, workflowType, workflowName, target, `${current} ${phaseName ?? ""}`, owner];
  return [...columns, waivedWords(session)].join("\n").toLowerCase();
}

/** Returns what was waived in a session, in words: `waiver: coverage waived by ann`. */
export function waivedWords({ waived, waivers = [] }: ListedSession): string | undefined {
  if (waived === undefined) return undefined;
  const each = waivers.map(({ fields, by }) => `${fields.join(", ")} waived by ${by}`);
  return `waiver: ${each.join("; ") || "waived"}`;
}

/** A session without a commit for this long is stuck, where nothing else is asked for. */
export const STUCK_SECONDS = 3600;

/** Returns true for a session in which an agent should work, and nothing has happened for some time: one that needs you is not stuck. */
export function isStuck(session: ListedSession, seconds: number, now: number): boolean {
  const standing = standingOf(session);
  const isAtWork = standing === "working" || standing === "refused";
  return isAtWork && Date.parse(session.updatedAt) < now - seconds * 1000;
}
