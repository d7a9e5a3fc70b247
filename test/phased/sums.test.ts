import { describe, expect, it } from "vitest";
import type { SessionTally } from "../../src/phased/state/tally.js";
import { sumUp } from "../../src/phased/sums.js";
import { parseSessionId } from "../../src/workflow/names.js";

function tallyOf(id: string, more: Partial<SessionTally>): SessionTally {
  return {
    ...{ sessionId: parseSessionId(id), version: 1, hash: "", workflowType: "one", status: "active", phase: 1 },
    ...{ pinnedAt: "", names: [], phases: [] },
    ...more,
  };
}

describe("sums of tallies", () => {
  it("name phases as the newest structure with names does", () => {
    const one = (id: string, second: number, ...names: string[]) =>
      tallyOf(id, { pinnedAt: `2026-01-01T00:00:0${second}.000Z`, names: names.map((name) => [1, name]) });
    const nameIn = (tallies: readonly SessionTally[]) => sumUp(tallies).workflows[0]?.phases[0]?.name;
    const all = [one("a", 1, "Old"), one("b", 3, "New"), one("c", 2, "Middle"), one("d", 4)];
    expect(nameIn(all)).toBe("New");
    expect(nameIn(all.filter(({ sessionId }) => sessionId !== "b"))).toBe("Middle");
    expect(nameIn([one("d", 4)])).toBeUndefined();
    // Of those with the same time it is always the same one.
    const same = [one("a", 1, "First"), one("b", 1, "Second")];
    expect([nameIn(same), nameIn(same.toReversed())]).toEqual(["Second", "Second"]);
  });

  it("count a phase by its name, whatever number it has in an older revision", () => {
    const [one, other] = [
      ["Plan", "Build", "Check"],
      ["Zero", "Plan", "Build"],
    ].map((names, index) =>
      tallyOf(`s_${index}`, {
        ...{ status: "completed", pinnedAt: `2026-01-01T00:00:0${index}.000Z` },
        names: names.map((name, at) => [at + 1, name]),
        phases: names.map((_, at) => ({ phase: at + 1, spent: 0, state: "completed", passed: 1 })),
      }),
    );
    const phases = sumUp([one, other].flatMap((tally) => tally ?? [])).workflows[0]?.phases;
    expect(phases?.map(({ phase, name, gone, completed }) => [phase, name, gone, completed])).toEqual([
      [1, "Zero", undefined, 1],
      [2, "Plan", undefined, 2],
      [3, "Build", undefined, 2],
      [3, "Check", true, 1],
    ]);
  });

  it("have the median and the 90th percentile of thousands of times", () => {
    // Numbers in an order that looks random, with some twice.
    const spent = Array.from({ length: 6000 }, (_, index) => (index * 7919) % 4001);
    const tallies = spent.map((milliseconds, index) =>
      tallyOf(`s_${index}`, { status: "completed", phases: [{ phase: 1, spent: milliseconds, state: "completed" }] }),
    );
    const sorted = spent.toSorted((one, other) => one - other);
    expect(sumUp(tallies).workflows[0]?.phases[0]).toMatchObject({
      completed: 6000,
      time: { medianSeconds: (sorted[2999] ?? 0) / 1000, p90Seconds: (sorted[5399] ?? 0) / 1000 },
    });
  });

  it("are of one workflow, if it is named", () => {
    const tallies = [tallyOf("a", {}), tallyOf("b", { workflowType: "two", status: "failed", unapproved: true })];
    expect(sumUp(tallies)).toMatchObject({ sessions: { active: 1, failed: 1 }, unapproved: 1 });
    expect(sumUp(tallies).workflows.map(({ workflowType }) => workflowType)).toEqual(["one", "two"]);
    expect(sumUp(tallies, "one")).toMatchObject({ sessions: { active: 1, failed: 0 }, unapproved: 0 });
    expect(sumUp(tallies, "none").workflows).toEqual([]);
  });
});
