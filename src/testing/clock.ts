import type { Clock } from "../ports/clock.js";
/** A clock that stands still until it is told to go on: sessions in tests begin and age when you say so. */
export class FakeClock implements Clock {
  #now: number;

  /** `start` is an ISO 8601 time; the first of January 2026 if not given. */
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#now = Date.parse(start);
  }

  now(): number {
    return this.#now;
  }

  /** Goes on by so many milliseconds. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
