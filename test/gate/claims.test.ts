import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { askForProofs, placesNamedIn, readClaims, waivableBooleans } from "../../src/gate/claims.js";
import { PROOF_FORMAT, proofFormat, requiredFormat } from "../../src/gate/format.js";
import { judge } from "../../src/gate/judge.js";
import { waive } from "../../src/gate/waivers.js";
import type { FieldGate, PlanGate, SchemaGate } from "../../src/workflow/structure.js";

const GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [
    { name: "reviewed", type: "boolean", required: true, description: "by a person" },
    { name: "tested", type: "boolean", required: true },
    { name: "fast", type: "boolean", required: false },
    { name: "count", type: "integer", required: true },
  ],
  verify: [{ verifier: "command", params: {}, field: "tested" }],
};
const PLAN: PlanGate = { kind: "plan", allowOverride: false, tasks: [{ id: "1", optional: false }], items: ["Works"] };

describe("a gate that asks for proofs", () => {
  it("requires one for each required boolean without a verifier", () => {
    const gate = askForProofs(GATE);
    expect(gate).toEqual({ ...GATE, proofs: ["reviewed"] });
    expect(requiredFormat(gate)).toMatchObject({
      properties: {
        reviewed: { type: "object", description: "by a person", required: ["claim", "proof"] },
        tested: { type: "boolean" },
      },
    });
  });

  it("requires none if a person approves, if the gate is open, for a waived field, and if nothing is claimed", () => {
    const approved = { ...GATE, approval: { prompt: "?" } };
    const open = { kind: "open", allowOverride: false } as const;
    const none = { ...GATE, fields: GATE.fields.slice(1) };
    for (const gate of [approved, open, none, { ...PLAN, items: [] }]) expect(askForProofs(gate)).toBe(gate);
    expect(askForProofs(waive(GATE, ["reviewed"]))).not.toHaveProperty("proofs");
  });

  it("requires them in a schema and in a plan's validation gate", () => {
    const jsonSchema = JSON.parse(JSON.stringify(z.toJSONSchema(z.object({ ok: z.boolean(), note: z.string() }))));
    const gate: SchemaGate = { kind: "schema", allowOverride: false, jsonSchema };
    expect(requiredFormat(askForProofs(gate))).toMatchObject({ properties: { ok: { required: ["claim", "proof"] } } });
    const done = z.boolean().meta({ id: "Done", description: "all of it" });
    const withId = JSON.parse(JSON.stringify(z.toJSONSchema(z.object({ done }))));
    expect(requiredFormat(askForProofs({ ...gate, jsonSchema: withId }))).toMatchObject({
      properties: { done: { required: ["claim", "proof"], description: "all of it" } },
    });
    const unknown: SchemaGate = { kind: "schema", allowOverride: false };
    expect(askForProofs(unknown)).toBe(unknown);
    expect(requiredFormat(askForProofs(PLAN))).toMatchObject({ validation_gate: { each: { type: "object" } } });
  });
});

describe("claims with proofs", () => {
  it("are written as documented", async () => {
    const shown = JSON.parse(await readFile(new URL("documented/claim.json", import.meta.url), "utf8"));
    const { evidence, proofs, problems } = readClaims(askForProofs(GATE), shown);
    expect({ evidence, problems }).toEqual({ evidence: { reviewed: true }, problems: [] });
    expect(proofs).toEqual([{ field: "reviewed", proof: "docs/review.md:12" }]);
    expect(placesNamedIn("docs/review.md:12")).toEqual([{ path: "docs/review.md", line: 12 }]);
  });

  const gate = askForProofs(GATE);

  it("are split into claims and proofs", () => {
    const reviewed = { claim: true, proof: "docs/review.md:3" };
    expect(readClaims(gate, { reviewed, tested: true, count: 1 })).toEqual({
      evidence: { reviewed: true, tested: true, count: 1 },
      proofs: [{ field: "reviewed", proof: "docs/review.md:3" }],
      problems: [],
    });
    expect(readClaims(GATE, { reviewed })).toEqual({ evidence: { reviewed }, proofs: [], problems: [] });
  });

  it.each([
    [true, /without a proof/],
    [{ claim: true }, /says nothing/],
    [{ claim: true, proof: " \u200b" }, /says nothing/],
    [{ claim: true, proof: 3 }, /says nothing/],
    [{ claim: true, proof: "x".repeat(1001) }, /longer than 1000/],
  ])("are a problem without a proof: %j", (reviewed, message) => {
    const { problems, proofs } = readClaims(gate, { reviewed });
    expect(problems).toMatchObject([
      { field: "reviewed", problem: "invalid", message: expect.stringMatching(message) },
    ]);
    expect(proofs).toEqual([]);
  });

  it.each([false, "yes", null, 3])("are left to the gate if they are not claims: %j", (reviewed) => {
    expect(readClaims(gate, { reviewed })).toMatchObject({ evidence: { reviewed }, problems: [] });
  });

  it("claim nothing if they are a proof alone", () => {
    const { evidence, proofs } = readClaims(gate, { reviewed: { proof: "docs/review.md:3" } });
    expect(evidence).toEqual({ reviewed: null });
    expect(proofs).toEqual([{ field: "reviewed", proof: "docs/review.md:3" }]);
  });

  it("are read for each item of a plan's validation gate", () => {
    const plan = askForProofs(PLAN);
    const items = { 1: { claim: true, proof: "npm test" }, works: true };
    expect(readClaims(plan, { tasks_completed: ["1"], validation_gate: items })).toMatchObject({
      evidence: { tasks_completed: ["1"], validation_gate: { 1: true, works: true } },
      proofs: [{ field: "validation_gate.1", proof: "npm test" }],
      problems: [{ field: "validation_gate.works" }],
    });
    expect(readClaims(plan, { validation_gate: [] })).toMatchObject({ evidence: { validation_gate: [] } });
    expect(readClaims(plan, {})).toMatchObject({ evidence: {}, problems: [] });
  });
});

