import { describe, expect, it } from "vitest";
import { attemptsLeft, compileRules, judge, ruleFaults } from "../../src/gate/judge.js";
import type { Problem } from "../../src/gate/verdict.js";
import { type ChildWorkflow, childCheck } from "../../src/workflow/child-workflow.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { unnamed } from "../support/phase-names.js";
import { field, fieldGate } from "./fields.js";

const open = { kind: "open", allowOverride: false } as const;
const schema = { kind: "schema", allowOverride: false } as const;
const found: Problem = { field: "", problem: "unverified", message: "there is no baseline" };
const surroundings = () => {
  throw new Error("nothing reads them");
};
const counting = fieldGate([field({ name: "count", type: "integer" })], {
  rules: [{ source: "evidence.count > limit", cel: "evidence.count > options.limit" }],
});

describe("a gate", () => {
  it("is strict, unless it is to be enforced as it is defined", async () => {
    const lenient = fieldGate([field()], { strict: false });
    expect(await judge(lenient, { done: false }, { surroundings })).toMatchObject({ verdict: { passed: false } });
    const defined = await judge(lenient, { done: false }, { enforcement: "as-defined", surroundings });
    expect(defined).toMatchObject({ verdict: { passed: true, warnings: [{ problem: "claimed_false" }] } });
  });

  it("with rules reads what surrounds the evidence", async () => {
    const judged = (count: number) =>
      judge(counting, { count }, { surroundings: async () => ({ options: { limit: 41 } }) });
    expect(await judged(42)).toEqual({ verdict: { passed: true, warnings: [] } });
    expect(await judged(41)).toMatchObject({ verdict: { passed: false, problems: [{ problem: "invalid" }] } });
  });

  it("with rules may be enforced as it is defined, too", async () => {
    const lenient = { ...counting, strict: false };
    const judged = await judge(
      lenient,
      { count: 1 },
      { enforcement: "as-defined", surroundings: () => ({ options: { limit: 41 } }) },
    );
    expect(judged).toMatchObject({ verdict: { passed: true, warnings: [{ problem: "invalid" }] } });
  });

  it("with a schema uses its result", async () => {
    expect(await judge(schema, {}, { schemaResult: { value: {} }, surroundings })).toEqual({
      verdict: { passed: true, warnings: [] },
    });
    const issues = [{ message: "too short", path: ["name"] }];
    expect(await judge(schema, { name: "" }, { schemaResult: { issues }, surroundings })).toMatchObject({
      verdict: { passed: false, problems: [{ field: "name", problem: "invalid" }] },
    });
  });

  it("fails with the problems that were found before, ahead of its own", async () => {
    const all = await judge(fieldGate([field()]), {}, { found: [found], surroundings });
    expect(all).toMatchObject({ verdict: { passed: false, problems: [found, { field: "done" }] } });
    expect(await judge(open, {}, { found: [found], surroundings })).toEqual({
      verdict: { passed: false, problems: [found], warnings: [] },
    });
    expect(await judge(open, {}, { found: [], surroundings })).toEqual({ verdict: { passed: true, warnings: [] } });
  });
});

describe("verifiers", () => {
  const verification = ["a result"];

  it("run only if nothing else is wrong", async () => {
    let runs = 0;
    const verify = () => {
      runs += 1;
      return Promise.resolve({ problems: [], verification });
    };
    expect(await judge(fieldGate([field()]), {}, { surroundings, verify })).toMatchObject({
      verdict: { passed: false },
    });
    expect(await judge(open, {}, { found: [found], surroundings, verify })).toMatchObject({
      verdict: { passed: false },
    });
    expect(runs).toBe(0);
    expect(await judge(open, {}, { surroundings, verify })).toEqual({
      ...{ verdict: { passed: true, warnings: [] }, verification },
    });
    expect(runs).toBe(1);
  });

  it("block with their problems, and leave the warnings", async () => {
    const lenient = fieldGate([field()], { strict: false });
    const verify = async () => ({ problems: [found], verification });
    const judged = await judge(lenient, { done: false }, { enforcement: "as-defined", surroundings, verify });
    expect(judged).toMatchObject({
      ...{ verdict: { passed: false, problems: [found], warnings: [{ problem: "claimed_false" }] }, verification },
    });
  });

  it("may be none", async () => {
    expect(await judge(open, {}, { surroundings, verify: () => undefined })).toEqual({
      verdict: { passed: true, warnings: [] },
    });
  });
});

