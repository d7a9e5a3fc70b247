import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Commit, Payload, StorageAdapter } from "../ports/storage-adapter.js";
import { RecentMap } from "../runtime/cache.js";
import type { SessionId } from "../workflow/names.js";
import {
  type AuditReport,
  audit,
  type CommitBody,
  type Current,
  checkPayload,
  checkSummary,
  commitHash,
  type Executed,
  freeze,
  type Made,
  type Newest,
  type Receipt,
  type Recorded,
  readCommit,
  recordedOf,
  summaryOf,
  tampered,
} from "./commit.js";
import { addKey, findKey, type KeyedRequest, type Machine } from "./machine.js";
/** A command with the large texts that its events name by digest. */
export interface Prepared<Command> {
  readonly command: Command;
  readonly payloads?: readonly Payload[];
}

/**
 * Makes a command for the state at hand; undefined where there is no session yet. That state may be an old one (see
 * `trustsHeads`). Who sets something in motion, for which an old one is no reason, awaits `confirm` first: it throws then,
 * and what it throws is to be passed on.
 */
export type Prepare<Command, Head> = (
  current: Current<Head> | undefined,
  confirm: () => Promise<void>,
) => Promise<Prepared<Command>> | Prepared<Command>;

/** What the kernel is made of. */
export interface KernelOptions<Command, Event, Head> {
  readonly storage: StorageAdapter;
  readonly machine: Machine<Command, Event, Head>;
  readonly clock: Clock;
  /** Makes the hash chain an HMAC. */
  readonly hashKey?: Uint8Array;
  /** After each commit, before the caller has the answer. */
  readonly onCommit?: (recorded: Recorded<Event, Head>) => void;
  /** Each time somebody else's commit came first. */
  readonly onConflict?: (id: SessionId, version: number) => void;
  /**
   * Decides on the head that this kernel has seen last, without reading it again: the append tells whether it still is
   * the newest. For storages that are a round trip away. Whatever is refused on it is asked once more on what was read.
   */
  readonly trustsHeads?: boolean;
}

/** A decision that is to be written. */
type Decided<Event, Head> = Made<Event, Head> & { readonly commit: Commit };
/** What a command comes to on a state: the answer that its key had already, or a decision. */
type Step<Event, Head> = { readonly replay: Executed<Event, Head> } | Decided<Event, Head>;

/** How often a command is decided anew before its caller is told of the conflict. */
const TRIES_MAX = 100;
/** How many sessions' heads are kept, so that a commit need not be parsed and hashed again. */
const HEADS_KEPT = 256;

/**
 * Load, decide, append, notify: makes any {@link Machine}'s sessions durable. A decision is only
 * ever written over the state that it was made on; where somebody else was first it is made again.
 */
export class Kernel<Command, Event, Head> {
  readonly #options: KernelOptions<Command, Event, Head>;
  readonly #log: SessionLog<Event, Head>;
  readonly #heads = new RecentMap<SessionId, Newest<Head>>(HEADS_KEPT);

  constructor(options: KernelOptions<Command, Event, Head>) {
    this.#options = options;
    this.#log = new SessionLog(options);
  }

  /** Where a session stands; undefined if there is none, or it was deleted. */
  async find(id: SessionId): Promise<Current<Head> | undefined> {
    const newest = await this.#newest(id);
    return newest === undefined || newest.summary.status === "deleted" ? undefined : newest;
  }

  /** Where a session stands, also one that was deleted and whose removal is not finished. */
  newest(id: SessionId): Promise<Current<Head> | undefined> {
    return this.#newest(id);
  }

