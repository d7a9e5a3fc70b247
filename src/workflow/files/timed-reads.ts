import { type Diagnostic, unreadable } from "../diagnostic.js";

/** How long a list waits for one definition, in milliseconds: the others must not wait for it. */
const READ_MS = 10_000;
/**
 * The wait is counted in ticks. While one definition keeps the thread busy there are none, so that time is not counted
 * against the others, which could not be read meanwhile.
 */
const TICK_MS = 100;
/** How many definitions are read side by side: each may have a file open. */
const AT_ONCE = 16;

/**
 * Reads definitions for a list, each on its own: one that throws, or is not read in time, is broken alone. One that came too
 * late is read on; until that has come to an end, nobody waits for it again.
 */
export class TimedReads<T> {
  readonly #late = new Map<string, Promise<unknown>>();
  readonly #broken: (name: string, diagnostic: Diagnostic) => T;

  /** `broken` makes what stands in the list for a definition that can't be read. */
  constructor(broken: (name: string, diagnostic: Diagnostic) => T) {
    this.#broken = broken;
  }

  /** Reads all of some names, some at once; what is undefined is left out. */
  async all(names: readonly string[], read: (name: string) => Promise<T | undefined>): Promise<T[]> {
    const found: (T | undefined)[] = [];
    const left = names.entries();
    const worker = async () => {
      for (const [index, name] of left) found[index] = await this.one(name, read);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return found.filter((one) => one !== undefined);
  }

  /** Reads one. Never throws, and takes no longer than a list waits. */
  async one(name: string, read: (name: string) => Promise<T | undefined>): Promise<T | undefined> {
    if (this.#late.has(name)) return this.#broken(name, late());
    // Also what throws before it gives a promise.
    const reading = (async () => read(name))().catch((error: unknown) => this.#broken(name, unreadable(error)));
    let timer: ReturnType<typeof setInterval> | undefined;
    let ticks = 0;
    const deadline = new Promise<T>((resolve) => {
      timer = setInterval(() => {
        ticks += 1;
        if (ticks !== READ_MS / TICK_MS) return;
        const ended = reading.finally(() => this.#late.delete(name));
        this.#late.set(name, ended);
        resolve(this.#broken(name, late()));
      }, TICK_MS);
    });
    try {
      return await Promise.race([reading, deadline]);
    } finally {
      clearInterval(timer);
    }
  }
}

function late(): Diagnostic {
  const hint =
    "It is read on, and listed once it has been read. If it never is, make it smaller, or mend what gives it.";
  return { ...unreadable(undefined), message: `the definition is not read within ${READ_MS / 1000} seconds`, hint };
}