describe("the places that a proof names", () => {
  const folder = (path: string) => ({ path, mayBeFolder: true });
  it.each([
    ["see docs/report.md, line 3", [{ path: "docs/report.md" }]],
    ["`src/a.test.ts:12`", [{ path: "src/a.test.ts", line: 12 }]],
    ["report.md:3-9 and (logs/run.txt)", [{ path: "report.md", line: 9 }, { path: "logs/run.txt" }]],
    [
      "a.md:9-3 a.md:3:7",
      [
        { path: "a.md", line: 9 },
        { path: "a.md", line: 3 },
      ],
    ],
    [
      "docs/a.md#L12 docs/b.md#7",
      [
        { path: "docs/a.md", line: 12 },
        { path: "docs/b.md", line: 7 },
      ],
    ],
    ["docs/a.md:3:77", [{ path: "docs/a.md", line: 3 }]],
    ["docs/a.md#L12-L15", [{ path: "docs/a.md", line: 15 }]],
    ["docs/a.md#L1C2 docs/b.md#usage", [{ path: "docs/a.md", line: 1 }, { path: "docs/b.md" }]],
    ["test/a.py::test_one", [{ path: "test/a.py" }]],
    ["docs\\\\a.md:3 docs\\b.md", [{ path: "docs/a.md", line: 3 }, { path: "docs/b.md" }]],
    ["C:/a.md C:\\b.md", [{ path: "C:/a.md" }, { path: "C:/b.md" }]],
    ["docs/größe.md", [{ path: "docs/größe.md" }]],
    ["src/Makefile:3", [{ path: "src/Makefile", line: 3 }]],
    ["docs/report", [folder("docs/report")]],
    ["docs/ and /etc/passwd", [folder("docs"), folder("/etc/passwd")]],
    ["a/b and docs//", [folder("a/b"), folder("docs")]],
    ["a/b!c, a!b/c and a/b(c).md", []],
    ["docs/a.md, approved and/or tested", [{ path: "docs/a.md" }]],
    ["npm test: 12 passed", []],
    ["e.g. v1.2, 10/12.5 and 12/12", []],
    ["https://example.com/a.html", []],
    ["example.com/all/http://example.org/", []],
    ["a/b.c a/b.c x/1.d x/2.d x/3.d", ["a/b.c", "x/1.d", "x/2.d", "x/3.d"].map((path) => ({ path }))],
    ["...", []],
    ["see ./docs/report.md, ../b/c.md.", [{ path: "./docs/report.md" }, { path: "../b/c.md" }]],
    ["(.github/ci.yml)", [{ path: ".github/ci.yml" }]],
  ])("of %j are %j", (proof, places) => {
    expect(placesNamedIn(proof)).toEqual(places);
  });
});

