import type { Retention } from "phasegate";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Creates one session of each status, all of the same age. */
async function one(retention?: Retention) {
  const { engine, clock } = makeEngine(retention === undefined ? {} : { retention });
  const named = {
    active: await startTwoPhases(engine, "active"),
    paused: await startTwoPhases(engine, "paused"),
    completed: await startTwoPhases(engine, "completed"),
    failed: await startTwoPhases(engine, "failed"),
  };
  await engine.session(named.paused).pause();
  await engine.session(named.completed).skipPhase(1, { by: "me", note: "known" });
  await engine.session(named.completed).completePhase(2, {});
  for (const _ of "123") await engine.session(named.failed).completePhase(1, {});
  const left = async () => (await engine.listSessions()).items.map(({ target }) => target).sort();
  return { engine, clock, left };
}

describe("retention", () => {
  it("is applied by cleanup, per status, and only to the statuses that it names", async () => {
    const { engine, clock, left } = await one({ completed: HOUR, failed: 2 * HOUR });
    clock.advance(HOUR + 1);
    expect(await left()).toEqual(["active", "completed", "failed", "paused"]);
    expect((await engine.cleanup()).removed).toHaveLength(1);
    expect(await left()).toEqual(["active", "failed", "paused"]);
    clock.advance(30 * DAY);
    await engine.cleanup();
    expect(await left()).toEqual(["active", "paused"]);
  });

  it("is overridden by the arguments of cleanup", async () => {
    const { engine, clock, left } = await one({ completed: HOUR, failed: 0 });
    clock.advance(HOUR / 2);
    await engine.cleanup({ status: ["completed"] });
    expect(await left()).toEqual(["active", "completed", "failed", "paused"]);
    await engine.cleanup({ olderThan: 60_000, status: ["paused", "paused"] });
    expect(await left()).toEqual(["active", "completed", "failed"]);
    clock.advance(8 * DAY);
    // A status that the retention does not name has the default age of a cleanup.
    await engine.cleanup({ status: ["active", "completed"] });
    expect(await left()).toEqual(["failed"]);
    await engine.cleanup({ olderThan: 0 });
    expect(await left()).toEqual([]);
  });

  it("is refused with an unknown status", async () => {
    const { engine, left } = await one({});
    const status = ["complete"] as unknown as ["completed"];
    await expect(engine.cleanup({ olderThan: 0, status })).rejects.toMatchObject({
      ...{
        code: "INVALID_INPUT",
        message: 'status: "complete" is no status of a session',
        details: { field: "status" },
      },
    });
    expect(await left()).toHaveLength(4);
  });

  it("without any status keeps all sessions", async () => {
    const { engine, clock, left } = await one({});
    clock.advance(1000 * DAY);
    expect(await engine.cleanup()).toEqual({ removed: [] });
    expect(await left()).toHaveLength(4);
  });

  it("accepts very large ages", async () => {
    const { engine, left } = await one({ completed: 1e300 });
    expect(await engine.cleanup()).toEqual({ removed: [] });
    expect(await left()).toHaveLength(4);
  });

  it("is refused if it is invalid", async () => {
    for (const retention of [{ failed: -1 }, { completed: Number.NaN }, { active: Number.POSITIVE_INFINITY }]) {
      const made = makeEngine({ retention }).engine.cleanup();
      expect(await failure(made)).toMatchObject({ code: "INVALID_INPUT", message: expect.stringMatching(/retention/) });
    }
    const misspelt: Retention = JSON.parse('{"complete": 1}');
    const made = makeEngine({ retention: misspelt }).engine.cleanup();
    expect(await failure(made)).toMatchObject({ code: "INVALID_INPUT", remedy: expect.stringMatching(/completed/) });
  });
});
