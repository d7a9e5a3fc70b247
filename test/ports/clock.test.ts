import { describe, expect, it } from "vitest";
import { type Clock, fullClock, pause, systemClock, turns } from "../../src/ports/clock.js";

describe("a host's clock", () => {
  it("keeps its own functions, with what they refer to", () => {
    class Ticking implements Clock {
      #ticks = 0;
      now() {
        return ++this.#ticks;
      }
      elapsed() {
        return this.now() * 10;
      }
      random() {
        return this.now() / 100;
      }
      newId() {
        return `id-${this.now()}`;
      }
      after(milliseconds: number, callback: () => void) {
        callback();
        return () => {
          this.#ticks += milliseconds;
        };
      }
    }
    const { now, elapsed, random, newId, after } = fullClock(new Ticking());
    expect([now(), elapsed(), random(), newId()]).toEqual([1, 20, 0.03, "id-4"]);
    after(100, () => {})();
    expect(now()).toBe(105);
  });

  it("has the runtime's for what it omits", async () => {
    const clock = fullClock({ now: () => 7 });
    expect(clock.now()).toBe(7);
    const begun = clock.elapsed();
    await pause(clock, 5);
    // Timers count whole milliseconds.
    expect(clock.elapsed() - begun).toBeGreaterThan(3);
    expect(clock.random()).toBeLessThan(1);
    expect(clock.newId()).not.toBe(clock.newId());
  });

  it("forgets a timer that is cancelled", async () => {
    let calls = 0;
    systemClock.after(1, () => (calls += 1))();
    await pause(systemClock, 10);
    expect(calls).toBe(0);
  });
});

describe("taking turns", () => {
  it("waits only if the time is over since the last wait", async () => {
    let now = 0;
    const waits: number[] = [];
    const after = (_: number, callback: () => void) => {
      waits.push(now);
      callback();
      return () => {};
    };
    const takeTurns = turns({ elapsed: () => now, after }, 20);
    for (now of [5, 19, 20, 30, 39, 41]) await takeTurns();
    expect(waits).toEqual([20, 41]);
  });
});
