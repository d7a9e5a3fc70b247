/**
 * The storage of sessions: append-only logs with compare-and-set. `storage/` has implementations, and
 * `phasegate/testing` has the tests that every implementation must pass.
 *
 * A storage of this package has a folder `storage/NAME/`, an entry point `NAME.ts` and, if a terminal can reach it, an entry in the
 * table of `cli/state.ts`, and runs the contract. One from outside is a module that `--state module:FILE?NAME=VALUE`
 * names: it exports `openWith(parameters)`, which gets the values as texts, with `create: true` if the storage may be made, and
 * returns an adapter or a promise of one. `phasegate/storage` has what adapters share; `PhasegateError` is in `phasegate`.
 */
import {
  anything,
  check,
  checkOptions,
  having,
  type OptionChecks,
  optionally,
  text,
} from "../workflow/host-options.js";
import type { SessionId } from "../workflow/names.js";

/** The states of every kind of session. `deleted` is the state of a tombstone. */
export const SESSION_STATUSES = ["active", "paused", "completed", "failed", "deleted"] as const;
/** The state of a session. */
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * The part of a session that lists show and filter by, without reading the session. Every commit carries
 * it. Times are ISO 8601 in UTC with milliseconds.
 */
export interface SessionSummary {
  /** The session's id. */
  readonly sessionId: SessionId;
  /** The kind of engine that the session belongs to, such as `phased`. */
  readonly kind: string;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** The target that it was started on. */
  readonly target: string;
  /** Who it belongs to; missing if nobody was recorded. */
  readonly owner?: string;
  /** The team of its owner; missing if none was recorded. */
  readonly team?: string;
  /** Its status after its last commit. */
  readonly status: SessionStatus;
  /** The current phase's number, or the current step's name. */
  readonly current: number | string;
  /** The number of phases, where it is known. */
  readonly total?: number;
  /** The time of its first commit: ISO 8601, UTC. */
  readonly createdAt: string;
  /** The time of its last commit: ISO 8601, UTC. */
  readonly updatedAt: string;
  /** The time at which it was completed: ISO 8601, UTC; missing if it is not. */
  readonly completedAt?: string;
  /** The version of the commit that last made the session active; kept when it ends. */
  readonly activeSince: number;
}

/** A text with its digest. */
export interface Payload {
  /** SHA-256 of the text, in hexadecimal. */
  readonly hash: string;
  /** The text: JSON. */
  readonly body: string;
}

/** One transition of a session: written completely or not at all, and never changed. */
export interface Commit {
  /** The session that it belongs to. */
  readonly sessionId: SessionId;
  /** 1 for the first commit, without gaps. */
  readonly version: number;
  /** The time of the decision: ISO 8601, UTC. */
  readonly at: string;
  /** The version of the body's format. */
  readonly schema: number;
  /** The hash of the commit before; `""` for the first. */
  readonly previousHash: string;
  /** The hash of this commit. */
  readonly hash: string;
  /** The session after this commit, for lists. */
  readonly summary: SessionSummary;
  /** Events and head, serialised once. Must be stored and returned unchanged. */
  readonly body: string;
  /** Large evidence, by digest. `read`, `log` and `watch` may omit it; `payload` returns it. */
  readonly payloads?: readonly Payload[];
}

/**
 * Selects sessions and a page of them. Filters are combined with *and*; a missing filter matches everything. Texts are compared
 * exactly, code unit by code unit: no pattern, no normal form, upper and lower case differ. `matchesQuery` of
 * `phasegate/storage` does it.
 */
