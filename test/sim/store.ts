/**
 * The store that all hosts share, and a host's connection to it. The simplest store is the one in memory, which keeps its
 * promises, behind a network: requests and answers are late, lost or doubled, and stores can't be reached. A caller that
 * has no answer gets an error with the outcome `unknown`. The other stores are adapters on simulated disks and servers,
 * which have failures of their own: file-store.ts, sqlite-store.ts, postgres-store.ts.
 */
import { MemoryStorage } from "phasegate";
import { PhasegateError } from "../../src/errors.js";
import type {
  AppendOptions,
  Commit,
  Page,
  SessionQuery,
  SessionSummary,
  StorageAdapter,
  WatchOptions,
} from "../../src/ports/storage-adapter.js";
import type { SessionId } from "../../src/workflow/names.js";
import type { Schedule } from "./schedule.js";

/** What can go wrong with a call over the network. */
const FAULTS = ["request-lost", "answer-lost", "doubled", "late", "refused"] as const;
/** What can go wrong with a call: see {@link FAULTS}. */
type Fault = (typeof FAULTS)[number];

/** What comes of it for a read: most of it is the same. */
const AS_READ: Readonly<Record<Fault | "cut", Fault | "cut" | undefined>> = {
  "request-lost": "request-lost",
  "answer-lost": "request-lost",
  late: "request-lost",
  doubled: undefined,
  refused: "refused",
  cut: "cut",
};

/** How much can still go wrong: the world decides that it is enough, so that every call ends. */
export interface Trouble {
  /** The number of faults that are left. */
  left: number;
  /** How often a call goes wrong, in percent. */
  readonly percent: number;
  /** The submissions whose verifier could not tell. */
  readonly disturbed: Set<unknown>;
  /** True while a caller cancels its call: a verifier that is stopped by that has no say. */
  isCancelling: boolean;
}

/** A host's side of its connection. */
export interface Line {
  /** The name of the host's life. */
  readonly of: string;
  /** Aborts when the host crashes. */
  readonly end: AbortSignal;
  /** True while the host can't reach the store. */
  readonly isCut: boolean;
}

/** What an adapter can do, as its hosts see it. */
export interface Nature {
  /** True if the simulated network is between the hosts and the adapter; otherwise the adapter has failures of its own. */
  readonly isBehindNetwork: boolean;
  /** How often its watchers look for commits of other hosts, in milliseconds; missing if they are told at once. */
  readonly pollMs?: number;
}

/** The store that all hosts share. */
export abstract class SharedStore {
  readonly schedule: Schedule;
  readonly trouble: Trouble;
  abstract readonly nature: Nature;
  /** The newest version of each session, as the store has it. */
  readonly versions = new Map<string, number>();
  /** The newest version of each session that a host was told of as its own. */
  readonly acknowledged = new Map<string, number>();
  readonly #newest = new Map<string, string>();
  /** True if anybody watches. */
  isWatched = false;
  /** Answers that a loss of power could undo. */
  readonly undurable: string[] = [];
  /** The versions after each loss of power. */
  readonly #losses: ReadonlyMap<string, number>[] = [];

  constructor(schedule: Schedule, trouble: Trouble) {
    this.schedule = schedule;
    this.trouble = trouble;
  }

  /** Opens the store for one life of a host. */
  abstract open(line: Line): Promise<StorageAdapter>;

  /** Returns all commits of a session, as the store has them. */
  abstract commits(id: SessionId): Promise<Commit[]>;

  /** Fails the power of the machine that all hosts run on; missing if they run on several. */
  losePower?(): void;

  /** Releases what the store has outside of the world. */
  close(): void {}

  /** Is told of each commit that a host was answered, at the instant of the answer. */
  noteAnswered(_of: string, _commit: Pick<Commit, "sessionId" | "version">): void {}

  /** Notes that a commit can be seen. */
  noteVersion(sessionId: string, version: number, hash = ""): void {
    this.versions.set(sessionId, version);
    this.#newest.set(sessionId, hash);
    this.schedule.note(`store: ${sessionId} has ${version}`);
    // Watchers see commits in the order in which they came.
    if (this.isWatched) this.schedule.causes?.concerns("watchers");
  }

  /** Notes that what happens depends on what is stored, of one session or of all. */
  noteSeen(sessionId?: string): void {
    this.schedule.causes?.sees(this.content(sessionId));
  }

