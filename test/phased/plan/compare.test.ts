import { describe, expect, it } from "vitest";
import { comparePlan } from "../../../src/phased/plan/compare.js";
import { matchTasks } from "../../../src/phased/plan/match.js";
import { buildPhases } from "../../../src/phased/plan/pin.js";
import type { PlanPhase, PlanTask } from "../../../src/plan/plan.js";

const position = { line: 1, column: 1, offset: 0 };

/** Returns a plan of one phase with so many tasks, or with one task of so many criteria. */
function planOf({ tasks = 1, criteria = 0, word }: { tasks?: number; criteria?: number; word: string }): PlanPhase[] {
  const list = Array.from({ length: criteria }, (_, index) => {
    return { text: `${word} ${index}`, checked: false, position };
  });
  const all = Array.from({ length: tasks }, (_, index): PlanTask => {
    const facts = { dependencies: [], state: "pending", optional: false, parallel: false } as const;
    return { id: `${index}`, name: "Write", acceptanceCriteria: list, requirements: [], files: [], position, ...facts };
  });
  return [{ number: 1, name: "Build", tasks: all, validationGate: [], position }];
}

const pinned = (phases: readonly PlanPhase[]) => buildPhases(phases, 0, { phase: "", task: "" });

/** Returns the milliseconds that the process spends, whatever else the machine does meanwhile. */
function spent(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe("a large plan", () => {
  const LARGE = 60_000;

  it("is matched in time, if all its tasks have one name", () => {
    const [before, now] = [pinned(planOf({ tasks: LARGE, word: "a" })), planOf({ tasks: LARGE, word: "a" })];
    let found = 0;
    const time = spent(() => {
      found = matchTasks(before, now).size;
    });
    expect(time).toBeLessThan(5000);
    expect(found).toBe(LARGE);
  });

  it("is compared in time, if all criteria of a task have changed", () => {
    const plan = { dialect: "any", phases: planOf({ criteria: LARGE, word: "b" }) };
    const structure = {
      ...{ type: "w", revision: "1", name: "W", description: "", version: "1", startPhase: 1 },
      phases: pinned(planOf({ criteria: LARGE, word: "a" })),
    };
    let changes: unknown;
    const time = spent(() => {
      ({ changes } = comparePlan(structure, 0, plan));
    });
    expect(time).toBeLessThan(5000);
    const counts = { from: `${LARGE}, ${LARGE} of them gone`, to: `${LARGE}, ${LARGE} of them new` };
    expect(changes).toEqual([{ kind: "criteria", phase: 1, id: "0", name: "Write", ...counts }]);
  });
});
