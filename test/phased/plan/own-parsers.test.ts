import { type PlanPhase, type PlanTask, parsePlan, type SourceParser } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { checkPinned } from "../../../src/phased/plan/pin.js";
import { failure } from "../../support/failure.js";
import { claims, makePlanned, PLAN, PLAN_PATH } from "../../support/planned.js";

const position = { line: 1, column: 1, offset: 0 };
const task: PlanTask = {
  ...{ id: "1.1", name: "T", dependencies: [], acceptanceCriteria: [], state: "pending", optional: false },
  ...{ parallel: false, requirements: [], files: [], position },
};
const phase: PlanPhase = { number: 1, name: "P", tasks: [task], validationGate: [], position };
const planOf = (...phases: readonly object[]) => ({ plan: { dialect: "own", phases }, diagnostics: [] });

/** Returns a parser with the given result, of any type. */
function parserOf(parse: () => unknown, tick?: () => unknown): SourceParser {
  const parser: SourceParser = { parse: (text, file) => parsePlan(text, { file }) };
  Object.assign(parser, { parse }, tick === undefined ? {} : { tick });
  return parser;
}

const GOOD = (text: string, file: string) => parsePlan(text, { file });

describe("a custom source parser", () => {
  it.each<readonly [string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a result without a plan", {}],
    ["a promise", Promise.resolve(planOf(phase))],
    ["a plan without phases", planOf()],
    ["a number with a fraction", planOf({ ...phase, number: 1.5 })],
    ["a phase number that is NaN", planOf({ ...phase, number: Number.NaN })],
    ["a number below 0", planOf({ ...phase, number: -1 })],
    ["one number twice", planOf(phase, { ...phase, tasks: [] })],
    ["numbers that descend", planOf({ ...phase, number: 2 }, { ...phase, tasks: [] })],
    ["an id that is a number", planOf({ ...phase, tasks: [{ ...task, id: 7 }] })],
    ["an empty id", planOf({ ...phase, tasks: [{ ...task, id: "" }] })],
    ["one id twice", planOf({ ...phase, tasks: [task, { ...task, name: "U" }] })],
    ["a phase without a name", planOf({ ...phase, name: undefined })],
    ["an unknown state", planOf({ ...phase, tasks: [{ ...task, state: "odd" }] })],
    ["an unknown dependency", planOf({ ...phase, tasks: [{ ...task, dependencies: ["9"] }] })],
    ["a dependency on itself", planOf({ ...phase, tasks: [{ ...task, dependencies: ["1.1"] }] })],
    ["a plan without a dialect", { plan: { phases: [phase] }, diagnostics: [] }],
    ["a result without diagnostics", { plan: { dialect: "own", phases: [phase] } }],
  ])("that returns %s starts no session", async (_, reading) => {
    const { engine, storage } = makePlanned({ engine: { parsers: { spec_tasks_parser: parserOf(() => reading) } } });
    const refused = await failure(engine.start({ workflowType: "spec", target: "specs/one" }));
    expect(refused).toMatchObject({ code: "PLAN_PARSE", details: { file: PLAN_PATH } });
    expect(refused.message).toMatch(/specs\/one\/tasks\.md .*'spec_tasks_parser' made no plan of it: \S/);
    expect((await storage.list({})).items).toEqual([]);
  });

  it("that throws is named with the file, without its error message", async () => {
    const thrown = new Error("at /secret/place");
    const parsers = {
      spec_tasks_parser: parserOf(() => {
        throw thrown;
      }),
    };
    const { engine } = makePlanned({ engine: { parsers } });
    const refused = await failure(engine.start({ workflowType: "spec", target: "specs/one" }));
    expect(refused).toMatchObject({ code: "PLAN_PARSE", cause: thrown });
    expect(`${refused.message} ${refused.remedy}`).not.toContain("secret");
  });

  it("is used if it returns a plan", async () => {
    const parsers = { spec_tasks_parser: parserOf(() => planOf(phase)) };
    const { engine, start } = makePlanned({ engine: { parsers } });
    expect((await engine.session(await start(1)).phase()).plan?.tasks).toMatchObject([{ id: "1.1" }]);
  });

  it.each<readonly [string, () => unknown, RegExp]>([
    ["returns no text", () => 5, /gave no text/],
    ["returns text that is not a plan", () => "gone", /can't be read as a plan/],
    ["removes a task", () => PLAN.replace(/- \[ \] \*\*Task 2\.2.*\n.*\n/, ""), /changed more than ticks/],
  ])("whose tick %s does not change the file", async (_, tick, reason) => {
    const parser: SourceParser = { parse: GOOD };
    Object.assign(parser, { tick });
    const { start, pass, text } = makePlanned({ engine: { parsers: { spec_tasks_parser: parser } } });
    const sessionId = await start(1);
    const passed = await pass(sessionId, 1, claims[1]);
    expect(passed).toMatchObject({ passed: true, ticks: { ticked: [], pending: expect.stringMatching(reason) } });
    expect(text()).toBe(PLAN);
  });
});

describe("a custom source parser whose tick throws", () => {
  it("does not change the file, and the answer names the tasks that it could not write", async () => {
    const parser: SourceParser = { parse: GOOD, tick: () => JSON.parse("{") };
    const { start, pass, text } = makePlanned({ engine: { parsers: { spec_tasks_parser: parser } } });
    const passed = await pass(await start(1), 1, claims[1]);
    expect(passed).toMatchObject({ passed: true, ticks: { ticked: [], unwritable: ["1.1", "1.2", "1.3"] } });
    expect(text()).toBe(PLAN);
  });
});

describe("the pinned structure of a session", () => {
  it("matches the schema that its log is read with", async () => {
    const { engine, start } = makePlanned();
    const { structure } = await engine.session(await start(0)).state();
    expect(() => checkPinned(structure, "a.md")).not.toThrow();
    const [first] = structure.phases;
    const broken = { ...structure, phases: [{ ...first, name: "x", skippable: false, tasks: [], number: -1 }] };
    const gate = { kind: "open", allowOverride: false } as const;
    const phases = broken.phases.map((own) => ({ ...own, gate }));
    expect(() => checkPinned({ ...structure, phases }, "a.md")).toThrow(/a\.md can't be pinned: phases\.0\.number/);
  });
});