  /** Identifies what is stored, of one session or of all. */
  content(sessionId?: string): string {
    return JSON.stringify(sessionId === undefined ? [...this.#newest].sort() : (this.#newest.get(sessionId) ?? ""));
  }

  /** Notes what a loss of power has left. */
  protected noteLoss(left: ReadonlyMap<string, number>): void {
    for (const [id, version] of this.versions) {
      if ((left.get(id) ?? 0) < version) this.schedule.note(`store: ${id} is back at ${left.get(id) ?? 0}`);
      if (left.has(id)) this.versions.set(id, left.get(id) ?? 0);
      else this.versions.delete(id);
    }
    this.#losses.push(left);
  }

  /** Begins to observe a session. The function that it returns gives the versions between which the session was since. */
  observe(sessionId: string): () => { readonly from: number; readonly to: number } {
    const [begin, losses] = [this.versions.get(sessionId) ?? 0, this.#losses.length];
    this.noteSeen(sessionId);
    return () => {
      this.noteSeen(sessionId);
      const lost = this.#losses.slice(losses).map((left) => left.get(sessionId) ?? 0);
      return { from: Math.min(begin, ...lost), to: this.versions.get(sessionId) ?? 0 };
    };
  }

  /** Returns true if something goes wrong now. */
  fails(of: string, percent: number): boolean {
    const { trouble, schedule } = this;
    if (trouble.left <= 0 || !schedule.choices.chance(of, percent)) return false;
    trouble.left -= 1;
    return true;
  }

  /** Returns the fault of a call over the network, if there is one. */
  fault(of: string): Fault | undefined {
    if (!this.fails(of, this.trouble.percent)) return undefined;
    return FAULTS[this.schedule.choices.pick(of, FAULTS.length)];
  }
}

/** The store in memory, which the network is in front of. */
export class NetworkStore extends SharedStore {
  readonly nature = { isBehindNetwork: true };
  readonly #inner = new NotingStorage((commit) => this.noteVersion(commit.sessionId, commit.version, commit.hash));

  async open(): Promise<StorageAdapter> {
    return this.#inner;
  }

  commits(id: SessionId): Promise<Commit[]> {
    return all(this.#inner.log(id));
  }
}

/** A store in memory that says what is appended. */
class NotingStorage extends MemoryStorage {
  readonly #note: (commit: Commit) => void;

  constructor(note: (commit: Commit) => void) {
    super();
    this.#note = note;
  }

  override async append(commit: Commit): Promise<void> {
    await super.append(commit);
    this.#note(commit);
  }
}

/** Returns what an iteration yields. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** A host's connection to the store, for one life of the host. After its end no call ever comes back. */
export class SimStorage implements StorageAdapter, Line {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly of: string;
  readonly #store: SharedStore;
  readonly #end = new AbortController();
  #opened: Promise<StorageAdapter> | undefined;
  isCut = false;
  /** Is told of each append that this host was told is done. */
  onAppended: (id: SessionId, version: number) => void = () => {};

  constructor(store: SharedStore, of: string) {
    this.#store = store;
    this.of = of;
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes: 1e9 };
  }

  get end(): AbortSignal {
    return this.#end.signal;
  }

  /** Ends this life: what it has asked for over the network may still reach the store, but no answer comes back. */
  crash(): void {
    this.#end.abort();
    this.#store.schedule.drop(this.of);
  }

  read(id: SessionId): Promise<Commit | undefined> {
    return this.#ask(`read ${id}`, id, async (storage) => {
      const commit = await storage.read(id);
      if (commit !== undefined) this.#store.noteAnswered(this.of, commit);
      return commit;
    });
  }

  async append(commit: Commit, options?: AppendOptions): Promise<void> {
    // The caller owns the commit.
    const copy = structuredClone(commit);
    const { sessionId, version } = copy;
    const append = async (storage: StorageAdapter) => {
      await storage.append(copy, options);
      this.#store.noteAnswered(this.of, copy);
    };
    await this.#ask(`append ${sessionId} ${version}`, sessionId, append, true);
    this.#store.acknowledged.set(sessionId, Math.max(version, this.#store.acknowledged.get(sessionId) ?? 0));
    this.onAppended(sessionId, version);
  }

  makeDurable(id: SessionId): Promise<void> {
    return this.#ask(`make durable ${id}`, id, async (storage) => storage.makeDurable?.(id));
  }

  async *log(
    id: SessionId,
    options?: { readonly after?: number; readonly limit?: number },
  ): AsyncGenerator<Commit, void, undefined> {
    yield* await this.#ask(`log ${id} after ${options?.after ?? 0}`, id, (storage) => all(storage.log(id, options)));
  }

  payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#ask(`payload ${id}`, id, (storage) => storage.payload(id, hash));
  }

