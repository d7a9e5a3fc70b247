import { expect, it } from "vitest";
import { fullClock } from "../../../src/ports/clock.js";
import { DeciderWait } from "../../../src/routed/asking.js";

/** A deadline whose timers go off when the test says so. */
function deadline() {
  const timers: (() => void)[] = [];
  const after = (_: number, callback: () => void) => {
    const place = timers.push(callback) - 1;
    return () => void delete timers[place];
  };
  return { timers, clock: fullClock({ now: Date.now, after }), milliseconds: 10, missed: () => new Error("missed") };
}

it("an answer that is there at once needs no timer; what takes longer gets one, for all questions together", async () => {
  const until = deadline();
  const wait = new DeciderWait();
  expect(await wait.answer(async () => "first", until)).toBe("first");
  expect(await wait.answer(() => "no promise", until)).toBe("no promise");
  await expect(wait.answer(() => Promise.reject(new Error("refused")), until)).rejects.toThrow("refused");
  expect(until.timers).toHaveLength(0);
  for (let question = 0; question < 2; question++) await wait.answer(() => soon(), until);
  expect(until.timers).toHaveLength(1);
  wait.close();
  expect(until.timers[0]).toBeUndefined();
  wait.leave(new Error("left"));
  expect([wait.isLeft, wait.signal.aborted]).toEqual([true, false]);
});

it("a decider that misses the deadline is stopped, and nobody has left", async () => {
  const until = deadline();
  const wait = new DeciderWait();
  const answer = wait.answer(() => new Promise(() => {}), until);
  await soon();
  until.timers[0]?.();
  await expect(answer).rejects.toThrow("missed");
  expect(wait.signal.aborted).toBe(true);
  expect(wait.isLeft).toBe(false);
});

it("who leaves stops the decider; nothing more is asked", async () => {
  const until = deadline();
  const wait = new DeciderWait();
  const seen: string[] = [];
  const answer = wait.answer(() => {
    wait.signal.addEventListener("abort", () => seen.push("stopped"));
    return new Promise((_, reject) => wait.signal.addEventListener("abort", () => reject(new Error("its own"))));
  }, until);
  wait.leave(new Error("left"));
  await expect(answer).rejects.toThrow("left");
  expect(seen).toEqual(["stopped"]);
  expect(() => wait.answer(() => seen.push("asked"), until)).toThrow("left");
  expect(seen).toEqual(["stopped"]);
});

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