it("attempts end with the first of both limits, and are never less than none", async () => {
  const limits = { maxAttempts: 3, maxAttemptsTotal: 12 };
  expect(attemptsLeft({ inARow: 0, inTotal: 0 }, limits)).toBe(3);
  expect(attemptsLeft({ inARow: 1, inTotal: 4 }, limits)).toBe(2);
  expect(attemptsLeft({ inARow: 1, inTotal: 11 }, limits)).toBe(1);
  expect(attemptsLeft({ inARow: 3, inTotal: 3 }, limits)).toBe(0);
  expect(attemptsLeft({ inARow: 5, inTotal: 14 }, limits)).toBe(0);
});

it("rules are compiled once for gates with the same content, as long as they are kept", async () => {
  const gate = (limit: number) =>
    fieldGate([field({ name: "count", type: "integer" })], {
      rules: [{ source: `${limit}`, cel: `evidence.count > ${limit}` }],
    });
  const first = gate(-1);
  const compiled = compileRules(first);
  expect(compileRules(gate(-1))).toBe(compiled);
  for (let limit = 0; limit < 255; limit += 1) compileRules(gate(limit));
  expect(compileRules(gate(-1))).toBe(compiled);
  compileRules(gate(299));
  expect(compileRules(gate(-1))).toBe(compiled);
  for (let limit = 300; limit < 1000; limit += 1) compileRules(gate(limit));
  expect(compileRules(gate(-1))).not.toBe(compiled);
  expect(compileRules(fieldGate([field()]))).toBeUndefined();
  expect(compileRules(open)).toBeUndefined();
});

it("a rule of the gate as a whole has its params", async () => {
  const rules = [{ source: "more than 41", cel: "evidence.count > params.min", params: { min: 41 } }];
  const gate = fieldGate([field({ name: "count", type: "integer" })], { rules });
  const judged = (count: number) => judge(gate, { count }, { surroundings: () => ({}) });
  expect(await judged(42)).toMatchObject({ verdict: { passed: true } });
  expect(await judged(41)).toMatchObject({ verdict: { passed: false } });
});

describe("the faults in the rules of a gate", () => {
  const gateWith = (...rules: string[]) =>
    fieldGate([field({ name: "count", type: "integer" })], { rules: rules.map((cel) => ({ source: cel, cel })) });
  const faultsOf = async (...rules: string[]) => {
    const before = [{ number: 1, gate: gateWith() }];
    const faults = await ruleFaults(gateWith(...rules), { phase: 2, phases: unnamed(1, 2), before });
    return faults.map(({ expected }) => expected);
  };

  it("are rules that read evidence which no earlier phase has", async () => {
    const [sound, wrong] = ["artifacts['1'].count == 3", "artifacts['2'].count == 3"] as const;
    expect(await faultsOf(sound, "evidence.count > 1")).toEqual([]);
    expect(await faultsOf(wrong, "evidence.count > 1")).toEqual([wrong]);
  });

  it("are rules of the workflow that the phase is, with their place in it", async () => {
    const faultsIn = (child: ChildWorkflow) =>
      ruleFaults(fieldGate([], { verify: [childCheck(child)] }), { phase: 1, phases: unnamed(1) });
    expect(await faultsIn({ type: "review", options: { base: { rule: "options.base" } } })).toEqual([]);
    expect(await faultsIn({ type: "review", options: { base: { rule: "options.base +" } } })).toEqual([
      { field: "", problem: "invalid", message: expect.stringMatching(/^workflow\.options\.base: .+\. .+/) },
    ]);
  });

  it("are rules that can't be compiled", async () => {
    expect(await faultsOf("evidence.count >")).toEqual(["evidence.count >"]);
  });
});

describe("a rule that may read any field", () => {
  const any = { source: "none is left", cel: "['left'].all(name, evidence[name] == 0)" };
  const count = { source: "more than one", cel: "evidence.count > 1" };
  const gate = fieldGate([field({ name: "count", type: "integer" }), field({ name: "left", type: "integer" })], {
    rules: [any, count],
  });
  const failed = async (evidence: JsonObject) => {
    const { verdict } = await judge(gate, evidence, { surroundings: () => ({}) });
    return verdict.passed ? [] : verdict.problems.map(({ field: name, expected }) => name || expected);
  };

  it("reads all of them, beside rules that name theirs", async () => {
    expect(await failed({ count: 2, left: 0 })).toEqual([]);
    expect(await failed({ count: 2, left: 1 })).toEqual(["none is left"]);
    expect(await failed({ count: 1, left: 0 })).toEqual(["more than one"]);
  });

  it("runs beside a field with a problem", async () => {
    expect(await failed({ count: "two", left: 0 })).toEqual(["count"]);
  });
});
