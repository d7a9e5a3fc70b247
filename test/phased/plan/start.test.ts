import { type PlanReading, parsePlan, type SourceParser } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { makePlanned, PLAN, PLAN_PATH } from "../../support/planned.js";

const request = { workflowType: "spec", target: "specs/one" };

/** Returns a parser that reads as the library does, and returns the given diagnostics. */
const finding = (...diagnostics: PlanReading["diagnostics"]): SourceParser => ({
  parse: (text, file) => ({ plan: parsePlan(text, { file }).plan, diagnostics }),
});

describe("a session on a plan", () => {
  it("has the static phases and those of the plan, pinned with their source", async () => {
    const { engine, start } = makePlanned();
    const { structure } = await engine.session(await start()).state();
    expect(structure.phases.map(({ number, name }) => [number, name])).toEqual([
      [0, "Static 0"],
      [1, "Parse"],
      [2, "Print"],
    ]);
    expect(structure.plan).toMatchObject({ path: PLAN_PATH, dialect: "praxis-os", shift: 0, ticked: true });
    const [, parse] = structure.phases;
    expect(parse?.gate).toEqual({
      kind: "plan",
      tasks: ["1.1", "1.2", "1.3"].map((id) => ({ id, optional: false })),
      items: ["All tests pass", "The docs are read by somebody"],
    });
    expect(parse?.plan).toEqual({ number: 1, goal: "Read the input" });
    expect(parse?.tasks[0]).toMatchObject({
      number: 1,
      name: "Write the lexer",
      plan: { id: "1.1", estimatedTime: "2 hours", acceptanceCriteria: ["Knows all tokens", "Says where they stand"] },
    });
  });

  it("has the same structure after it is read from the log", async () => {
    const { engine, start, again } = makePlanned();
    const sessionId = await start();
    expect((await again().engine.session(sessionId).state()).structure).toEqual(
      (await engine.session(sessionId).state()).structure,
    );
  });

  it("reads the plan that its option names, a file or a folder, before that of the target", async () => {
    const { engine, memory } = makePlanned();
    memory.set("other/plan.md", PLAN.replace("Print", "Paint"));
    const started = await engine.start({ ...request, options: { spec_path: "other/plan.md" } });
    expect(started.plan).toEqual({ path: "other/plan.md", dialect: "praxis-os", shift: 0, warnings: [] });
    const state = await engine.session(started.sessionId).state();
    expect(state.structure.phases.at(-1)?.name).toBe("Paint");
  });

  it("shifts the numbers of a plan that do not follow the static phases", async () => {
    const shifted = async (phases: readonly number[], plan: string) => {
      const { engine } = makePlanned({ phases, plan });
      const { plan: pin, sessionId } = await engine.start(request);
      const { structure } = await engine.session(sessionId).state();
      return [pin?.shift, structure.startPhase, structure.phases.map(({ number }) => number)];
    };
    const fromZero = PLAN.replace("Phase 1", "Phase 0").replace("Phase 2", "Phase 1");
    expect(await shifted([0], fromZero)).toEqual([1, 0, [0, 1, 2]]);
    expect(await shifted([0, 1], PLAN)).toEqual([1, 0, [0, 1, 2, 3]]);
    expect(await shifted([], fromZero)).toEqual([1, 1, [1, 2]]);
    expect(await shifted([], PLAN)).toEqual([0, 1, [1, 2]]);
    expect(await shifted([0], PLAN.replace("Phase 1", "Phase 4").replace("Phase 2", "Phase 7"))).toEqual([
      0,
      0,
      [0, 4, 7],
    ]);
  });

  it("starts in the plan if there is no static phase", async () => {
    const { engine } = makePlanned({ phases: [] });
    const { phase } = await engine.start(request);
    expect(phase.content.text).toBe("# Phase 1: Parse\n\nRead the input\n");
  });

  it("reports warnings, and returns the same session for the same key, even if the plan has changed", async () => {
    const warning = { severity: "warning" as const, code: "ODD", message: "odd", file: "x", line: 3 };
    const parsers = { spec_tasks_parser: finding(warning) };
    const { engine, memory } = makePlanned({ engine: { parsers } });
    const first = await engine.start({ ...request, idempotencyKey: "k" });
    expect(first.plan?.warnings).toEqual([warning]);
    memory.set(PLAN_PATH, undefined);
    const second = await engine.start({ ...request, idempotencyKey: "k" });
    expect(second).toMatchObject({ sessionId: first.sessionId, replayed: true, plan: { path: PLAN_PATH } });
  });
});

