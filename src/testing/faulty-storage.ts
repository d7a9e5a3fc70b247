/** A storage that fails on request, in front of another one. */
import { setTimeout as delay } from "node:timers/promises";
import { PhasegateError } from "../errors.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import {
  anything,
  check,
  checkOptions,
  isOpen,
  type OptionChecks,
  oneOf,
  optionally,
} from "../workflow/host-options.js";

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

const STORAGE_METHODS = [
  ...(["read", "append", "begin", "makeDurable", "log", "payload", "list", "countActive", "remove", "watch"] as const),
  ...(["changes", "hint", "damaged", "size", "compact", "repair", "close"] as const),
] satisfies readonly StorageMethod[];
const ITERATING: ReadonlySet<StorageMethod> = new Set(["log", "watch", "damaged"]);
const FAULT: OptionChecks<StorageFault> = {
  method: oneOf(...STORAGE_METHODS),
  call: anything,
  fault: oneOf("fail", "delay", "duplicate", "drop-answer"),
  milliseconds: optionally(check("a number", (value) => typeof value === "number")),
  error: optionally(check("an Error", (value) => isOpen(value) && "message" in value)),
};

/**
 * A storage that fails on request, in front of another one: for tests of how a host handles failures. Optional methods are missing
 * where the inner storage has none.
 */
export class FaultyStorage implements StorageAdapter {
  /** Calls the inner storage's `read` or fails as injected. */
  declare readonly read: StorageAdapter["read"];
  /** Calls the inner storage's `append` or fails as injected. */
  declare readonly append: StorageAdapter["append"];
  /** Calls the inner storage's `begin`, if it has one, or fails as injected. */
  declare readonly begin?: StorageAdapter["begin"];
  /** Calls the inner storage's `makeDurable`, if it has one, or fails as injected. */
  declare readonly makeDurable?: StorageAdapter["makeDurable"];
  /** Calls the inner storage's `log` or fails as injected. */
  declare readonly log: StorageAdapter["log"];
  /** Calls the inner storage's `payload` or fails as injected. */
  declare readonly payload: StorageAdapter["payload"];
  /** Calls the inner storage's `list` or fails as injected. */
  declare readonly list: StorageAdapter["list"];
  /** Calls the inner storage's `countActive` or fails as injected. */
  declare readonly countActive: StorageAdapter["countActive"];
  /** Calls the inner storage's `remove` or fails as injected. */
  declare readonly remove: StorageAdapter["remove"];
  /** Calls the inner storage's `watch`, if it has one, or fails as injected. */
  declare readonly watch?: StorageAdapter["watch"];
  /** Calls the inner storage's `changes`, if it has one, or fails as injected. */
  declare readonly changes?: StorageAdapter["changes"];
  /** Calls the inner storage's `hint`, if it has one, or fails as injected. */
  declare readonly hint?: StorageAdapter["hint"];
  /** Calls the inner storage's `damaged`, if it has one, or fails as injected. */
  declare readonly damaged?: StorageAdapter["damaged"];
  /** Calls the inner storage's `size`, if it has one, or fails as injected. */
  declare readonly size?: StorageAdapter["size"];
  /** Calls the inner storage's `compact`, if it has one, or fails as injected. */
  declare readonly compact?: StorageAdapter["compact"];
  /** Calls the inner storage's `repair`, if it has one, or fails as injected. */
  declare readonly repair?: StorageAdapter["repair"];
  /** Calls the inner storage's `close` or fails as injected. */
  declare readonly close: () => Promise<void>;
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
    for (const method of STORAGE_METHODS) {
      const call = method === "close" ? async () => inner.close?.() : inner[method];
      if (call !== undefined) Reflect.set(this, method, this.#faulty(method, call));
    }
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

  #faulty(method: StorageMethod, call: (...args: never[]) => unknown) {
    return (...args: readonly unknown[]) => {
      const made = () => Reflect.apply(call, this.#inner, args);
      return ITERATING.has(method) ? this.#through(method, made) : this.#ask(method, made);
    };
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
