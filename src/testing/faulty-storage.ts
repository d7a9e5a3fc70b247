/** A storage that fails on request, in front of another one. */
import { setTimeout as delay } from "node:timers/promises";
import { PhasegateError } from "../errors.js";
import type {
  AppendOptions,
  Commit,
  Page,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
} from "../ports/storage-adapter.js";
import {
  anything,
  check,
  checkOptions,
  isOpen,
  type OptionChecks,
  oneOf,
  optionally,
} from "../workflow/host-options.js";
import type { SessionId } from "../workflow/names.js";

/** A method of a storage that can be made to fail. */
export type StorageMethod = Exclude<keyof StorageAdapter, "capabilities">;

/** A fault in one call of one method. */
export interface StorageFault {
  /** The method. */
  readonly method: StorageMethod;
  /** Number of the call, counted from now on. Default 1, the next one. */
  readonly call?: number;
  /**
   * The fault:
   *
   * - `fail`: the call throws and does nothing.
   * - `delay`: the call is made `milliseconds` later.
   * - `duplicate`: the call is made twice, like a lost request that is sent again, and the caller gets the second answer;
   *   `log` and `watch` return each commit twice.
   * - `drop-answer`: the call is made, but the caller gets an error with `outcome: "unknown"`; `log` and `watch` break off
   *   after their first commit.
   */
  readonly fault: "fail" | "delay" | "duplicate" | "drop-answer";
  /** The wait of `delay`, in milliseconds. Default 50. */
  readonly milliseconds?: number;
  /** The error to throw. Default: a `PhasegateError` with `STORAGE_FAILED`. */
  readonly error?: Error;
}

const DELAY_MS = 50;

const METHODS: Record<StorageMethod, 1> = {
  ...{ read: 1, append: 1, begin: 1, makeDurable: 1, log: 1, payload: 1, list: 1, countActive: 1, remove: 1, watch: 1 },
  ...{ changes: 1, hint: 1, damaged: 1, size: 1, compact: 1, repair: 1, close: 1 },
};
const FAULT: OptionChecks<StorageFault> = {
  method: oneOf(...Object.keys(METHODS)),
  call: anything,
  fault: oneOf("fail", "delay", "duplicate", "drop-answer"),
  milliseconds: optionally(check("a number", (value) => typeof value === "number")),
  error: optionally(check("an Error", (value) => isOpen(value) && "message" in value)),
};

/** A storage that fails on request, in front of another one: for tests of how a host handles failures. */
export class FaultyStorage implements StorageAdapter {
  /** The inner storage's `begin`, if it has one. */
  readonly begin?: (commits: readonly Commit[]) => Promise<void>;
  /** The inner storage's `makeDurable`, if it has one. */
  readonly makeDurable?: (id: SessionId) => Promise<void>;
  /** The inner storage's `watch`, if it has one. */
  readonly watch?: NonNullable<StorageAdapter["watch"]>;
  /** The inner storage's `changes`, if it has one. */
  readonly changes?: NonNullable<StorageAdapter["changes"]>;
  /** The inner storage's `hint`, if it has one. */
  readonly hint?: (id: SessionId) => Promise<number>;
  /** The inner storage's `damaged`, if it has one. */
  readonly damaged?: () => AsyncIterable<SessionId>;
  /** The inner storage's `size`, if it has one. */
  readonly size?: (id: SessionId) => Promise<SessionSize | undefined>;
  /** The inner storage's `compact`, if it has one. */
  readonly compact?: (id: SessionId) => Promise<void>;
  /** The inner storage's `repair`, if it has one. */
  readonly repair?: () => Promise<RepairReport>;
  readonly #inner: StorageAdapter;
  readonly #calls = new Map<StorageMethod, number>();
  readonly #faults = new Map<string, StorageFault>();

