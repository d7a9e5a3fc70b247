/**
 * The simulated store and the network before it. The store itself keeps its promises (it is the one in memory, which passes
 * the contract); what hosts see of it is what a network makes of that: requests and answers that are late, lost or doubled,
 * and stores that can't be reached. A caller that has no answer gets an error with the outcome `unknown`.
 */
import { MemoryStorage } from "phasegate";
import { PhasegateError } from "../../src/errors.js";
import type { Commit, Page, SessionQuery, SessionSummary, StorageAdapter } from "../../src/ports/storage-adapter.js";
import type { SessionId } from "../../src/workflow/names.js";
import type { Schedule } from "./schedule.js";

/** What can go wrong with a call to the store. */
const FAULTS = ["request-lost", "answer-lost", "doubled", "late", "refused"] as const;
/** What can go wrong with a call: see {@link FAULTS}. */
export type Fault = (typeof FAULTS)[number];

/** How much can still go wrong: the world decides that it is enough, so that every call ends. */
export interface Trouble {
  /** The number of faults that are left. */
  left: number;
  /** How often a call goes wrong, in percent. */
  readonly percent: number;
  /** The submissions whose verifier could not tell. */
  readonly disturbed: Set<unknown>;
}

/** The store that all hosts share. */
export class SharedStore {
  readonly inner = new MemoryStorage();
  readonly schedule: Schedule;
  readonly trouble: Trouble;
  /** The newest version of each session, as the store has it. */
  readonly versions = new Map<string, number>();
  readonly #newest = new Map<string, string>();
  #content = "";

  constructor(schedule: Schedule, trouble: Trouble) {
    this.schedule = schedule;
    this.trouble = trouble;
  }

  /** Appends, and notes the version. */
  async append(commit: Commit): Promise<void> {
    await this.inner.append(commit);
    this.versions.set(commit.sessionId, commit.version);
    this.#newest.set(commit.sessionId, commit.hash);
    this.#content = JSON.stringify([...this.#newest].sort());
    this.schedule.note(`store: ${commit.sessionId} has ${commit.version}`);
  }

  /** Identifies all that is stored. */
  get content(): string {
    return this.#content;
  }

  /** Returns the fault of a call, if there is one. */
  fault(of: string): Fault | undefined {
    const { trouble, schedule } = this;
    if (trouble.left <= 0 || !schedule.choices.chance(of, trouble.percent)) return undefined;
    trouble.left -= 1;
    return FAULTS[schedule.choices.pick(of, FAULTS.length)];
  }

  /** Returns all commits of a session, as the store has them. */
  async commits(id: SessionId): Promise<Commit[]> {
    const found: Commit[] = [];
    for await (const commit of this.inner.log(id)) found.push(commit);
    return found;
  }
}

/** A host's connection to the store, for one life of the host. After its end no call ever comes back. */
export class SimStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #store: SharedStore;
  readonly #of: string;
  readonly #end = new AbortController();
  /** True while the host can't reach the store. */
  isCut = false;

  constructor(store: SharedStore, of: string, { remote }: { readonly remote: boolean }) {
    this.#store = store;
    this.#of = of;
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes: 1e9, remote };
  }

  /** Ends this life: what it has asked for may still reach the store, but no answer comes back. */
  end(): void {
    this.#end.abort();
    this.#store.schedule.drop(this.#of);
  }

  read(id: SessionId): Promise<Commit | undefined> {
    return this.#ask(`read ${id}`, () => this.#store.inner.read(id));
  }

  append(commit: Commit): Promise<void> {
    // The caller owns the commit.
    const copy = structuredClone(commit);
    return this.#ask(`append ${commit.sessionId} ${commit.version}`, () => this.#store.append(copy), true);
  }

  makeDurable(id: SessionId): Promise<void> {
    return this.#ask(`make durable ${id}`, async () => {});
  }

  async *log(
    id: SessionId,
    options?: { readonly after?: number; readonly limit?: number },
  ): AsyncGenerator<Commit, void, undefined> {
    yield* await this.#ask(`log ${id} after ${options?.after ?? 0}`, async () => {
      const found: Commit[] = [];
      for await (const commit of this.#store.inner.log(id, options)) found.push(commit);
      return found;
    });
  }

  payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#ask(`payload ${id}`, () => this.#store.inner.payload(id, hash));
  }

  list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#ask("list", () => this.#store.inner.list(query));
  }

  countActive(upTo: number): Promise<number> {
    return this.#ask("count", () => this.#store.inner.countActive(upTo));
  }

  remove(id: SessionId): Promise<void> {
    return this.#ask(`remove ${id}`, () => this.#store.inner.remove(id));
  }

  /** Commits arrive one after the other, each after a time of its own. */
  watch(query: SessionQuery, options: { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    const signal = AbortSignal.any([options.signal, this.#end.signal]);
    return this.#late(this.#store.inner.watch(query, { signal }));
  }

  async *#late(commits: AsyncIterable<Commit>): AsyncGenerator<Commit, void, undefined> {
    for await (const commit of commits) {
      await this.#store.schedule.wait(this.#of, `sees ${commit.sessionId} ${commit.version}`);
      yield commit;
    }
  }

  /** Sends a request. A write is a step of its own before its answer: it may reach the store without one. */
  #ask<T>(what: string, call: () => Promise<T>, isWrite = false): Promise<T> {
    if (this.#end.signal.aborted) return new Promise(() => {});
    const { schedule } = this.#store;
    return new Promise<T>((resolve, reject) => {
      const answer = (said: string, run: () => void) => schedule.add(this.#of, `${what} ${said}`, run);
      const noAnswer = () => answer("has no answer", () => reject(unknown(what)));
      const later = () => schedule.add("network", `${what} of ${this.#of}, late`, () => void call().catch(() => {}));
      const arrive = () => {
        // A request that was on its way when the host crashed.
        if (this.#end.signal.aborted) return void call().catch(() => {});
        if (this.isCut) return reject(unknown(what));
        const fault = this.#store.fault(`store-of-${this.#of}`);
        if (fault !== undefined) schedule.note(`network: ${what} of ${this.#of} is ${fault}`);
        if (fault === "refused") return reject(refused(what));
        if (fault === "request-lost") return noAnswer();
        if (fault === "late") {
          if (isWrite) later();
          return noAnswer();
        }
        const made = call();
        if (fault === "doubled" && isWrite) later();
        if (fault === "answer-lost") return void made.then(noAnswer, noAnswer);
        const direct = (_: string, run: () => void) => run();
        const reply = isWrite ? answer : direct;
        void made.then(
          (value) => reply("is done", () => resolve(value)),
          (error: unknown) => reply(`fails: ${codeOf(error)}`, () => reject(error)),
        );
      };
      schedule.add(isWrite ? `${this.#of}-sends` : this.#of, what, arrive);
    });
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
