/**
 * What follows from what in an explored world. Each event (a step, or something that goes wrong) is identified by all that it
 * depends on: the event that it follows from, what those whom it concerns knew before, and what it sees of the rest of the
 * world. So events that do not depend on each other lead to the same state in any order. The idea is that of Mazurkiewicz
 * traces (A. Mazurkiewicz, "Concurrent program schemes and their interpretations", 1977).
 */
import { createHash } from "node:crypto";

/** What everybody knows, as hashes of all events that have led there. */
export class Causes {
  readonly #known = new Map<string, string>();
  readonly #concerned = new Set<string>();
  #event = "";
  #added = 0;
  /** What was chosen for the event so far, or for what comes next. */
  readonly choices: string[] = [];

  /** Identifies the event that is under way, as far as it has come. */
  get event(): string {
    return this.#event;
  }

  /** Identifies a step that follows from the event. */
  newStep(): string {
    this.#added += 1;
    return `${this.#event} ${this.#added}`;
  }

  /** Identifies what everybody knows. */
  get known(): readonly (readonly [of: string, event: string])[] {
    return [...this.#known].sort();
  }

  /** Begins an event. */
  begin(what: string): void {
    this.#event = digest(what);
    this.#added = 0;
    this.choices.length = 0;
  }

  /** Ends the event: those whom it concerns know of it. */
  end(): void {
    for (const of of this.#concerned) this.#known.set(of, this.#event);
    this.#concerned.clear();
    this.#event = "";
    this.choices.length = 0;
  }

  /** The event depends on what a host or a writer knows, who will know it. */
  concerns(of: string): void {
    if (this.#concerned.has(of)) return;
    this.#concerned.add(of);
    this.sees(this.#known.get(of) ?? of);
  }

  /** The event depends on a value. */
  sees(value: string): void {
    this.#event = digest(`${this.#event}\n${value}`);
  }
}

/** Returns a short hash. */
export function digest(text: string): string {
  return createHash("sha1").update(text).digest("base64");
}