  /**
   * Wraps a storage.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when the `call` of a fault is not a whole number of at least 1.
   */
  constructor(inner: StorageAdapter, faults: readonly StorageFault[] = []) {
    this.#inner = inner;
    for (const fault of faults) this.inject(fault);
    const { begin, makeDurable, watch, changes, hint, damaged, size, compact, repair } = inner;
    if (begin !== undefined) this.begin = (commits) => this.#ask("begin", () => begin.call(inner, commits));
    if (makeDurable !== undefined) {
      this.makeDurable = (id) => this.#ask("makeDurable", () => makeDurable.call(inner, id));
    }
    if (watch !== undefined) {
      this.watch = (query, options) => this.#through("watch", () => watch.call(inner, query, options));
    }
    if (changes !== undefined) {
      this.changes = (kind, since) => this.#ask("changes", () => changes.call(inner, kind, since));
    }
    if (hint !== undefined) this.hint = (id) => this.#ask("hint", () => hint.call(inner, id));
    if (damaged !== undefined) this.damaged = () => this.#through("damaged", () => damaged.call(inner));
    if (size !== undefined) this.size = (id) => this.#ask("size", () => size.call(inner, id));
    if (compact !== undefined) this.compact = (id) => this.#ask("compact", () => compact.call(inner, id));
    if (repair !== undefined) this.repair = () => this.#ask("repair", () => repair.call(inner));
  }

  /** The capabilities of the inner storage. */
  get capabilities(): StorageAdapter["capabilities"] {
    return this.#inner.capabilities;
  }

  /**
   * Adds a fault. Its call is counted from now on.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when method or fault is unknown, or `call` is not a whole number of at least 1.
   */
  inject(fault: StorageFault): void {
    checkOptions("inject", fault, FAULT);
    const { method, call = 1 } = fault;
    if (!Number.isSafeInteger(call) || call < 1) {
      throw new PhasegateError("INVALID_INPUT", `a fault cannot be at call ${call}`, {
        remedy: "Calls are counted from 1, the next one.",
        details: { field: "call", expected: "a whole number of at least 1" },
      });
    }
    this.#faults.set(`${method} ${this.calls(method) + call}`, fault);
  }

  /** Returns the number of calls of a method so far. */
  calls(method: StorageMethod): number {
    return this.#calls.get(method) ?? 0;
  }

  /** Calls the inner storage's `read`, or fails as injected. */
  read(id: SessionId): Promise<Commit | undefined> {
    return this.#ask("read", () => this.#inner.read(id));
  }

  /** Calls the inner storage's `append`, or fails as injected. */
  append(commit: Commit, options?: AppendOptions): Promise<void> {
    return this.#ask("append", () => this.#inner.append(commit, options));
  }

  /** Calls the inner storage's `log`, or fails as injected. */
  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit> {
    return this.#through("log", () => this.#inner.log(id, options));
  }

  /** Calls the inner storage's `payload`, or fails as injected. */
  payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#ask("payload", () => this.#inner.payload(id, hash));
  }

  /** Calls the inner storage's `list`, or fails as injected. */
  list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#ask("list", () => this.#inner.list(query));
  }

  /** Calls the inner storage's `countActive`, or fails as injected. */
  countActive(upTo: number): Promise<number> {
    return this.#ask("countActive", () => this.#inner.countActive(upTo));
  }

  /** Calls the inner storage's `remove`, or fails as injected. */
  remove(id: SessionId): Promise<void> {
    return this.#ask("remove", () => this.#inner.remove(id));
  }

  /** Calls the inner storage's `close`, or fails as injected. */
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

  /** Starts the iteration at once, as a watch must. */
  #through<T>(method: StorageMethod, call: () => AsyncIterable<T>): AsyncIterable<T> {
    const fault = this.#next(method);
    if (fault === undefined) return call();
    return altered(fault, fault.fault === "fail" ? [] : call());
  }

  /** Counts a call, and returns its fault. */
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
  const what = outcome === undefined ? "failed on request" : "lost its answer";
  return new PhasegateError("STORAGE_FAILED", `${method} ${what}`, {
    remedy: "Try again; with an idempotency key, a call is not carried out twice.",
    details: { operation: method, outcome },
  });
}