  list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#ask("list", undefined, (storage) => storage.list(query));
  }

  countActive(upTo: number): Promise<number> {
    return this.#ask("count", undefined, (storage) => storage.countActive(upTo));
  }

  remove(id: SessionId): Promise<void> {
    return this.#ask(`remove ${id}`, id, (storage) => storage.remove(id));
  }

  hint(id: SessionId): Promise<number> {
    return this.#ask(`hint ${id}`, id, async (storage) => (await storage.hint?.(id)) ?? 0);
  }

  /** Commits arrive one after the other, each after a time of its own. */
  watch(query: SessionQuery, options: WatchOptions & { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    // Not `AbortSignal.any`: Node keeps what that makes until it aborts, and who watches for a crashed host never ends.
    const either = new AbortController();
    for (const end of [options.signal, this.#end.signal]) {
      if (end.aborted) either.abort();
      end.addEventListener("abort", () => either.abort(), { once: true });
    }
    const { signal } = either;
    const begun = this.#adapter().then((storage) => {
      this.#store.isWatched = true;
      this.#store.noteSeen();
      return storage.watch?.(query, { ...options, signal }) ?? [];
    });
    // The first call of the iterator reports the failure.
    begun.catch(() => {});
    return this.#late(begun);
  }

  async *#late(begun: Promise<AsyncIterable<Commit> | never[]>): AsyncGenerator<Commit, void, undefined> {
    for await (const commit of await begun) {
      this.#store.noteAnswered(this.of, commit);
      await this.#store.schedule.wait(this.of, `sees ${commit.sessionId} ${commit.version}`);
      yield commit;
    }
  }

  /** Returns the adapter. If it could not be opened, it is opened again. */
  async #adapter(): Promise<StorageAdapter> {
    this.#opened ??= this.#store.open(this);
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /**
   * Sends a request. Its answer is a step of its own: others may act before it arrives. Where orders are explored, a read has
   * one step, since there would be too many orders.
   */
  #ask<T>(
    what: string,
    about: SessionId | undefined,
    work: (storage: StorageAdapter) => Promise<T>,
    isWrite = false,
  ): Promise<T> {
    if (this.end.aborted) return new Promise(() => {});
    const { schedule, nature } = this.#store;
    const call = async () => {
      this.#store.noteSeen(about);
      return work(await this.#adapter());
    };
    return new Promise<T>((resolve, reject) => {
      const answer = (said: string, run: () => void) => schedule.add(this.of, `${what} ${said}`, run);
      const noAnswer = () => answer("has no answer", () => reject(unknown(what)));
      const later = () => schedule.add("network", `${what} of ${this.of}, late`, () => void call().catch(() => {}));
      const arrive = () => {
        schedule.causes?.sees(`${this.end.aborted} ${this.isCut}`);
        // A request that was on its way when the host crashed.
        if (this.end.aborted) return void call().catch(() => {});
        const fault = nature.isBehindNetwork ? this.#networkFault(what, isWrite) : undefined;
        if (fault === "cut") return reject(unknown(what));
        if (fault === "refused") return reject(refused(what));
        if (fault === "request-lost") return noAnswer();
        if (fault === "late") {
          later();
          return noAnswer();
        }
        const made = call();
        if (fault === "doubled") later();
        if (fault === "answer-lost") return void made.then(noAnswer, noAnswer);
        const direct = (_: string, run: () => void) => run();
        const reply = isWrite || schedule.choices.pickStep === undefined ? answer : direct;
        void made.then(
          (value) => this.end.aborted || reply("is done", () => resolve(value)),
          (error: unknown) => this.end.aborted || reply(`fails: ${codeOf(error)}`, () => reject(error)),
        );
      };
      const isOnItsWay = isWrite && nature.isBehindNetwork;
      schedule.add(isOnItsWay ? `${this.of}-sends` : this.of, what, arrive);
    });
  }

  #networkFault(what: string, isWrite: boolean): Fault | "cut" | undefined {
    const { schedule } = this.#store;
    const fault = this.isCut ? "cut" : this.#store.fault(`store-of-${this.of}`);
    if (fault === undefined) return undefined;
    if (fault !== "cut") schedule.note(`network: ${what} of ${this.of} is ${fault}`);
    const effect = isWrite ? fault : AS_READ[fault];
    if (effect !== undefined) schedule.causes?.sees(effect);
    return effect;
  }
}

/** Returns the code of an error, for the trace. */
export function codeOf(error: unknown): string {
  return error instanceof PhasegateError ? error.code : String(error);
}

function unknown(operation: string): PhasegateError<"STORAGE_FAILED"> {
  return new PhasegateError("STORAGE_FAILED", `${operation} has no answer`, {
    remedy: "Try again.",
    details: { operation, outcome: "unknown" },
  });
}

function refused(operation: string): PhasegateError<"STORAGE_FAILED"> {
  return new PhasegateError("STORAGE_FAILED", `${operation} has failed`, {
    remedy: "Try again.",
    details: { operation },
  });
}
