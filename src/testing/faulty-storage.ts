import { setTimeout as delay } from "node:timers/promises";
import { PhasegateError } from "../errors.js";
import type {
  Commit,
  Page,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
} from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";

/** A method of a storage that can be made to fail. */
export type StorageMethod = Exclude<keyof StorageAdapter, "capabilities">;

/** What happens to one call of one method. */
export interface StorageFault {
  readonly method: StorageMethod;
  /** Which call from now on: 1, the next one, if not given. */
  readonly call?: number;
  /**
   * - `fail`: nothing is done, and the call throws.
   * - `delay`: it is done `milliseconds` later.
   * - `duplicate`: it is done twice, as where a lost request is sent again, and the caller has the second answer;
   *   of `log` and `watch`, each commit comes twice.
   * - `drop-answer`: it is done, and the caller is told that it failed, with `outcome: "unknown"`; `log` and `watch`
   *   break off after their first commit.
   */
  readonly fault: "fail" | "delay" | "duplicate" | "drop-answer";
  /** How long to wait with `delay`; 50 if not given. */
  readonly milliseconds?: number;
  /** What to throw instead of `STORAGE_FAILED`. */
  readonly error?: Error;
}

const DELAY_MS = 50;

/** A storage that fails when it is told to, in front of a sound one: hosts see what they do then. */
export class FaultyStorage implements StorageAdapter {
  readonly makeDurable?: (id: SessionId) => Promise<void>;
  readonly watch?: NonNullable<StorageAdapter["watch"]>;
  readonly hint?: (id: SessionId) => Promise<number>;
  readonly damaged?: () => AsyncIterable<SessionId>;
  readonly size?: (id: SessionId) => Promise<SessionSize | undefined>;
  readonly compact?: (id: SessionId) => Promise<void>;
  readonly #inner: StorageAdapter;
  readonly #calls = new Map<StorageMethod, number>();
  readonly #faults = new Map<string, StorageFault>();

  constructor(inner: StorageAdapter, faults: readonly StorageFault[] = []) {
    this.#inner = inner;
    for (const fault of faults) this.inject(fault);
    const { makeDurable, watch, hint, damaged, size, compact } = inner;
    if (makeDurable !== undefined)
      this.makeDurable = (id) => this.#ask("makeDurable", () => makeDurable.call(inner, id));
    if (watch !== undefined) {
      this.watch = (query, options) => this.#through("watch", () => watch.call(inner, query, options));
    }
    if (hint !== undefined) this.hint = (id) => this.#ask("hint", () => hint.call(inner, id));
    if (damaged !== undefined) this.damaged = () => this.#through("damaged", () => damaged.call(inner));
    if (size !== undefined) this.size = (id) => this.#ask("size", () => size.call(inner, id));
    if (compact !== undefined) this.compact = (id) => this.#ask("compact", () => compact.call(inner, id));
  }

  get capabilities(): StorageAdapter["capabilities"] {
    return this.#inner.capabilities;
  }

  /** Adds a fault; its call is counted from now on. */
  inject(fault: StorageFault): void {
    const { method, call = 1 } = fault;
    if (!Number.isSafeInteger(call) || call < 1) {
      throw new PhasegateError("INVALID_INPUT", `a fault can't be at call ${call}`, {
        remedy: "Calls are counted from 1, the next one.",
        details: { field: "call", expected: "a whole number of at least 1" },
      });
    }
    this.#faults.set(`${method} ${this.calls(method) + call}`, fault);
  }

  /** How often a method was called. */
  calls(method: StorageMethod): number {
    return this.#calls.get(method) ?? 0;
  }

  read(id: SessionId): Promise<Commit | undefined> {
    return this.#ask("read", () => this.#inner.read(id));
  }

  append(commit: Commit): Promise<void> {
    return this.#ask("append", () => this.#inner.append(commit));
  }

  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit> {
    return this.#through("log", () => this.#inner.log(id, options));
  }

  payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#ask("payload", () => this.#inner.payload(id, hash));
  }

  list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#ask("list", () => this.#inner.list(query));
  }

  countActive(upTo: number): Promise<number> {
    return this.#ask("countActive", () => this.#inner.countActive(upTo));
  }

  remove(id: SessionId): Promise<void> {
    return this.#ask("remove", () => this.#inner.remove(id));
  }

  close(): Promise<void> {
    return this.#ask("close", async () => this.#inner.close?.());
  }

  async #ask<T>(method: StorageMethod, call: () => Promise<T>): Promise<T> {
    const fault = this.#next(method);
    if (fault === undefined) return call();
    await before(fault);
    if (fault.fault === "duplicate") await call();
    const answer = await call();
    if (fault.fault === "drop-answer") throw failure(fault, "unknown");
    return answer;
  }

  /** The iteration begins when it is called, as a watch must. */
  #through<T>(method: StorageMethod, call: () => AsyncIterable<T>): AsyncIterable<T> {
    const fault = this.#next(method);
    if (fault === undefined) return call();
    return altered(fault, fault.fault === "fail" ? [] : call());
  }

  /** The fault that the call at hand meets. */
  #next(method: StorageMethod): StorageFault | undefined {
    const count = this.calls(method) + 1;
    this.#calls.set(method, count);
    return this.#faults.get(`${method} ${count}`);
  }
}

async function* altered<T>(fault: StorageFault, items: AsyncIterable<T> | []): AsyncGenerator<T> {
  await before(fault);
  for await (const item of items) {
    yield item;
    if (fault.fault === "duplicate") yield item;
    if (fault.fault === "drop-answer") throw failure(fault, "unknown");
  }
}

async function before(fault: StorageFault): Promise<void> {
  if (fault.fault === "fail") throw failure(fault);
  if (fault.fault === "delay") await delay(fault.milliseconds ?? DELAY_MS);
}

function failure({ method, error }: StorageFault, outcome?: "unknown"): Error {
  if (error !== undefined) return error;
  const what = outcome === undefined ? "was made to fail" : "lost its answer";
  return new PhasegateError("STORAGE_FAILED", `${method} ${what}`, {
    remedy: "Try again; with an idempotency key, a call that was done is not done twice.",
    details: { operation: method, ...(outcome === undefined ? {} : { outcome }) },
  });
}
