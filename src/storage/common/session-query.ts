/**
 * Code that all storage adapters share: the filters, the order and the cursor of `list`, the checks of a commit, and
 * the error for a refused one. A cursor is a position, not an offset, so it stays valid while sessions are added and
 * removed. This file works without `node:` modules.
 */
import { PhasegateError } from "../../errors.js";
import {
  type Commit,
  type Page,
  pagesOf,
  SESSION_STATUSES,
  type SessionQuery,
  type SessionSummary,
} from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId, shown } from "../../workflow/names.js";

/** A session's position in a list. */
export interface ListPosition {
  /** When it was created: ISO 8601, UTC. */
  readonly createdAt: string;
  /** Its id, which orders sessions of the same time. */
  readonly sessionId: string;
}

/** A session in a list whose summary is unreadable; its position comes from an index. */
export interface DamagedSession extends ListPosition {
  /** Tells it from a summary. */
  readonly damaged: true;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;
const ISO_TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}\.\d{3}Z$/;

/** Returns true if a session matches the filters of a query. */
export function matchesQuery(summary: SessionSummary, query: SessionQuery): boolean {
  const { status, workflowType, target, owner, kind, idPrefix, updatedBefore } = query;
  return (
    (status === undefined || status.includes(summary.status)) &&
    (workflowType === undefined || summary.workflowType === workflowType) &&
    (target === undefined || summary.target === target) &&
    (owner === undefined || summary.owner === owner) &&
    (kind === undefined || summary.kind === kind) &&
    (idPrefix === undefined || summary.sessionId.startsWith(idPrefix)) &&
    (updatedBefore === undefined || summary.updatedAt < updatedBefore)
  );
}

/** Compares two positions: newest first, then by id. */
export function comparePositions(a: ListPosition, b: ListPosition): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0;
}

/** Returns the page size of a query. Throws `INVALID_INPUT` if it is not valid. */
export function pageLimit(query: SessionQuery): number {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new PhasegateError("INVALID_INPUT", `limit is not valid: ${shown(limit)}`, {
    remedy: `Ask for 1 to ${MAX_LIMIT} sessions a page.`,
    details: { field: "limit", expected: `an integer from 1 to ${MAX_LIMIT}` },
  });
}

/** Builds a page of at most `limit` sessions; one more means a next page. `hashes` are of newest commits, if known. */
export function sessionPage(
  found: readonly (SessionSummary | DamagedSession)[],
  limit: number,
  hashes?: ReadonlyMap<string, string>,
): Page<SessionSummary> {
  const here = found.slice(0, limit);
  const items = here.filter((one): one is SessionSummary => !isDamaged(one));
  const damaged = here.filter(isDamaged).map(({ sessionId }) => sessionId);
  const last = here.at(-1);
  const more = last !== undefined && found.length > limit ? { cursor: encodeCursor(last) } : {};
  const newest = hashes && { hashes: items.map(({ sessionId }) => hashes.get(sessionId) ?? "") };
  return { items, ...newest, ...more, ...(damaged.length === 0 ? {} : { damaged }) };
}

function isDamaged(one: SessionSummary | DamagedSession): one is DamagedSession {
  return "damaged" in one;
}

/** Yields all sessions that a list omits because they are damaged, page by page. */
export async function* damagedIn(
  list: (query: SessionQuery) => Page<SessionSummary> | Promise<Page<SessionSummary>>,
): AsyncGenerator<SessionId> {
  for await (const { damaged = [] } of pagesOf(list, { limit: MAX_LIMIT })) yield* damaged.filter(isSessionId);
}

