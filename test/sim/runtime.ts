/**
 * The runtime's time, timers and random numbers, for code that takes them from there: adapters know no clock. While a
 * world with such an adapter runs, they are those of its schedule, so that a seed decides about them too.
 */
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import type { Schedule } from "./schedule.js";

/** What is replaced, and by what. */
type Replaced = readonly [holder: object, name: string, value: unknown];

/** Who waits for the timers of adapters. */
const OF = "adapters";

/** Replaces the runtime's time, timers and random numbers by those of a schedule. Returns a function that puts them back. */
export function simulateRuntime(schedule: Schedule): () => void {
  const after = (milliseconds: number, run: () => void) => new Timer(schedule, milliseconds, run);
  const stop = (timer: unknown) => {
    if (timer instanceof Timer) timer.stop();
  };
  const replaced: readonly Replaced[] = [
    [Date, "now", () => schedule.now],
    [performance, "now", () => schedule.now],
    [Math, "random", () => schedule.choices.pick(OF, 1000) / 1000],
    [globalThis, "setTimeout", (run: () => void, milliseconds = 0) => after(milliseconds, run)],
    [globalThis, "setInterval", (run: () => void, milliseconds: number) => after(milliseconds, run).repeated()],
    [globalThis, "clearTimeout", stop],
    [globalThis, "clearInterval", stop],
    [timersPromises, "setTimeout", delayOn(schedule)],
  ];
  const before = replaced.map(([holder, name]) => Object.getOwnPropertyDescriptor(holder, name));
  for (const [holder, name, value] of replaced) {
    Object.defineProperty(holder, name, { value, configurable: true, writable: true });
  }
  // Modules that have imported the functions by name get the new ones, too.
  syncBuiltinESMExports();
  return () => {
    for (const [index, [holder, name]] of replaced.entries()) {
      const known = before[index];
      if (known === undefined) Reflect.deleteProperty(holder, name);
      else Object.defineProperty(holder, name, known);
    }
    syncBuiltinESMExports();
  };
}

/** The functions of Web Crypto that engines wait for. */
const CRYPTO = ["importKey", "exportKey", "sign", "verify"] as const;

/**
 * Lets the steps of a schedule wait for Web Crypto, which works in threads of its own. Returns a function that ends this.
 */
export function waitForCrypto(schedule: Schedule): () => void {
  let running = 0;
  schedule.isBusy = () => running > 0;
  for (const name of CRYPTO) {
    const work: (...values: never[]) => Promise<unknown> = crypto.subtle[name].bind(crypto.subtle);
    const value = async (...values: never[]) => {
      running += 1;
      return work(...values).finally(() => {
        running -= 1;
      });
    };
    Object.defineProperty(crypto.subtle, name, { value, configurable: true });
  }
  return () => {
    for (const name of CRYPTO) Reflect.deleteProperty(crypto.subtle, name);
  };
}

/** Returns the function `setTimeout` of `node:timers/promises` on a schedule. */
function delayOn(schedule: Schedule) {
  return (milliseconds: number, value: unknown, { signal }: { readonly signal?: AbortSignal } = {}) =>
    new Promise<unknown>((resolve, reject) => {
      const timer = new Timer(schedule, milliseconds, () => resolve(value));
      const abort = () => {
        timer.stop();
        reject(new Error("aborted"));
      };
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
}

/** A timer on a schedule, with the methods of Node's own that adapters use. */
class Timer {
  readonly #set: () => () => void;
  #stop: () => void;
  #isRepeated = false;

  constructor(schedule: Schedule, milliseconds: number, run: () => void) {
    this.#set = () =>
      schedule.after(OF, milliseconds, () => {
        if (this.#isRepeated) this.#stop = this.#set();
        run();
      });
    this.#stop = this.#set();
  }

  repeated(): this {
    this.#isRepeated = true;
    return this;
  }

  stop(): void {
    this.#stop();
  }

  unref(): this {
    return this;
  }
}