  /** Whether a session was deleted, and its removal is not finished. */
  async isTombstone(id: SessionId): Promise<boolean> {
    return (await this.#newest(id))?.summary.status === "deleted";
  }

  /**
   * Decides a command on the newest state and appends the outcome. `prepare` is asked again after a
   * conflict, with the state that the other side left. A refusal of the machine's is thrown. `trustsHead`: see the
   * kernel's option; for one command that follows another one of the same caller's.
   */
  async execute(
    id: SessionId,
    prepare: Prepare<Command, Head>,
    request?: KeyedRequest,
    { trustsHead = this.#options.trustsHeads === true }: { readonly trustsHead?: boolean } = {},
  ): Promise<Executed<Event, Head>> {
    const seen = trustsHead ? this.#heads.get(id) : undefined;
    // The try on what was seen last is number 0: a head that has become old is no conflict.
    for (let tries = seen === undefined ? 1 : 0; ; tries += 1) {
      const newest = tries === 0 ? seen : await this.#newest(id);
      const confirm = async () => {
        if (tries === 0 && (await this.#newest(id)) !== seen) throw new Error(`session ${id} has moved on`);
      };
      let step: Step<Event, Head>;
      try {
        step = await this.#step(id, newest, (current) => prepare(current, confirm), request);
      } catch (error) {
        if (tries > 0 || (await this.#newest(id)) === seen) throw error;
        continue;
      }
      if ("replay" in step) return step.replay;
      const appending = this.#appended(step.commit, tries);
      // While a storage writes there is time for what nobody waits for.
      freeze(step.newest.head);
      if (await appending) {
        this.#heads.set(id, step.newest);
        const recorded = recordedOf(step);
        this.#options.onCommit?.(recorded);
        return { ...recorded, replayed: false };
      }
      if (newest === undefined) await this.#refuseRemoved(id);
      if (tries > 0) await pause(tries);
    }
  }

  async #step(
    id: SessionId,
    newest: Newest<Head> | undefined,
    prepare: (current: Current<Head> | undefined) => Promise<Prepared<Command>> | Prepared<Command>,
    request: KeyedRequest | undefined,
  ): Promise<Step<Event, Head>> {
    const version = request === undefined || newest === undefined ? undefined : findKey(newest.keys, request);
    if (version !== undefined) return { replay: await this.again(id, version) };
    return this.#decide(id, newest, await prepare(newest), request);
  }

  /** One commit of a session. */
  at(id: SessionId, version: number): Promise<Recorded<Event, Head>> {
    return this.#log.at(id, version);
  }

  /**
   * The answer that a commit was, to a call that is repeated. That acknowledges the commit, so it must be as durable as one
   * whose append was answered.
   */
  async again(id: SessionId, version: number): Promise<Executed<Event, Head>> {
    await this.#options.storage.settle?.(id);
    return { ...(await this.at(id, version)), replayed: true };
  }

  /** All commits in their order, or those after one, each checked against the one before it. */
  log(id: SessionId, after?: Receipt): AsyncGenerator<Recorded<Event, Head>> {
    return this.#log.all(id, after);
  }

  /**
   * Checks a whole log with its summaries and payloads, against a receipt kept elsewhere if there is one, and what the store
   * hints at.
   */
  audit(id: SessionId, receipt?: Receipt): Promise<AuditReport> {
    return this.#log.audit(id, receipt);
  }

  /** Forgets a session whose last commit is its tombstone. */
  async remove(id: SessionId): Promise<void> {
    this.#heads.delete(id);
    await this.#options.storage.remove(id);
  }

  /** A first commit that conflicts with nothing that can be read is one on an id that was removed. */
  async #refuseRemoved(sessionId: SessionId): Promise<void> {
    if ((await this.#options.storage.read(sessionId)) !== undefined) return;
    throw new PhasegateError("CONFLICT", `the session id ${sessionId} was used before, by a session that was deleted`, {
      remedy: "Start a session under another id.",
      details: { sessionId, version: 1 },
    });
  }

  async #newest(id: SessionId): Promise<Newest<Head> | undefined> {
    const commit = await this.#options.storage.read(id);
    if (commit === undefined) return undefined;
    const known = this.#heads.get(id);
    if (known !== undefined && known.hash === commit.hash && known.body === commit.body) return known;
    const { newest } = this.#log.read(id, commit);
    this.#heads.set(id, newest);
    return newest;
  }

  #decide(
    sessionId: SessionId,
    newest: Newest<Head> | undefined,
    { command, payloads = [] }: Prepared<Command>,
    request: KeyedRequest | undefined,
  ): Decided<Event, Head> {
    const { machine, clock, hashKey } = this.#options;
    const at = new Date(clock.now()).toISOString();
    const version = (newest?.version ?? 0) + 1;
    const decision = machine.decide(newest?.head, command, { at, version });
    if (!decision.ok) throw decision.error;
    const { events, head } = decision;
    const keys = request === undefined ? (newest?.keys ?? []) : addKey(newest?.keys ?? [], request, version);
    const { schema } = machine;
    const body = JSON.stringify({ sessionId, version, at, schema, keys, events, head } satisfies CommitBody);
    const previousHash = newest?.hash ?? "";
    const hash = commitHash(previousHash, body, hashKey);
    const before = newest?.summary;
    const standing = summaryOf(machine, { sessionId, head, at }, before?.activeSince ?? version);
    const isAwake = standing.status === "active" && before?.status !== "active";
    const summary = isAwake ? { ...standing, activeSince: version } : standing;
    const commit = { sessionId, version, at, schema, previousHash, hash, summary, body, payloads };
    const made = { sessionId, version, at, hash, summary, body, keys, head };
    return { commit, newest: made, events };
  }

  async #appended(commit: Commit, tries: number): Promise<boolean> {
    try {
      await this.#options.storage.append(commit);
      return true;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
      if (tries === 0) return false;
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

/** Waits a little, longer each time and never the same for two racers. */
function pause(tries: number): Promise<void> {
  const milliseconds = Math.random() * Math.min(2 ** tries, 50);
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Whose sessions are read, from where. */
interface LogSource<Event, Head> {
  readonly storage: StorageAdapter;
  readonly machine: Machine<never, Event, Head>;
  readonly hashKey?: Uint8Array;
}

/** The commits of sessions as they come out of a store: each is checked before anybody sees it. */
class SessionLog<Event, Head> {
  readonly #source: LogSource<Event, Head>;

  constructor(source: LogSource<Event, Head>) {
    this.#source = source;
  }

  /** Checks a commit that is said to be a session's, and reads it. */
  read(sessionId: SessionId, commit: Commit): Made<Event, Head> {
    const { machine, hashKey } = this.#source;
    return readCommit(machine, sessionId, commit, hashKey);
  }

  /** One commit of a session. */
  async at(id: SessionId, version: number): Promise<Recorded<Event, Head>> {
    for await (const commit of this.#source.storage.log(id, { after: version - 1, limit: 1 })) {
      if (commit.version === version) return recordedOf(this.read(id, commit));
    }
    throw tampered({ sessionId: id, version }, "it is missing");
  }

  /** All commits in their order, or those after one, each checked against the one before it. */
  async *all(id: SessionId, after?: Receipt): AsyncGenerator<Recorded<Event, Head>> {
    for await (const { made } of this.#inOrder(id, after)) yield recordedOf(made);
  }

  async *#inOrder(
    id: SessionId,
    after?: Receipt,
  ): AsyncGenerator<{ readonly commit: Commit; readonly made: Made<Event, Head> }> {
    let previous: Receipt | undefined = after;
    const options = after === undefined ? {} : { after: after.version };
    for await (const commit of this.#source.storage.log(id, options)) {
      if (commit.version !== (previous?.version ?? 0) + 1 || commit.previousHash !== (previous?.hash ?? "")) {
        throw tampered(commit, "it does not follow the one before it");
      }
      yield { commit, made: this.read(id, commit) };
      previous = commit;
    }
  }

  /**
   * Checks a whole log with its summaries and payloads, against a receipt kept elsewhere if there is one, and what the store
   * hints at.
   */
  async audit(id: SessionId, receipt?: Receipt): Promise<AuditReport> {
    // Asked first: a commit that is made meanwhile is in the log then, and not before it.
    const hinted = (await this.#source.storage.hint?.(id)) ?? 0;
    return audit(this.#complete(id), receipt, hinted);
  }

  async *#complete(id: SessionId): AsyncGenerator<Recorded<Event, Head>> {
    const { machine, storage } = this.#source;
    for await (const { commit, made } of this.#inOrder(id)) {
      checkSummary(commit, made.newest.summary);
      const recorded = recordedOf(made);
      for (const hash of recorded.events.flatMap((event) => machine.payloadsOf(event))) {
        checkPayload(recorded, hash, await storage.payload(id, hash));
      }
      yield recorded;
    }
  }
}
