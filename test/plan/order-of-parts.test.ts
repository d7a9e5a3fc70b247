import { describe, expect, it } from "vitest";
import { partsFirst, planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";

/** Returns a plan of one phase with a task for each line: `2.1` or `2.1 < 2`. */
function planOf(...lines: string[]) {
  const items = lines.map((line) => line.replace(/^(\S+)(?: < (.*))?$/, "- [ ] $1 Name (depends on $2)"));
  return parsePlan(`## Phase 1: A\n${items.join("\n").replaceAll(" (depends on )", "")}\n`).plan;
}

describe("tasks with their parts first", () => {
  it.each([
    ["1.1 1.2 1.3", "1.1 1.2 1.3"],
    ["1.1 1.1.1 1.1.2 1.2", "1.1.1 1.1.2 1.1 1.2"],
    ["1.1 1.2 1.1.1 1.3", "1.2 1.1.1 1.1 1.3"],
    ["1.1 1.1.1 1.1.1.1 1.1.2 1.2", "1.1.1.1 1.1.1 1.1.2 1.1 1.2"],
    ["1.1 1.1.1 1.1.1.1", "1.1.1.1 1.1.1 1.1"],
    ["1.2.1 1.1", "1.2.1 1.1"],
  ])("of %s are %s", (ids, expected) => {
    const [phase] = planOf(...ids.split(" ")).phases;
    expect(partsFirst(phase?.tasks ?? []).map(({ id }) => id)).toEqual(expected.split(" "));
  });

  it("of a task that its part waits for stay behind it", () => {
    const [phase] = planOf("1.1", "1.2", "1.1.1 < 1.1").phases;
    expect(partsFirst(phase?.tasks ?? []).map(({ id }) => id)).toEqual(["1.1", "1.2", "1.1.1"]);
  });
});

it("a part that waits for its own task takes no other part out of the order", () => {
  const plan = planOf("1.1", "1.1.1 < 1.1", "1.2", "1.2.1");
  expect(planOrder(plan)).toEqual({
    order: ["1.1", "1.2.1", "1.1.1", "1.2"],
    waves: [
      ["1.1", "1.2.1"],
      ["1.1.1", "1.2"],
    ],
    cycles: [],
  });
});
