/**
 * The filters of the list of sessions. The server chooses with them what the storage can't choose, and the page, which shares this
 * file, whether a session that has just changed belongs to what it shows.
 */
import type { ListedSession } from "./model.js";

/**
 * The filters by their names in the query: `status` is several, joined by commas; `phase` a phase's number or a step's name;
 * `stuck` the seconds without a commit; `text` is in the id, the workflow or the target.
 */
export const FILTERS = ["kind", "status", "workflow", "phase", "waiting", "stuck", "text", "owner"] as const;

export type SessionFilter = { readonly [K in (typeof FILTERS)[number]]?: string };

export function filterOf(query: URLSearchParams): SessionFilter {
  return Object.fromEntries(FILTERS.flatMap((key) => (query.get(key) ? [[key, query.get(key)]] : [])));
}

/** Checks a session against all filters except `stuck`, which depends on the time. */
export function isChosen(
  session: ListedSession,
  { kind, status, workflow, owner, phase, waiting, text }: SessionFilter,
): boolean {
  const { sessionId, workflowType, target, current, waitsFor = [] } = session;
  return (
    (kind === undefined || session.kind === kind) &&
    (status === undefined || status.split(",").includes(session.status)) &&
    (workflow === undefined || workflowType === workflow) &&
    (owner === undefined || session.owner === owner) &&
    (phase === undefined || String(current) === phase) &&
    (waiting === undefined || waitsFor.some((what) => waiting === "any" || waiting === what)) &&
    (text === undefined || `${sessionId}\n${workflowType}\n${target}`.toLowerCase().includes(text.toLowerCase()))
  );
}