describe("a start that fails creates no session", () => {
  const error = {
    severity: "error" as const,
    code: "BAD",
    message: "this is bad",
    file: PLAN_PATH,
    line: 7,
    hint: "Fix it.",
  };
  const long = PLAN.replace("Read the input", "x".repeat(4 * 1024 * 1024));

  it.each([
    [
      "on a missing plan",
      { plan: PLAN },
      { spec_path: "nowhere" },
      { code: "PLAN_PARSE", details: { file: "nowhere" } },
    ],
    ["on a text that is not a plan", { plan: "Hello.\n" }, {}, { code: "PLAN_PARSE" }],
    [
      "on a plan with errors",
      { engine: { parsers: { spec_tasks_parser: finding(error, error) } } },
      {},
      {
        code: "PLAN_PARSE",
        message: expect.stringMatching(/tasks\.md:7: error: this is bad .*, and 1 more/),
        remedy: "Fix it.",
        details: { file: PLAN_PATH, line: 7 },
      },
    ],
    ["a path that leads out", {}, { spec_path: "../x" }, { code: "PATH_REFUSED" }],
    ["on an invalid path", {}, { spec_path: 3 }, { code: "PATH_REFUSED" }],
    [
      "on a plan that is too large for a session",
      { plan: long, engine: { parsers: { spec_tasks_parser: large() } } },
      {},
      { code: "TOO_LARGE" },
    ],
    [
      "with an unknown parser",
      { config: { parser: "spec-kitt" } },
      {},
      {
        code: "DEFINITION_INVALID",
        message: expect.stringContaining("spec-workflow"),
        remedy: expect.stringContaining("'spec-kit'"),
      },
    ],
    ["nothing like that parser", { config: { parser: "zzzzzz" } }, {}, { remedy: expect.stringContaining("register") }],
  ])("%s", async (_, options, settings, expected) => {
    const { engine, storage } = makePlanned(options);
    expect(await failure(engine.start({ ...request, options: settings }))).toMatchObject(expected);
    expect((await storage.list({})).items).toEqual([]);
  });

  it("on a host without plans", async () => {
    const { content } = makePlanned();
    const { engine, storage } = makeEngine({ content });
    expect(await failure(engine.start(request))).toMatchObject({
      code: "DEFINITION_INVALID",
      remedy: expect.stringContaining("createEngine({ plans"),
    });
    expect((await storage.list({})).items).toEqual([]);
  });

  it.each(["phase", "task"])("if the template of a %s is missing", async (kind) => {
    const made = makePlanned();
    const content: typeof made.content = Object.create(made.content);
    content.text = (type, part) =>
      made.content.text(type, "template" in part && part.template === kind ? { phase: 99 } : part);
    const { engine, storage } = makeEngine({ content, plans: made.plans });
    expect((await failure(engine.start(request))).code).toBe("CONTENT_UNAVAILABLE");
    expect((await storage.list({})).items).toEqual([]);
  });

  it("if the host refuses the path", async () => {
    const targets = {
      check: async (path: string) => {
        if (path === "linked/out") throw new Error("out");
      },
    };
    const { engine } = makePlanned({ engine: { targets } });
    expect((await failure(engine.start({ ...request, options: { spec_path: "linked/out" } }))).code).toBe("INTERNAL");
  });
});

function large(): SourceParser {
  return {
    parse: (text, file) => {
      const { plan, diagnostics } = parsePlan(PLAN, { file });
      return { plan: { ...plan, phases: plan.phases.map((phase) => ({ ...phase, goal: text })) }, diagnostics };
    },
  };
}