export interface SessionQuery {
  /** Only sessions in one of these states. An empty list matches nothing. */
  readonly status?: readonly SessionStatus[];
  /** Only sessions on this workflow. */
  readonly workflowType?: string;
  /** Only sessions on this target. */
  readonly target?: string;
  /** Only sessions of this owner; `""` matches nothing. An adapter answers this from an index. */
  readonly owner?: string;
  /** Only sessions of this kind of engine. */
  readonly kind?: string;
  /** Only sessions whose id begins with this text; `""` matches all. An adapter can answer this from its index. */
  readonly idPrefix?: string;
  /** Only sessions whose `updatedAt` is before this ISO 8601 time, as a text: not those of the time itself. */
  readonly updatedBefore?: string;
  /** The page size, 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** The cursor of the page before. */
  readonly cursor?: string;
}

export const storageCheck = having("a storage, such as new MemoryStorage()", "read", "append", "log", "list");

const isStatus = (value: unknown) => SESSION_STATUSES.some((status) => status === value);

export const queryChecks: OptionChecks<SessionQuery> = {
  status: optionally(
    check(`a list of some of ${SESSION_STATUSES.join(", ")}`, (value) => Array.isArray(value) && value.every(isStatus)),
  ),
  workflowType: optionally(text),
  target: optionally(text),
  owner: optionally(text),
  kind: optionally(text),
  idPrefix: optionally(text),
  updatedBefore: optionally(
    check("a time, ISO 8601", (value) => text.accepts(value) && !Number.isNaN(Date.parse(String(value)))),
  ),
  // Adapters check these.
  limit: anything,
  cursor: anything,
};

/**
 * Checks a host's query for the operation `of`: a filter that is misspelt would let all sessions through, and a host may
 * delete what it gets.
 * @throws {PhasegateError} `INVALID_INPUT` for an unknown or invalid filter.
 */
export function checkQuery(of: string, query: SessionQuery): void {
  checkOptions(of, query, queryChecks);
}

/** A page of a list. */
export interface Page<T> {
  /** The items of this page. */
  readonly items: readonly T[];
  /** The start of the next page; missing on the last page. */
  readonly cursor?: string;
  /** The number of matches on all pages, where the adapter knows it without a scan. */
  readonly total?: number;
  /** The ids of sessions that belong on this page but are not in `items`, since their summary can't be read. */
  readonly damaged?: readonly string[];
  /**
   * The hash of each item's newest commit, if the adapter finds it with the summary. Statistics then read no session that
   * has not changed, also without `changes`.
   */
  readonly hashes?: readonly string[];
}

/** Yields the pages of a list, from the first or from the query's cursor on. */
export async function* pagesOf<P extends { readonly cursor?: string }>(
  list: (query: SessionQuery) => P | Promise<P>,
  query: SessionQuery,
): AsyncGenerator<P> {
  let page = await list(query);
  yield page;
  while (page.cursor !== undefined) {
    page = await list({ ...query, cursor: page.cursor });
    yield page;
  }
}

/** The sessions that have changed since a position in the storage. */
export interface Changes {
  /** Their ids, each once, in any order. */
  readonly sessionIds: readonly SessionId[];
  /** The position of now: a text that only this storage understands. */
  readonly position: string;
}

/** The space that a session takes. */
export interface SessionSize {
  /** The number of commits. */
  readonly commits: number;
  /** Bodies, summaries and payloads as stored. */
  readonly bytes: number;
}

/** The result of a repair. */
export interface RepairReport {
  /** The number of sessions. */
  readonly sessions: number;
  /** What was repaired, and how often. */
  readonly repaired: readonly { readonly what: string; readonly count: number }[];
  /** Sessions that can't be read to their end. A repair does not change them. */
  readonly damaged: readonly { readonly sessionId: SessionId; readonly reason: string }[];
}

/** What an append knows of the commit before. */
export interface AppendOptions {
  /** The body of the commit that it was decided on. */
  readonly follows?: string | undefined;
}

/** What a read is for. */
export interface ReadOptions {
  /**
   * False for a list, which acknowledges nothing: the commit need not be as durable yet as one whose append was acknowledged, as
   * those that `list` and `log` return. Adapters may ignore it. Default: true.
   */
  readonly durable?: boolean | undefined;
}

