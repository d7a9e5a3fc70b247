import { expect, it } from "vitest";
import { measuredOutcome } from "../../src/gate/format.js";
import { field, fieldGate } from "./fields.js";

it("names the fields of the gate, and calls what an agent has made up _OTHER", () => {
  const gate = fieldGate([field({ name: "a", required: true }), field({ name: "b" })]);
  const problem = (name: string) => ({ field: name, problem: "missing", message: "", expected: "" }) as const;
  const problems = ["", "a", "a.0.b", "ab", "made_up"].map(problem);
  expect(
    measuredOutcome(gate, { passed: false, problems, warnings: [] }).problems.map(({ field: name }) => name),
  ).toEqual(["", "a", "a.0.b", "_OTHER", "_OTHER"]);
  expect(measuredOutcome(gate, { passed: true, warnings: [] })).toEqual({ problems: [] });
});
