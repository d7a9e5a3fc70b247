/**
 * Load, decide, append, notify: makes the sessions of any machine durable. The entry file of this folder;
 * what is decided where:
 * - log.ts: if a session has changed since it was read, the command is decided again, at most 400 times
 * - session-log.ts: a commit is checked before it is returned, and a whole log in order
 * - commit.ts: what a commit's hash covers, when a log counts as tampered with, and that folds over logs are cached
 * - machine.ts: a repeated key gets the first answer; a session remembers its last 16 keys, and the one it began with; how
 *   old formats are read. A refused call leaves no commit, so its repetition is carried out
 */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { type Clock, type FullClock, fullClock, pause } from "../ports/clock.js";
import type { Commit, Payload, ReadOptions, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { ENTRY_WEIGHT, RecentMap } from "../workflow/cache.js";
import type { SessionId } from "../workflow/names.js";
import {
  type AuditReport,
  type Current,
  commitHash,
  type Executed,
  freeze,
  type Made,
  type Newest,
  type Place,
  type Receipt,
  type Recorded,
  recordedOf,
  summaryOf,
  type WrittenBody,
} from "./commit.js";
import { addKey, findKey, findVersion, type KeyedRequest, type Machine } from "./machine.js";
import { SessionLog } from "./session-log.js";

export interface KernelOptions<Command, Event, Head> {
  readonly storage: StorageAdapter;
  readonly machine: Machine<Command, Event, Head>;
  readonly clock: Clock;
  /** Turns the hash chain into an HMAC chain. */
  readonly hashKey?: Uint8Array;
  /** Called after each commit, before the caller gets the answer, with the state before it. */
  readonly onCommit?: (recorded: Recorded<Event, Head>, before: Current<Head> | undefined) => void;
  /** Called each time another writer's commit came first. */
  readonly onConflict?: (id: SessionId, version: number) => void;
  /** Called each time a repeated call is answered with the commit that the first one led to. */
  readonly onReplay?: (id: SessionId, version: number) => void;
  /**
   * Decides on the head that this kernel saw last, without reading it again; the append detects an outdated one. A command
   * that is refused on such a head is decided again on a fresh read. Not for commands whose meaning depends on the state
   * when they came.
   */
  readonly trustsHeads?: boolean;
}

/** A command, with the large texts that its events refer to by digest. */
export interface Prepared<Command> {
  readonly command: Command;
  readonly payloads?: readonly Payload[];
  /** True if the session need not remember the call's key. */
  readonly forgetsKey?: boolean;
}

/** An answer for which nothing is written. */
export interface Unwritten<Answer> {
  readonly answer: Answer;
}

export type PreparedOr<Command, Answer> = Prepared<Command> | Unwritten<Answer>;

/**
 * Makes a command for the current state, or an answer for which nothing is written; the state is undefined if there is no
 * session yet. The state may be outdated (see `trustsHeads`): before side effects, `confirm` must be awaited. It throws if
 * the state is outdated, and that error must be passed on.
 */
export type Prepare<Command, Head, Answer = never> = (
  current: Current<Head> | undefined,
  confirm: () => Promise<void>,
) => Promise<PreparedOr<Command, Answer>> | PreparedOr<Command, Answer>;

/**
 * Returns true if a caller may use a session with this summary, which is that of its head; false if it does not exist for
 * that caller. Throws if they may see it, but not do this.
 */
export type Admits = (summary: SessionSummary) => boolean;

export interface ExecuteOptions {
  /** Overrides the kernel's option for one command that follows another one of the same caller. */
  readonly trustsHead?: boolean;
  /** True if the id was just made: if a session has it nevertheless, the append finds that out. */
  readonly isNew?: boolean;
}

type Decided<Event, Head> = Made<Event, Head> & { readonly commit: Commit };

/** A commit, with its events if it was not cached. */
type Looked<Event, Head> = Pick<Made<Event, Head>, "newest"> & Partial<Made<Event, Head>>;

/** Limits the heads that are cached, so that a commit need not be parsed and hashed again: in characters of commits. */
const HEADS_WEIGHT = 16 * 1024 * 1024;

/** The number of times that a command is decided again before the caller gets `CONFLICT`. */
const TRIES_MAX = 400;

/**
 * After so many tries, a call waits only while no commit of another writer has arrived. Otherwise a writer that never loses,
 * and so never waits, could always be first.
 */
const PATIENT_TRIES = 16;

/** Makes the sessions of any {@link Machine} durable. */
export class Kernel<Command, Event, Head> {
  readonly #options: KernelOptions<Command, Event, Head>;
  readonly #log: SessionLog<Event, Head>;
  readonly #clock: FullClock;
  readonly #heads: RecentMap<SessionId, Newest<Head>>;
  readonly #admits: Admits | undefined;
  #last: { readonly now: number; readonly at: string } | undefined;

  constructor(options: KernelOptions<Command, Event, Head>);
  /** @internal Kernels for one caller are made by `limitedTo`. */
  constructor(of: Kernel<Command, Event, Head>, admits: Admits);
  constructor(from: KernelOptions<Command, Event, Head> | Kernel<Command, Event, Head>, admits?: Admits) {
    this.#admits = admits;
    if (from instanceof Kernel) {
      this.#options = from.#options;
      this.#log = from.#log;
      this.#clock = from.#clock;
      this.#heads = from.#heads;
      return;
    }
    this.#options = from;
    this.#log = new SessionLog(from);
    this.#clock = fullClock(from.clock);
    this.#heads = new RecentMap(HEADS_WEIGHT, ({ body }) => body.length + ENTRY_WEIGHT);
  }

  /** Returns this kernel for one caller: it finds, and writes to, the sessions that `admits` accepts. */
  limitedTo(admits: Admits): Kernel<Command, Event, Head> {
    return new Kernel(this, admits);
  }

  /** Returns a session's current state; undefined if it does not exist or was deleted. */
  async find(id: SessionId): Promise<Current<Head> | undefined> {
    const newest = await this.newest(id);
    return newest?.summary.status === "deleted" ? undefined : newest;
  }

  /** Returns true if a session was deleted and its removal is not finished. */
  async isTombstone(id: SessionId): Promise<boolean> {
    return (await this.newest(id))?.summary.status === "deleted";
  }

  /**
   * Decides a command on the newest state and appends the outcome, or returns the answer of `prepare`. After a
   * conflict, `prepare` is called again with the new state. Throws the machine's error if it refuses.
   */
  execute(
    id: SessionId,
    prepare: Prepare<Command, Head>,
    request?: KeyedRequest,
    options?: ExecuteOptions,
  ): Promise<Executed<Event, Head>>;
  execute<Answer>(
    id: SessionId,
    prepare: Prepare<Command, Head, Answer>,
    request?: KeyedRequest,
    options?: ExecuteOptions,
  ): Promise<Executed<Event, Head> | Unwritten<Answer>>;
  async execute<Answer>(
    id: SessionId,
    prepare: Prepare<Command, Head, Answer>,
    request?: KeyedRequest,
    { trustsHead = this.#options.trustsHeads === true, isNew = false }: ExecuteOptions = {},
  ): Promise<Executed<Event, Head> | Unwritten<Answer>> {
    const seen = trustsHead ? this.#admitted(this.#heads.get(id)) : undefined;
    let before: Newest<Head> | undefined;
    let unmoved = 0;
    // Try 0 uses the cached head, or no head for a new id. If that is outdated, the next try does not wait.
    for (let tries = seen === undefined && !isNew ? 1 : 0; ; tries += 1) {
      const newest = tries === 0 ? seen : await this.newest(id);
      const isCurrent = async () => tries > 0 || (await this.newest(id)) === seen;
      const confirm = async () => {
        if (!(await isCurrent())) throw new Error(`session ${id} has moved on`);
      };
      let decided: Decided<Event, Head>;
      try {
        const known = request === undefined || newest === undefined ? undefined : findKey(newest.keys, request);
        if (known !== undefined) {
          if (await isCurrent()) return await this.again(id, known);
          // The session may have been handed over, or restored from a backup without that commit.
          continue;
        }
        const prepared = await prepare(newest, confirm);
        if ("answer" in prepared) {
          if (await isCurrent()) return prepared;
          continue;
        }
        decided = this.#decide(id, newest, prepared, request);
      } catch (error) {
        if (await isCurrent()) throw error;
        continue;
      }
      const appending = this.#appended(decided.commit, newest?.body, tries);
      // While the storage writes.
      freeze(decided.newest.head);
      if (await appending) {
        this.#heads.set(id, decided.newest);
        const recorded = recordedOf(decided);
        this.#options.onCommit?.(recorded, newest);
        return { ...recorded, replayed: false };
      }
      if (newest === undefined) await this.#refuseRemoved(id);
      // The writer that came first may still be writing: then the state is the same as before.
      unmoved = newest?.version === before?.version ? unmoved + 1 : 0;
      before = newest;
      const waits = tries > PATIENT_TRIES ? unmoved : tries;
      if (waits > 0) await backoff(this.#clock, waits);
    }
  }

  at(id: SessionId, version: number): Promise<Recorded<Event, Head>> {
    return this.#log.at(id, version);
  }

  /** Returns the version that a key has led to, with whatever command; undefined if the session does not remember it. */
  async ledTo(id: SessionId, key: string): Promise<number | undefined> {
    const newest = await this.newest(id);
    return newest && findVersion(newest.keys, key);
  }

  /**
   * Answers a repeated call with the commit that the first call led to. This acknowledges the commit, so it must first be as
   * durable as one whose append was acknowledged.
   */
  async again(id: SessionId, version: number): Promise<Executed<Event, Head>> {
    await this.#options.storage.makeDurable?.(id);
    const recorded = await this.at(id, version);
    this.#options.onReplay?.(id, version);
    return { ...recorded, replayed: true };
  }

  /** Yields all commits in order, or those after `after`, each checked against the one before it. */
  log(id: SessionId, after?: Receipt): AsyncGenerator<Recorded<Event, Head>> {
    return this.#log.all(id, after);
  }

  /**
   * Yields the commits after `after` up to a place, as `log` does. If the place is that of the cached commit and follows `after`,
   * the log is not read: after most calls, that is so.
   */
  async *logTo({ sessionId, version, hash }: Place, after?: Receipt): AsyncGenerator<Recorded<Event, Head>> {
    const cached = this.#heads.get(sessionId);
    if (cached?.hash === hash && version === (after?.version ?? 0) + 1) {
      yield recordedOf(this.#log.read(sessionId, { ...cached, previousHash: after?.hash ?? "" }));
      return;
    }
    for await (const commit of this.log(sessionId, after)) {
      if (commit.version > version) return;
      yield commit;
    }
  }

  /**
   * Checks a whole log with its summaries and payloads, against a receipt if one is given, and against the
   * store's hint. A session of another kind has no commits here.
   */
  audit(id: SessionId, receipt?: Receipt): Promise<AuditReport> {
    return this.#log.audit(id, receipt);
  }

  /**
   * Deletes a session. `tombstone` writes its last commit first: if the removal is interrupted, the same call finishes it. A
   * damaged log can't get a tombstone, and its owner is unknown: it is removed as it is if `isOperator` returns true.
   */
  async delete(id: SessionId, tombstone: () => Promise<unknown>, isOperator: () => boolean): Promise<void> {
    const refused = await tombstone().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (refused === undefined || (await this.#mayRemove(id, refused.error, isOperator))) return this.remove(id);
    throw refused.error;
  }

  async #mayRemove(id: SessionId, error: unknown, isOperator: () => boolean): Promise<boolean> {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return this.isTombstone(id);
    return isPhasegateError(error, "TAMPERED") && isOperator() && (await this.#mayBeOwn(id));
  }

  /** Returns false for a session of another kind, as far as that can be read. */
  async #mayBeOwn(id: SessionId): Promise<boolean> {
    try {
      const newest = await this.#options.storage.read(id);
      return newest === undefined || !this.#isOther(newest.summary);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return true;
      throw error;
    }
  }

  /** Removes a session whose last commit is its tombstone. */
  async remove(id: SessionId): Promise<void> {
    this.#heads.delete(id);
    await this.#options.storage.remove(id);
  }

  /** Refuses the id of a removed session: a first commit that conflicts although no session can be read. */
  async #refuseRemoved(sessionId: SessionId): Promise<void> {
    const newest = await this.#options.storage.read(sessionId);
    const isOther = newest !== undefined && this.#isOther(newest.summary);
    // Another call has just started it.
    if (newest !== undefined && !isOther && this.#admits?.(newest.summary) !== false) return;
    const ended = isOther ? "is of another kind" : "was deleted";
    const why = this.#admits === undefined ? ended : "is not yours any more, or was deleted";
    throw new PhasegateError("CONFLICT", `the session id ${sessionId} was used before, by a session that ${why}`, {
      remedy: "Start a session under another id.",
      details: { sessionId, version: 1 },
    });
  }

  /** Returns a session's current state, also if it was deleted and its removal is not finished. */
  async newest(id: SessionId): Promise<Newest<Head> | undefined> {
    return (await this.#read(id))?.newest;
  }

  /** Does the same for a list, which acknowledges nothing: the commit may not be durable yet. With its events if it was read now. */
  look(id: SessionId): Promise<Looked<Event, Head> | undefined> {
    return this.#read(id, { durable: false });
  }

  async #read(id: SessionId, options?: ReadOptions): Promise<Looked<Event, Head> | undefined> {
    const commit = await this.#options.storage.read(id, options);
    if (commit === undefined) this.#heads.delete(id);
    // Checked before it is read: a session that the caller can't see takes no longer than one that does not exist.
    if (commit === undefined || this.#admits?.(commit.summary) === false) return undefined;
    const known = this.#heads.get(id);
    const isKnown = known !== undefined && known.hash === commit.hash && known.body === commit.body;
    const looked: Looked<Event, Head> | undefined = isKnown ? { newest: known } : this.#log.readOwn(id, commit);
    if (looked !== undefined) this.#heads.set(id, looked.newest);
    return this.#admitted(looked?.newest) && looked;
  }

  #isOther({ kind }: SessionSummary): boolean {
    return kind !== this.#options.machine.kind;
  }

  #admitted(newest: Newest<Head> | undefined): Newest<Head> | undefined {
    return newest === undefined || this.#admits?.(newest.summary) === false ? undefined : newest;
  }

  #decide(
    sessionId: SessionId,
    newest: Newest<Head> | undefined,
    { command, payloads = [], forgetsKey = false }: Prepared<Command>,
    request: KeyedRequest | undefined,
  ): Decided<Event, Head> {
    const { machine, hashKey } = this.#options;
    const at = this.#time();
    const version = (newest?.version ?? 0) + 1;
    const decision = machine.decide(newest?.head, command, { at, version });
    if (!decision.ok) throw decision.error;
    const { events, head } = decision;
    const known = newest?.keys ?? [];
    const keys = request === undefined || forgetsKey ? known : addKey(known, request, version);
    const { schema } = machine;
    const named = keys.length === 0 ? undefined : keys;
    const stored = machine.store?.(events, head) ?? { events, head };
    const body = JSON.stringify({ sessionId, version, at, schema, keys: named, ...stored } satisfies WrittenBody);
    const previousHash = newest?.hash ?? "";
    const hash = commitHash(previousHash, body, hashKey);
    const before = newest?.summary;
    const current = summaryOf(machine, { sessionId, head, at }, before?.activeSince ?? version);
    const becameActive = current.status === "active" && before?.status !== "active";
    const summary = becameActive ? { ...current, activeSince: version } : current;
    const commit = { sessionId, version, at, schema, previousHash, hash, summary, body, payloads };
    const made = { sessionId, version, at, schema, hash, summary, body, keys, head };
    return { commit, newest: made, events };
  }

  /** Returns the time as ISO 8601. A busy host makes many commits in one millisecond: its text is made once. */
  #time(): string {
    const now = this.#clock.now();
    if (this.#last?.now !== now) this.#last = { now, at: new Date(now).toISOString() };
    return this.#last.at;
  }

  async #appended(commit: Commit, follows: string | undefined, tries: number): Promise<boolean> {
    try {
      await this.#options.storage.append(commit, { follows });
      return true;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
      this.#options.onConflict?.(commit.sessionId, commit.version);
      if (tries < TRIES_MAX) return false;
      throw new PhasegateError("CONFLICT", `session ${commit.sessionId} is written by too many at once`, {
        remedy: "Nothing was written: try again in a moment.",
        details: { sessionId: commit.sessionId, version: commit.version },
        cause: error,
      });
    }
  }
}

function backoff(clock: FullClock, waits: number): Promise<void> {
  return pause(clock, clock.random() * Math.min(2 ** waits, 50));
}
