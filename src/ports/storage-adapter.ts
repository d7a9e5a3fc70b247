import type { SessionId } from "../workflow/names.js";

/** Where a session stands, for every kind of session. `deleted` is the tombstone's. */
export const SESSION_STATUSES = ["active", "paused", "completed", "failed", "deleted"] as const;
/** Where a session stands. */
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * What a list shows and filters on, without the session being read. Every commit carries it.
 * Times are ISO 8601 in UTC with milliseconds.
 */
export interface SessionSummary {
  readonly sessionId: SessionId;
  /** Which engine the session belongs to: `phased` for this one. */
  readonly kind: string;
  readonly workflowType: string;
  readonly target: string;
  readonly status: SessionStatus;
  /** Where the session stands: a phase's number, or a step's name. */
  readonly current: number | string;
  /** How many phases there are, where that is known. */
  readonly total?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly completedAt?: string;
  /** The version of the commit that last made the session active: stays when it ends. */
  readonly activeSince: number;
}

/** One transition of a session: written whole or not at all, never changed afterwards. */
export interface Commit {
  readonly sessionId: SessionId;
  /** 1 for the first, without gaps. */
  readonly version: number;
  /** When it was decided: ISO 8601, UTC. */
  readonly at: string;
  /** The version of the body's format. */
  readonly schema: number;
  /** The hash of the commit before it, `""` for the first. */
  readonly previousHash: string;
  readonly hash: string;
  readonly summary: SessionSummary;
  /** Events and head, serialised once: to be stored and given back to the letter. */
  readonly body: string;
  /** Large evidence, by content; `read` and `log` may leave it out, `payload` gives it. */
  readonly payloads?: readonly Payload[];
}

/** A text under its own digest. */
export interface Payload {
  readonly hash: string;
  readonly body: string;
}

/** Which sessions, in which page. Filters are joined by *and*; a missing one lets all through. */
export interface SessionQuery {
  readonly status?: readonly SessionStatus[];
  readonly workflowType?: string;
  readonly target?: string;
  readonly kind?: string;
  /** Only sessions whose id begins so: an adapter can tell from its index, without reading them. */
  readonly idPrefix?: string;
  /** Only sessions whose last commit is older than this ISO 8601 time. */
  readonly updatedBefore?: string;
  /** At most so many, 1 to 1,000; 50 if not given. */
  readonly limit?: number;
  /** As the page before it gave it. */
  readonly cursor?: string;
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; missing on the last one. */
  readonly cursor?: string;
  /** How many there are in all, where the adapter knows it without a scan. */
  readonly total?: number;
  /** Ids of sessions in the place of this page that are not among its items, since what it would show can't be read. */
  readonly damaged?: readonly string[];
}

/** How much a session takes. */
export interface SessionSize {
  readonly commits: number;
  /** Bodies, summaries and payloads as they are stored. */
  readonly bytes: number;
}

/** What a repair has found. */
export interface RepairReport {
  /** How many sessions there are. */
  readonly sessions: number;
  /** What was put right, and how often. */
  readonly repaired: readonly { readonly what: string; readonly count: number }[];
  /** Sessions that can't be read to their end, which no repair changes. */
  readonly damaged: readonly { readonly sessionId: SessionId; readonly reason: string }[];
}

/**
 * Where sessions are kept: append-only logs with compare-and-set. An adapter knows nothing of
 * phases, keys or retries.
 *
 * - `append` is all or nothing, and durable (as `capabilities.durability` says) once it resolves.
 * - What a call gives back is the caller's: changing it changes nothing that is stored. So is what a call is handed,
 *   from the call on: an adapter that waits for something first takes a copy first.
 * - A failure throws; `CONFLICT` means that nothing was written and somebody else was first, any
 *   other error that nothing was acknowledged.
 */
export interface StorageAdapter {
  readonly capabilities: {
    /** What an acknowledged commit survives: nothing, the end of the process, a loss of power. */
    readonly durability: "memory" | "process" | "power";
    /** Whether several processes may use it at once. */
    readonly multiProcess: boolean;
    /** The largest commit, in bytes, payloads included. */
    readonly maxCommitBytes: number;
    /**
     * Whether each call is a round trip over a network. Engines then decide on the commit that they saw last, and leave
     * it to `append` to say that it no longer is the newest.
     */
    readonly remote?: boolean;
  };
  /** The newest commit; undefined if there is no such session, or it was removed. */
  read(id: SessionId): Promise<Commit | undefined>;
  /**
   * Adds a commit if the newest one's hash is its `previousHash` (`""`: if there is none and there
   * never was one). Throws `CONFLICT` otherwise.
   */
  append(commit: Commit): Promise<void>;
  /**
   * Adds the first commits of a session in one go, all of them or none: cheaper than one after the other, to copy a
   * session. Throws `CONFLICT` if there is one of that id, or ever was.
   */
  begin?(commits: readonly Commit[]): Promise<void>;
  /**
   * Makes what was last read of a session as durable as an acknowledged append, by a write of its own if need be; no error
   * if there is no such session. Engines call it before they answer a repeated call by a commit that they have found: the
   * append that wrote it may have failed with its commit half-way to the disk, or to a standby. Left out by an adapter
   * whose reads give only what is durable.
   */
  settle?(id: SessionId): Promise<void>;
  /** The commits in ascending order, those with a version above `after`, at most `limit`. */
  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit>;
  /** A payload of the session by its digest; undefined if there is none. */
  payload(id: SessionId, hash: string): Promise<string | undefined>;
  /**
   * By creation time, newest first, then by id; a cursor stays valid while sessions come and go. A session whose summary
   * can't be read is named as damaged, and the others are listed.
   */
  list(query: SessionQuery): Promise<Page<SessionSummary>>;
  /**
   * How many sessions are active, counted no further than `upTo`: from an index, without a scan of all
   * sessions. May be too high by what a crash left in the index, never too low.
   */
  countActive(upTo: number): Promise<number>;
  /**
   * Forgets a session, after its tombstone commit. Its id can never be used again. No error if
   * there is none.
   */
  remove(id: SessionId): Promise<void>;
  /**
   * Commits as anybody appends them, those whose own summary matches: each at least once, a session's in their order,
   * also across a lost connection. It begins when it is called: what the same adapter is asked to append afterwards is
   * seen, and of other processes all from the moment that the adapter has looked. Ends without an error when the signal
   * aborts. `limit` and `cursor` mean nothing here.
   */
  watch?(query: SessionQuery, options: { readonly signal: AbortSignal }): AsyncIterable<Commit>;
  /**
   * The version that the store has beside the log for the newest of a session; 0 if it has none. A hint, which may lag
   * behind: where it is ahead of the log, commits have gone. Only audits ask.
   */
  hint?(id: SessionId): Promise<number>;
  /**
   * All sessions that `list` leaves out, as what it would show of them can't be read; reading one tells why. An adapter in
   * which none can be damaged has no such method. Only what goes through all sessions asks, as to copy them.
   */
  damaged?(): AsyncIterable<SessionId>;
  /** How much a session takes, without its commits being read; undefined if there is none. */
  size?(id: SessionId): Promise<SessionSize | undefined>;
  /**
   * Puts a session's commits closer together, or gives room back that nothing stands in. Nothing of its log is lost, and
   * it can be called at any time, by any process.
   */
  compact?(id: SessionId): Promise<void>;
  /** Makes anew what can be told from the logs, as an index, and says which logs are damaged. No log is changed. */
  repair?(): Promise<RepairReport>;
  /** Lets go of handles; the adapter is not used afterwards. */
  close?(): Promise<void>;
}
