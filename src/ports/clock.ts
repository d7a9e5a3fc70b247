/**
 * The clock: time, timers and random numbers, by default those of the runtime; and the guard of session targets. Hosts may
 * replace both. Engines use time and chance only through this file, so that a test can decide when everything happens.
 * Adapters, which meet the real world anyway, use the runtime's own.
 */
import { having } from "../workflow/host-options.js";

/** Tells the time. The runtime's own functions replace those that it omits. */
export interface Clock {
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
  /** Returns milliseconds, with fractions, since any one moment. Never goes back. Measures durations. */
  elapsed?(): number;
  /** Calls `callback` once, after at least that many milliseconds. Returns a function that cancels the call. */
  after?(milliseconds: number, callback: () => void): () => void;
  /** Returns a random number, 0 or more and below 1. */
  random?(): number;
  /** Returns an id that was never returned before: lower-case letters, digits and `-`. */
  newId?(): string;
}

/** The longest time of a timer, in milliseconds: a longer one would fire at once. */
export const TIMER_MAX = 2 ** 31 - 1;

export const clockCheck = having("a clock", "now");

export type FullClock = Required<Clock>;

/** The runtime's own time, timers and random numbers. */
export const systemClock: FullClock = {
  now: Date.now,
  elapsed: performance.now.bind(performance),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
  newId: () => crypto.randomUUID(),
};

/** Returns a clock with the runtime's own functions for those that it omits. */
export function fullClock(clock: Clock): FullClock {
  if (clock === systemClock) return systemClock;
  const { elapsed = systemClock.elapsed, after = systemClock.after } = clock;
  const { random = systemClock.random, newId = systemClock.newId } = clock;
  return {
    now: () => clock.now(),
    elapsed: () => elapsed.call(clock),
    after: (milliseconds, callback) => after.call(clock, milliseconds, callback),
    random: () => random.call(clock),
    newId: () => newId.call(clock),
  };
}

/** Waits; less if the signal aborts. */
export function pause(clock: Pick<FullClock, "after">, milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      resolve();
    };
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener("abort", end);
      resolve();
    });
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** Returns a function that lets other work run, if that many milliseconds have passed since it last did. */
export function turns(clock: Pick<FullClock, "elapsed" | "after">, milliseconds: number): () => Promise<void> {
  let since = clock.elapsed();
  return async () => {
    if (clock.elapsed() - since < milliseconds) return;
    await pause(clock, 0);
    since = clock.elapsed();
  };
}

/**
 * Checks the target path of a session against the file system, such as a link that leads out of the project
 * root. Rules that need no file system are checked without it.
 */
export interface TargetGuard {
  /**
   * Resolves for a path inside the root. The path is already checked, relative, and uses `/`.
   * @throws {PhasegateError} `PATH_REFUSED` when the path leads out of the root.
   */
  check(path: string): Promise<void>;
}