describe("a gate that asks for proofs", () => {
  it("reports claims without a proof together with its own problems", async () => {
    const gate = askForProofs(GATE);
    const evidence = { reviewed: true, tested: true };
    const { problems } = readClaims(gate, evidence);
    const judged = await judge(gate, evidence, { found: problems, surroundings: () => ({}) });
    expect(judged.verdict).toMatchObject({ passed: false, problems: [{ field: "reviewed" }, { field: "count" }] });
  });

  it("requires none for an optional field of a schema, and none in an open gate", () => {
    const gate: SchemaGate = { kind: "schema", allowOverride: false, jsonSchema: { properties: { ok: true } } };
    expect(askForProofs(gate)).toBe(gate);
    const open = { kind: "open", allowOverride: false } as const;
    expect(readClaims(open, { done: true })).toEqual({ evidence: { done: true }, proofs: [], problems: [] });
  });

  it("follows a reference to a schema with an id, and ignores one to a missing schema", () => {
    const jsonSchema = {
      $defs: { Done: { type: "boolean" } },
      properties: { a: { $ref: "#/$defs/Done" }, b: { $ref: "#/$defs/Gone" } },
      required: ["a", "b"],
    };
    const gate: SchemaGate = { kind: "schema", allowOverride: false, jsonSchema };
    expect(askForProofs(gate)).toMatchObject({ proofs: ["a"] });
  });
});

describe("words in a proof", () => {
  const pathsIn = (proof: string) => placesNamedIn(proof).map(({ path }) => path);
  it("are paths, and names with a line", () => {
    expect(pathsIn("see docs/report.md and src/a.ts:12, (b.ts:3-14); c.ts:x d.ts ./e/f.md. .github/ci.yml")).toEqual([
      ...["docs/report.md", "src/a.ts", "b.ts", "./e/f.md", ".github/ci.yml"],
    ]);
    expect(pathsIn("d.ts c.ts:x c.ts:1x c.ts:1-2x c.ts:-1 c.ts:x:12")).toEqual([]);
    expect(pathsIn("c.ts:12-345 d.ts:12")).toEqual(["c.ts", "d.ts"]);
  });

  it("are no addresses, and no words between signs", () => {
    expect(pathsIn('https://example.org/a.md ... "" a/b.md! a/(b).md a/!c.md a/c.md!c https://a.md:1')).toEqual([
      "a/b.md",
    ]);
    expect(pathsIn("")).toEqual([]);
    expect(pathsIn("  a/b.md \n\t a/b.md ")).toEqual(["a/b.md"]);
  });

  it("that name too many files, or a line that no file has, are no proof", () => {
    const gate = askForProofs(GATE);
    const problemsOf = (proof: string) => readClaims(gate, { reviewed: { claim: true, proof } }).problems;
    const paths = Array.from({ length: 11 }, (_, index) => `a/${index}.md`);
    expect(problemsOf(paths.slice(1).join(" "))).toEqual([]);
    expect(problemsOf(paths.join(" "))).toMatchObject([{ message: expect.stringContaining("more than 10 files") }]);
    expect(problemsOf("a.md:0")).toMatchObject([{ message: expect.stringContaining("names line 0") }]);
    expect(problemsOf(`a.md:${"9".repeat(20)}`)).toHaveLength(1);
  });
});

it("a proof may have 1000 characters", () => {
  const gate = askForProofs(GATE);
  const read = (proof: string) => readClaims(gate, { reviewed: { claim: true, proof } }).problems.length;
  expect(read("x".repeat(1000))).toBe(0);
  expect(read("x".repeat(1001))).toBe(1);
});

it("the format of a proof has the description of its claim, if there is one", () => {
  expect(proofFormat({})).toBe(PROOF_FORMAT);
  expect(proofFormat({ description: "by a person" })).toEqual({ ...PROOF_FORMAT, description: "by a person" });
});

it("claims of an open gate, and fields without a claim, stay as they are", () => {
  const evidence = { reviewed: { claim: true, proof: "seen" } };
  expect(readClaims({ kind: "open", allowOverride: false }, evidence)).toEqual({ evidence, proofs: [], problems: [] });
  const gate = askForProofs(GATE);
  expect(readClaims(gate, { count: 1 })).toStrictEqual({ evidence: { count: 1 }, proofs: [], problems: [] });
  expect(readClaims(gate, { reviewed: { claim: false } }).proofs).toEqual([]);
  expect(readClaims(gate, { reviewed: "yes" })).toEqual({
    evidence: { reviewed: "yes" },
    proofs: [],
    problems: [],
  });
});

it("the booleans that an agent may ask to have waived are the required fields and items that it would claim", () => {
  expect(waivableBooleans(GATE)).toEqual(["reviewed", "tested"]);
  expect(waivableBooleans(askForProofs(GATE))).toEqual(["reviewed", "tested"]);
  expect(waivableBooleans(waive(GATE, ["tested"]))).toEqual(["reviewed"]);
  const plan = { ...PLAN, items: ["Works", "Is fast"] };
  expect(waivableBooleans(plan)).toEqual(["validation_gate.1", "validation_gate.2"]);
  expect(waivableBooleans(waive(plan, ["validation_gate.1"]))).toEqual(["validation_gate.2"]);
  expect(waivableBooleans({ kind: "open" })).toEqual([]);
});