/** Encodes a position as an opaque text that is safe in URLs. */
export function encodeCursor(position: ListPosition): string {
  const text = btoa(`${position.createdAt}~${position.sessionId}`);
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the position in a cursor of {@link sessionPage}. Throws `CURSOR_INVALID` for anything else. */
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

/** Encodes the position of a storage that numbers its commits: which storage, and the last number. */
export function encodePosition(storage: string, number: number): string {
  return `${number}@${storage}`;
}

/** Returns the number in a position of this storage. Throws `CURSOR_INVALID` for any other, and for one after `last`. */
export function decodePosition(position: string, storage: string, last: number): number {
  const [digits = "", ...rest] = String(position).split("@");
  const number = /^\d{1,16}$/.test(digits) && rest.join("@") === storage ? Number(digits) : Number.NaN;
  if (number <= last) return number;
  throw foreignPosition(position, number > last ? "later than this storage" : undefined);
}

/** Returns the error for a position that this storage has not given, or has lost. */
export function foreignPosition(
  position: string,
  reason = "not one of this storage",
): PhasegateError<"CURSOR_INVALID"> {
  return new PhasegateError("CURSOR_INVALID", `The position is ${reason}: ${shown(position)}`, {
    remedy: "Leave it out to begin with all sessions.",
    details: { cursor: String(position) },
  });
}

/** Returns a stored summary with fields that are stored elsewhere; undefined if it is not one of this session. */
export function readSummary(
  json: string,
  sessionId: unknown,
  others: Partial<SessionSummary> = {},
): SessionSummary | undefined {
  let stored: unknown;
  try {
    stored = JSON.parse(json);
  } catch {
    return undefined;
  }
  const summary = typeof stored === "object" && { sessionId, ...others, ...stored };
  return isSummary(summary) && summary.sessionId === sessionId ? summary : undefined;
}

/** Returns true if a value has the fields of a summary that lists use. */
function isSummary(value: unknown): value is SessionSummary {
  if (typeof value !== "object" || value === null) return false;
  const summary: Record<string, unknown> = { ...value };
  const { sessionId, status, current, createdAt, activeSince } = summary;
  return (
    isSessionId(sessionId) &&
    ["kind", "workflowType", "target", "updatedAt"].every((key) => typeof summary[key] === "string") &&
    ["owner", "team"].every((key) => summary[key] === undefined || typeof summary[key] === "string") &&
    SESSION_STATUSES.some((known) => known === status) &&
    (typeof current === "number" || typeof current === "string") &&
    isIsoTime(createdAt) &&
    Number.isSafeInteger(activeSince)
  );
}

/** Returns true for a time in the format of `Date.toISOString`, in the years 0 to 9999. */
export function isIsoTime(value: unknown): value is string {
  if (typeof value !== "string" || !ISO_TIME.test(value)) return false;
  // Every month but February has 30 days. Other days need the calendar, which takes ten times as long.
  return value.slice(8, 10) <= (value.slice(5, 7) === "02" ? "28" : "30") || new Date(value).toISOString() === value;
}

/** Checks a commit. Throws `INVALID_INPUT` for one that no engine writes, and `TOO_LARGE`. */
export function checkCommit(commit: Commit, maxBytes: number): void {
  const { sessionId, version, summary, payloads = [] } = commit;
  if (!isSessionId(sessionId) || summary.sessionId !== sessionId) throw invalidCommit("sessionId", sessionId);
  const { activeSince } = summary;
  if (!(Number.isSafeInteger(version) && version >= 1)) throw invalidCommit("version", version);
  if (!(Number.isSafeInteger(activeSince) && activeSince >= 1)) throw invalidCommit("summary.activeSince", activeSince);
  if (!isIsoTime(summary.createdAt)) throw invalidCommit("summary.createdAt", summary.createdAt);
  const utf8 = new TextEncoder();
  const bytes = [commit, ...payloads].reduce((sum, { body }) => sum + utf8.encode(body).length, 0);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
}

/** Builds `CONFLICT` for a commit that cannot be appended: another writer was first, or the session was removed. */
export function commitConflict(sessionId: SessionId, version: number, reason: string): PhasegateError<"CONFLICT"> {
  return new PhasegateError("CONFLICT", `Version ${version} of session ${sessionId} was refused: ${reason}`, {
    remedy: "Read the session again and repeat the command on its newest version.",
    details: { sessionId, version },
  });
}

/** Builds the error for a commit with a field that an adapter cannot store. */
export function invalidCommit(field: string, value: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `The commit's ${field} is not valid: ${shown(value)}`, {
    remedy: "Let the engine make commits, or follow the types of the port.",
    details: { field },
  });
}

function tooLarge(bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `The commit has ${bytes} bytes, and ${limit} are allowed`, {
    remedy: "Submit less at once, or raise the storage's maxCommitBytes.",
    details: { bytes, limit },
  });
}

interface Waiting {
  readonly sessionId: SessionId;
  /** The number of characters of its body. */
  readonly characters: number;
}

/** Takes the commits of the next transaction, at most one of a session: the next one follows it. Returns the others, too. */
export function takeGroup<Item extends Waiting>(
  waiting: readonly Item[],
  maxCommits: number,
  maxCharacters: number,
): readonly [group: Item[], left: Item[]] {
  const group = new Map<string, Item>();
  const left: Item[] = [];
  let total = 0;
  let isFull = false;
  for (const item of waiting) {
    isFull ||= group.size === maxCommits || (group.size > 0 && total + item.characters > maxCharacters);
    if (isFull || group.has(item.sessionId)) left.push(item);
    else {
      group.set(item.sessionId, item);
      total += item.characters;
    }
  }
  return [[...group.values()], left];
}
