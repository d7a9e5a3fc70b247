/**
 * The order in which things happen in the simulated world. Whatever takes time there is a step: a request that arrives, an
 * answer, a timer, a person who acts. Steps wait here until one is chosen. Between two steps the code under test runs until
 * it waits for another step, so the choices alone decide the order of everything.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Causes } from "./causes.js";
import type { Choices, Named } from "./choices.js";

/** Something that will happen. */
interface Step extends Named {
  /** Who waits for it: a host in one of its lives, a writer, or the network. */
  readonly of: string;
  readonly run: () => void;
  /** For a timer: the earliest time, in milliseconds. */
  readonly due?: number;
  /** Of two steps, the one with the lower rank comes first. */
  readonly rank: number;
  /** Identifies what it follows from, if that is noted. */
  readonly cause: string | undefined;
}

/** When the simulated time begins. */
const BEGIN = Date.UTC(2026, 0, 1);
/** Timers up to this far ahead, in milliseconds, compete with messages: a message may take that long. */
const NEAR_MS = 100;

/** By how many others a step may be overtaken. Most are in time. */
const DELAYS = [0, 0, 0, 1, 2, 3, 5, 8, 13, 21, 34];

/** Steps in an order that choices decide. */
export class Schedule {
  readonly choices: Choices;
  /** What has happened. */
  readonly trace: string[] = [];
  /** The time: milliseconds since 1970. */
  now = BEGIN;
  /** Returns true while something real is going on that takes time, and that the next step has to wait for. */
  isBusy = () => false;
  /** Notes what follows from what; missing where nobody asks. */
  causes: Causes | undefined;
  #pending: Step[] = [];
  #count = 0;

  constructor(choices: Choices) {
    this.choices = choices;
  }

  /** Adds a step. */
  add(of: string, what: string, run: () => void): void {
    this.#pending.push({ of, what, run, rank: this.#rank(of), cause: this.causes?.newStep() });
  }

  /** Adds a timer. Returns a function that cancels it. */
  after(of: string, milliseconds: number, run: () => void): () => void {
    const step = {
      of,
      what: `timer of ${Math.round(milliseconds)} ms`,
      run,
      due: Math.ceil(this.now + milliseconds),
      rank: this.#rank(of),
      cause: this.causes?.newStep(),
    };
    this.#pending.push(step);
    return () => {
      this.#pending = this.#pending.filter((other) => other !== step);
    };
  }

  /** Waits for a step. */
  wait(of: string, what: string): Promise<void> {
    return new Promise((resolve) => this.add(of, what, resolve));
  }

  /** Removes all steps that somebody waits for. */
  drop(of: string): void {
    this.#pending = this.#pending.filter((step) => step.of !== of);
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    this.trace.push(`${this.now - BEGIN} ${line}`);
  }

  /** Lets one step happen, and all that follows from it at once. Returns false if there is none but far timers. */
  async next({ timers = true }: { readonly timers?: boolean } = {}): Promise<boolean> {
    // What was called a moment ago may have something to wait for now.
    if (this.#pending.length === 0) await nextTurn();
    const step = this.#choose(timers);
    if (step === undefined) return false;
    this.#pending = this.#pending.filter((other) => other !== step);
    // While the order is explored, time stands still: the same events in another order then lead to the same state.
    this.now = Math.max(this.now + (this.choices.pickStep === undefined ? 1 : 0), step.due ?? 0);
    this.note(`${step.of}: ${step.what}`);
    this.causes?.begin(`${step.of}: ${step.what} at ${this.now} after ${step.cause}`);
    this.causes?.concerns(step.of);
    step.run();
    await this.settle();
    return true;
  }

  /** Waits for all that follows at once from what has just happened. */
  async settle(): Promise<void> {
    await nextTurn();
    while (this.isBusy()) await nextTurn();
    this.causes?.end();
  }

  /** Names what is waiting. */
  get waiting(): string {
    return this.#pending.map(({ of, what }) => `${of}: ${what}`).join("\n");
  }

  /** Identifies what is waiting, in whatever order it was added, and the time. */
  get ahead(): readonly string[] {
    const steps = this.#pending.map(({ of, what, due, cause }) => `${of}: ${what} at ${due} after ${cause}`);
    return [...steps.sort(), String(this.now)];
  }

  /** Returns a hash of all that has happened. */
  get hash(): string {
    return createHash("sha256").update(this.trace.join("\n")).digest("hex").slice(0, 16);
  }

  #choose(timers: boolean): Step | undefined {
    const messages = this.#pending.filter(({ due }) => due === undefined);
    const soonest = this.#pending.filter(({ due }) => due !== undefined).sort((a, b) => (a.due ?? 0) - (b.due ?? 0));
    const near = soonest.filter(({ due = 0 }) => due <= this.now + NEAR_MS);
    const isLate = timers && soonest.length > near.length && this.choices.chance("time", 1);
    const found = isLate ? soonest.slice(0, near.length + 1) : [...messages, ...near];
    if (found.length === 0 && timers) return soonest[0];
    if (this.choices.pickStep !== undefined) return found[this.choices.pickStep(found)];
    return found.reduce<Step | undefined>(
      (first, step) => (step.rank < (first?.rank ?? Infinity) ? step : first),
      undefined,
    );
  }

  /** Returns the place of a new step: behind all others, or further behind. */
  #rank(of: string): number {
    this.#count += 1;
    if (this.choices.pickStep !== undefined) return this.#count;
    return this.#count + (DELAYS[this.choices.pick(of, DELAYS.length)] ?? 0) + this.#count / 1e9;
  }
}
