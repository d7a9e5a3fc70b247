import { describe, expect, it } from "vitest";
import { conceal, revealOf, verifierNames } from "../../src/gate/check-gate.js";
import { type Problem, problemSchema } from "../../src/gate/verdict.js";
import type { WorkflowStructure } from "../../src/workflow/structure.js";
import { field, fieldGate } from "./fields.js";

const PROBLEMS: Problem[] = [
  { field: "count", problem: "missing", message: "Required evidence 'count' not provided: secret", expected: "secret" },
  { field: "notes", problem: "wrong_type", message: "secret", got: "5", example: "secret" },
  { field: "notes", problem: "invalid", message: "secret", expected: "size(value) > 7" },
  { field: "", problem: "invalid", message: "secret" },
];

describe("conceal", () => {
  it("keeps problems unchanged if the gate hides nothing", () => {
    expect(conceal(PROBLEMS, "fields")).toBe(PROBLEMS);
    expect(conceal([], "none")).toEqual([]);
  });

  it('keeps only names with "names", each once, and what is missing', () => {
    const found = conceal(PROBLEMS, "names");
    expect(found).toEqual([
      { field: "count", problem: "missing", message: "Required evidence 'count' not provided" },
      { field: "notes", problem: "invalid", message: "'notes' doesn't meet the gate" },
      { field: "", problem: "invalid", message: "The evidence as a whole doesn't meet the gate" },
    ]);
    expect(JSON.stringify(found)).not.toContain("secret");
  });

  it("never hides the note of a denial", () => {
    const denial = { field: "", problem: "denied", message: "ann denied the approval: too slow" } as const;
    for (const reveal of ["names", "none"] as const) {
      expect(conceal([denial], reveal)).toEqual([denial]);
      expect(conceal([...PROBLEMS, denial], reveal).at(-1)).toEqual(denial);
      expect(JSON.stringify(conceal([...PROBLEMS, denial], reveal))).not.toContain("secret");
    }
  });

  it('keeps only the number of problems with "none"', () => {
    const found = conceal(PROBLEMS, "none");
    expect(found).toMatchObject([{ field: "", message: expect.stringContaining("4 things are missing or wrong") }]);
    expect(JSON.stringify(found)).not.toMatch(/secret|count|notes/);
    expect(conceal(PROBLEMS.slice(0, 1), "none")).toMatchObject([{ message: expect.stringContaining("1 thing is") }]);
    for (const problem of found) expect(problemSchema.parse(problem)).toEqual(problem);
  });
});

describe("revealOf", () => {
  it('is "fields" by default', () => {
    expect(revealOf({ kind: "open", allowOverride: false })).toBe("fields");
    expect(revealOf(fieldGate([field()]))).toBe("fields");
    expect(revealOf(fieldGate([field()], { reveal: undefined }))).toBe("fields");
    expect(revealOf(fieldGate([field()], { reveal: "none" }))).toBe("none");
  });

  it("verifierNames returns the verifiers of all phases once", () => {
    const phase = (number: number, gate: WorkflowStructure["phases"][number]["gate"]) => {
      return { number, name: "", skippable: false, tasks: [], gate };
    };
    const structure: WorkflowStructure = {
      type: "t",
      version: "1",
      revision: "1",
      name: "n",
      description: "d",
      startPhase: 1,
      phases: [
        phase(
          1,
          fieldGate([field()], {
            verify: [
              { verifier: "command", params: {} },
              { verifier: "a", params: {} },
            ],
          }),
        ),
        phase(2, { kind: "schema", allowOverride: false, verify: [{ verifier: "command", params: {} }] }),
        phase(3, { kind: "open", allowOverride: false }),
        phase(4, fieldGate([])),
        phase(5, fieldGate([], { verify: undefined })),
      ],
    };
    expect(verifierNames(structure)).toEqual(["command", "a"]);
  });
});

it("names alone do not tell what is wrong with a field, only whether it is missing", () => {
  const problem = { field: "a", problem: "wrong_type", message: "'a' must be a string", got: "1" } as const;
  expect(conceal([problem, { ...problem, field: "b", problem: "missing" }], "names")).toEqual([
    { field: "a", problem: "invalid", message: "'a' doesn't meet the gate" },
    { field: "b", problem: "missing", message: "Required evidence 'b' not provided" },
  ]);
});