export interface WatchOptions {
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once, when the watch misses no commit of another process any more. An adapter may not know, and not call it. Must not
   * throw.
   */
  readonly onReady?: (() => void) | undefined;
}

/**
 * Stores sessions as append-only logs with compare-and-set. An adapter knows nothing of phases, keys or retries. `storageContract`
 * of `phasegate/testing` checks what is written here, and `phasegate/storage` has what adapters share.
 * - `append` is all or nothing, and durable (as `capabilities.durability` says) once it resolves. A commit that anybody sees has
 *   its payloads and its summary: in `read`, `log`, `payload`, `list` and `countActive`, of this adapter and of all others over
 *   the same storage. A process may be killed or suspended at any time, and nothing that was acknowledged is lost.
 * - Texts (bodies, payloads, summaries) come back exactly, with lone surrogates and U+0000. A missing field stays missing.
 * - The caller owns what a call returns: changing it changes nothing that is stored. The caller also owns
 *   the arguments: an adapter that waits before it uses them copies them first.
 * - A failure rejects. `CONFLICT` means that nothing was written because another writer was first; any
 *   other error means that nothing was acknowledged. If it may have been written nevertheless, `details.outcome` is `unknown`.
 * - A call of a closed adapter fails, or does what it answers. Every call comes to its end, within 30 seconds in the contract.
 */
