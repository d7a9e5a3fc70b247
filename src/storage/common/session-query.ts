/**
 * What every adapter's `list` shares: the filters, the order, the cursor. A cursor is a position, not an offset,
 * so that it stays valid while sessions come and go. Without `node:`.
 */
import { PhasegateError } from "../../errors.js";
import {
  type Commit,
  type Page,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
} from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId, shown } from "../../workflow/names.js";
/** Where a session stands in a list. */
export interface ListPosition {
  readonly createdAt: string;
  readonly sessionId: string;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

/** The order of a list: by creation time, newest first, then by id. */
export function comparePositions(a: ListPosition, b: ListPosition): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0;
}

const ISO_TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}\.\d{3}Z$/;

/** Whether a text is a time as `Date.toISOString` writes it, in the years 0 to 9999. */
export function isIsoTime(value: unknown): value is string {
  if (typeof value !== "string" || !ISO_TIME.test(value)) return false;
  // Every month has 28 days; whether there is a later one the calendar tells, which takes ten times as long.
  return value.slice(8, 10) <= "28" || new Date(value).toISOString() === value;
}

/** A position as an opaque text that may stand in a URL. */
export function encodeCursor(position: Pick<ListPosition, "createdAt"> & { readonly sessionId: string }): string {
  const text = btoa(`${position.createdAt}~${position.sessionId}`);
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads what {@link encodeCursor} wrote; throws `CURSOR_INVALID` for anything else. */
export function decodeCursor(cursor: string): ListPosition {
  const [createdAt, sessionId, ...rest] = decodeText(cursor).split("~");
  if (isIsoTime(createdAt) && isSessionId(sessionId) && rest.length === 0) return { createdAt, sessionId };
  throw new PhasegateError("CURSOR_INVALID", `The cursor is not valid: ${shown(cursor)}`, {
    remedy: "Use the cursor as the page before gave it, or leave it out to begin with the first page.",
    details: { cursor: String(cursor) },
  });
}

function decodeText(cursor: string): string {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}

/** How many items a page of this query holds; throws `INVALID_INPUT` for a limit that is none. */
export function pageLimit(query: SessionQuery): number {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new PhasegateError("INVALID_INPUT", `limit is not valid: ${shown(limit)}`, {
    remedy: `Ask for 1 to ${MAX_LIMIT} sessions a page.`,
    details: { field: "limit", expected: `an integer from 1 to ${MAX_LIMIT}` },
  });
}

/** Whether a session passes the filters of a query. */
export function matchesQuery(summary: SessionSummary, query: SessionQuery): boolean {
  const { status, workflowType, target, kind, idPrefix, updatedBefore } = query;
  return (
    (status === undefined || status.includes(summary.status)) &&
    (workflowType === undefined || summary.workflowType === workflowType) &&
    (target === undefined || summary.target === target) &&
    (kind === undefined || summary.kind === kind) &&
    (idPrefix === undefined || summary.sessionId.startsWith(idPrefix)) &&
    (updatedBefore === undefined || summary.updatedAt < updatedBefore)
  );
}

/** A session in a list whose summary can't be read: where it stands is told by an index. */
export interface DamagedSession {
  readonly createdAt: string;
  readonly sessionId: string;
  readonly damaged: true;
}

/** A page of at most `limit` of the sessions found; one found beyond the limit says that there is a next page. */
export function pageOf(found: readonly (SessionSummary | DamagedSession)[], limit: number): Page<SessionSummary> {
  const here = found.slice(0, limit);
  const items = here.filter((one): one is SessionSummary => !isDamaged(one));
  const damaged = here.filter(isDamaged).map(({ sessionId }) => sessionId);
  const last = here.at(-1);
  const more = last !== undefined && found.length > limit ? { cursor: encodeCursor(last) } : {};
  return { items, ...more, ...(damaged.length === 0 ? {} : { damaged }) };
}

function isDamaged(one: SessionSummary | DamagedSession): one is DamagedSession {
  return "damaged" in one;
}

/** All sessions that a list leaves out, page by page. */
export async function* damagedIn(
  list: (query: SessionQuery) => Page<SessionSummary> | Promise<Page<SessionSummary>>,
): AsyncGenerator<SessionId> {
  let cursor: string | undefined;
  do {
    const page = await list({ limit: MAX_LIMIT, ...(cursor === undefined ? {} : { cursor }) });
    yield* (page.damaged ?? []).filter(isSessionId);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Whether a value out of a store is a summary, as far as lists go by it. */
export function isSummary(value: unknown): value is SessionSummary {
  if (typeof value !== "object" || value === null) return false;
  const summary: Record<string, unknown> = { ...value };
  const { sessionId, status, current, createdAt, activeSince } = summary;
  return (
    isSessionId(sessionId) &&
    ["kind", "workflowType", "target", "updatedAt"].every((key) => typeof summary[key] === "string") &&
    SESSION_STATUSES.some((known) => known === status) &&
    (typeof current === "number" || typeof current === "string") &&
    isIsoTime(createdAt) &&
    Number.isSafeInteger(activeSince)
  );
}

/** Refuses a commit that no engine makes, whose place in lists would be wrong, and one that is too large. */
export function checkCommit(commit: Commit, maxBytes: number): void {
  const { sessionId, version, summary, payloads = [] } = commit;
  if (!isSessionId(sessionId) || summary.sessionId !== sessionId) throw invalidCommit("sessionId", sessionId);
  if (!isVersion(version)) throw invalidCommit("version", version);
  if (!isVersion(summary.activeSince)) throw invalidCommit("summary.activeSince", summary.activeSince);
  if (!isIsoTime(summary.createdAt)) throw invalidCommit("summary.createdAt", summary.createdAt);
  const bytes = [commit, ...payloads].reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
}

/** A commit with a field that an adapter can't store as it is. */
export function invalidCommit(field: string, value: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `The commit's ${field} is not valid: ${shown(value)}`, {
    remedy: "Commits are made by the engine; an adapter or a host that makes its own must follow the port's types.",
    details: { field },
  });
}

function isVersion(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}

function tooLarge(bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `The commit has ${bytes} bytes, and ${limit} are allowed`, {
    remedy: "Hand in less at once, or raise the storage's maxCommitBytes.",
    details: { bytes, limit },
  });
}