export interface StorageAdapter {
  /** Properties of the storage that engines take into account. They are the same each time that it is opened. */
  readonly capabilities: {
    /** What an acknowledged commit survives: nothing, the end of the process, or a loss of power. */
    readonly durability: "memory" | "process" | "power";
    /** True if several processes may use the storage at once. Several adapters in one process may, then, too. */
    readonly multiProcess: boolean;
    /** The largest commit, in bytes of UTF-8 of its body and its payloads' bodies. At least 2,000,000: the first has the whole workflow. */
    readonly maxCommitBytes: number;
  };
  /** Returns the newest commit, with or without its payloads; undefined if the session does not exist or was removed. */
  read(id: SessionId, options?: ReadOptions): Promise<Commit | undefined>;
  /**
   * Adds a commit if it follows the newest one: its `version` is the next one, and its `previousHash` is the hash of
   * the newest one. The first commit has version 1 and `previousHash` `""`, and needs an id that was never used. Of several
   * writers at once, exactly one succeeds; so the same commit a second time is a conflict. Engines decide on the commit that they
   * saw last, and rely on this. `follows` is that commit's body, if the caller has it: an adapter whose sessions people can edit
   * refuses to follow another one, as if another writer had come first.
   *
   * It also refuses, with any error, what no engine writes: a version that is not a whole number from 1 on, a summary of another
   * session, and a `createdAt` that is not a time as `Date.toISOString` gives it. `checkCommit` of `phasegate/storage` does this.
   * A payload whose hash the session has already stays as it is.
   * @throws {PhasegateError} `CONFLICT` when another commit was first, or the id was used before: nothing was written.
   * @throws {PhasegateError} `TOO_LARGE` when it has more than `maxCommitBytes`.
   */
  append(commit: Commit, options?: AppendOptions): Promise<void>;
  /**
   * Adds the first commits of a session in one operation, all or none. Cheaper than one after the other; used to copy sessions.
   * They are of one session, from version 1 on, and each follows the one before: anything else is refused with any error. An
   * empty list does nothing.
   * @throws {PhasegateError} `CONFLICT` when a session with that id exists or ever existed.
   */
  begin?(commits: readonly Commit[]): Promise<void>;
  /**
   * Makes what was last read of a session as durable as an acknowledged append, with a write if necessary.
   * No error if the session does not exist. Engines call it before they answer a repeated call from a
   * commit that they found: the append that wrote it may have failed before the commit reached the disk or
   * a standby. Omitted by an adapter whose reads return only durable commits.
   */
  makeDurable?(id: SessionId): Promise<void>;
  /**
   * Returns the commits in ascending order: those with a version above `after` (default 0), at most `limit` (default all; 0 gives
   * none). Empty if the session does not exist or was removed. The caller may stop before the end.
   */
  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit>;
  /** Returns a payload by its digest; undefined if this session has none. The digest may be any text. */
  payload(id: SessionId, hash: string): Promise<string | undefined>;
  /**
   * Lists sessions by the `createdAt` of their newest summary, newest first; those of one time by id, ascending, code unit by
   * code unit (`comparePositions` of `phasegate/storage`). Filters and items are those of the newest commit's summary.
   *
   * A cursor is the position of a page's last session, not a number of sessions: it stays valid while sessions come and go, also
   * that session, and after a restart. So each session that matches all the time is on one page. A session whose summary can't
   * be read is reported as damaged; the others are listed.
   * @throws {PhasegateError} `INVALID_INPUT` when `limit` is not a whole number from 1 to 1,000.
   * @throws {PhasegateError} `CURSOR_INVALID` when `cursor` is not of this storage's form, also with filters.
   */
  list(query: SessionQuery): Promise<Page<SessionSummary>>;
  /**
   * Counts sessions whose status is `active`, up to `upTo` (0 gives 0, and it may be infinite), from an index and without a scan
   * of all sessions. May be too high after a crash, never too low.
   */
  countActive(upTo: number): Promise<number>;
  /**
   * Removes a session, usually after its tombstone commit, with all its commits and payloads, from lists and counts. Its id can
   * never be used again, also after a restart: each later append is a `CONFLICT`, and one that runs at the same time brings
   * nothing back. No error if the session does not exist.
   */
  remove(id: SessionId): Promise<void>;
  /**
   * Yields each new commit, of any process, whose own summary matches the query: at least once, those of one session in
   * order, also across a lost connection. Starts with the call: commits that this adapter is
   * asked to append afterwards are included; commits of other processes are included from the adapter's
   * first poll, when it calls `onReady`. Ends without an error when the signal aborts, also if it was aborted before. `close` ends
   * it, with or without an error. Several may run, and one may be left while others go on. Commits of a session that is removed
   * before they are yielded may be left out. Ignores `limit` and `cursor`.
   */
  watch?(query: SessionQuery, options: WatchOptions & { readonly signal: AbortSignal }): AsyncIterable<Commit>;
  /**
   * Returns the sessions of a kind with commits after a position, or all sessions of the kind that there are; and the
   * sessions of any kind that were removed since, however long after their tombstone. Each is named once. Omits none whose commit
   * was acknowledged before the call, and may name others only while they change. Used by statistics; without it, they list all
   * sessions in each call.
   * @throws {PhasegateError} `CURSOR_INVALID` when this storage has given no such position, or is older than it.
   */
  changes?(kind: string, since?: string): Promise<Changes>;
  /**
   * Returns the version of the newest commit that the store records outside the log; 0 if it has none. It
   * may lag behind. If it is ahead of the log, commits were lost. Used by audits only.
   */
  hint?(id: SessionId): Promise<number>;
  /**
   * Yields all sessions that `list` omits because their summary can't be read; reading one gives the reason. Omitted by
   * an adapter whose sessions can't be damaged. Used by operations on all sessions, such as a copy.
   */
  damaged?(): AsyncIterable<SessionId>;
  /** Returns the space that a session takes, without reading its commits; undefined if it does not exist. */
  size?(id: SessionId): Promise<SessionSize | undefined>;
  /**
   * Stores a session's commits more compactly, or frees unused space. Nothing of the log is lost. Any
   * process may call it at any time, also while commits are appended, and for a session that does not exist.
   */
  compact?(id: SessionId): Promise<void>;
  /** Rebuilds what can be derived from the logs, such as an index, and reports damaged logs. Changes no log. */
  repair?(): Promise<RepairReport>;
  /** Releases handles. The adapter is not used afterwards. */
  close?(): Promise<void>;
}
