import { join } from "node:path";
import {
  createEngine,
  createWorkflowTool,
  definePhase,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  type Workflow,
} from "phasegate";
import { extendWorkflow, type WorkflowExtension, workflowToFiles } from "phasegate/compose";
import { loadWorkflow } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { folderOf } from "./workflow-folders.js";

const BASE = defineWorkflow({
  ...{ type: "base", revision: "7", name: "Base", description: "A base", category: "tests" },
  options: z.object({ level: z.enum(["low", "high"]), depth: z.int().default(1) }),
  phases: [
    {
      ...{ number: 1, name: "Plan", content: "# Plan" },
      gate: { fields: { files: { type: "list", validator: "value.size() > 0" } } },
    },
    {
      ...{ number: 4, name: "Do", content: "# Do" },
      gate: {
        fields: {
          file: { type: "string", validator: "is_planned" },
          passed: { type: "boolean" },
          note: { type: "string", required: false },
        },
        validators: { is_planned: { rule: 'value in artifacts["1"].files', errorMessage: "not planned" } },
        crossFieldValidation: ['"1" in artifacts && evidence.file != ""'],
        verify: [{ verifier: "changed", params: { since: { phase: 1 } } }],
      },
    },
    { number: 5, name: "Close", content: "# Close", gate: { evidence: z.object({ done: z.boolean() }) } },
  ],
  documents: { "core/a.md": "A", "phases/4/how.md": "How", "phases/9/lost.md": "Lost" },
});

const REVIEW = definePhase({
  ...{ name: "Threat model", content: "# Threat model" },
  gate: { fields: { threats: { type: "list", validator: "value.all(one, one in artifacts.plan.files)" } } },
});

const NEW = { type: "own", revision: "1" };

const engineOn = (workflow: Workflow) =>
  createEngine({
    content: new MemoryContent({ workflows: [workflow] }),
    storage: new MemoryStorage(),
    verifiers: { changed: { verify: async () => ({ ok: true, message: "changed" }) } },
  });

const problemsOf = async (extension: Omit<WorkflowExtension, "type" | "revision">, base: Workflow = BASE) => {
  const { code, details } = await failure(extendWorkflow(base, { ...NEW, ...extension }));
  expect(code).toBe("DEFINITION_INVALID");
  return Object(details).diagnostics;
};

describe("a workflow that extends another", () => {
  it("has its phases and those that are inserted, and what named phases by their numbers still means them", async () => {
    const own = await extendWorkflow(BASE, {
      ...{ ...NEW, name: "Own" },
      phases: [
        { before: "Do", phase: REVIEW },
        { before: "Plan", phase: definePhase({ name: "Ask", content: "# Ask", gate: { fields: { ok: {} } } }) },
        { after: "Close", phase: definePhase({ name: "Tell", content: "# Tell", gate: { fields: { told: {} } } }) },
      ],
    });
    const { structure } = own.definition;
    expect(structure.phases.map(({ number, name }) => `${number} ${name}`)).toEqual([
      ...["1 Ask", "2 Plan", "3 Threat model", "4 Do", "5 Close", "6 Tell"],
    ]);
    expect(structure).toMatchObject({
      ...{ name: "Own", description: "A base", category: "tests", revision: "1 on 7", startPhase: 1 },
      extends: { type: "base", revision: "7" },
    });
    expect(structure.phases[3]?.gate).toMatchObject({
      fields: [{ rules: [{ cel: 'value in artifacts["Plan"].files' }] }, {}, {}],
      rules: [{ cel: '"Plan" in artifacts && evidence.file != ""' }],
      verify: [{ params: { since: { phase: 2 } } }],
    });
    expect(await own.text({ phase: 4 })).toBe("# Do");
    expect(own.documents).toEqual({ "core/a.md": "A", "phases/4/how.md": "How", "phases/9/lost.md": "Lost" });
    const engine = engineOn(own);
    const { sessionId } = await engine.start({ workflowType: "own", target: "src", options: { level: "low" } });
    const session = engine.session(sessionId);
    const submit = async (phase: number, evidence: object) =>
      (await session.completePhase(phase, { ...evidence })).passed;
    expect(await submit(1, { ok: 1 })).toBe(true);
    expect(await submit(2, { files: ["a.ts"] })).toBe(true);
    expect(await submit(3, { threats: ["b.ts"] })).toBe(false);
    expect(await submit(3, { threats: ["a.ts"] })).toBe(true);
    expect(await submit(4, { file: "b.ts", passed: true })).toBe(false);
    expect(await submit(4, { file: "a.ts", passed: true })).toBe(true);
    expect(await submit(5, { done: true })).toBe(true);
  });

  it("moves the documents of a phase with it", async () => {
    const base = defineWorkflow({
      ...{ type: "base", revision: "1", name: "Base", description: "A base" },
      phases: [{ name: "Do", content: "# Do" }],
      documents: { "phases/1/how.md": "How" },
    });
    const own = await extendWorkflow(base, { ...NEW, phases: [{ before: "Do", phase: REVIEW_FIRST }] });
    expect(own.documents).toEqual({ "phases/2/how.md": "How" });
  });

  it("has gates that ask for more", async () => {
    const own = await extendWorkflow(BASE, {
      ...NEW,
      phases: [
        {
          ...{ change: "Do", content: "# Do it well" },
          gate: {
            fields: { note: { required: true, validator: "min_length_5" }, link: { type: "string" } },
            crossFieldValidation: ["evidence.link != evidence.file"],
            verify: [{ verifier: "changed", params: { since: "plan" } }],
            approval: { prompt: "Is it good?" },
          },
        },
        { change: "Close", gate: { approval: { prompt: "Is it over?" } } },
      ],
    });
    const [, doing, closing] = own.definition.structure.phases;
    expect(doing?.gate).toMatchObject({
      fields: [
        { name: "file", rules: [{ source: "is_planned" }] },
        { name: "passed" },
        { name: "note", type: "string", required: true, rules: [{ source: "min_length_5" }] },
        { name: "link" },
      ],
      rules: [{}, { cel: "evidence.link != evidence.file" }],
      verify: [{ params: { since: { phase: 1 } } }, { params: { since: { phase: 1 } } }],
      approval: { prompt: "Is it good?" },
    });
    expect(closing?.gate).toMatchObject({ kind: "schema", approval: { prompt: "Is it over?" } });
    expect(own.definition.structure.extends).toEqual({ type: "base", revision: "7" });
    expect(await own.text({ phase: 2 })).toBe("# Do it well");
    expect(own.definition.schemas.get(3)).toBeDefined();
  });

  it("may ask for less only where it says why, which is pinned", async () => {
    const gate = () => ({ fields: { file: { type: "string" as const } } });
    expect(await problemsOf({ phases: [{ change: "Do", gate }] })).toEqual([
      expect.stringMatching(
        /^phases\[0\]: the gate of "Do" would ask for less: .*"passed".*Say in override why it may\.$/,
      ),
    ]);
    expect(await problemsOf({ phases: [{ change: "Do", gate: { strict: false } }] })).toHaveLength(1);
    expect(
      await problemsOf({ phases: [{ change: "Do", gate: { fields: { passed: { required: false } } } }] }),
    ).toHaveLength(1);
    expect(await problemsOf({ phases: [{ change: "Plan", gate: { fields: { own: {} } }, override: "no" }] })).toEqual([
      "phases[0]: override is given, and the gate asks for no less. Leave it out.",
    ]);
    const own = await extendWorkflow(BASE, { ...NEW, phases: [{ change: "Do", gate, override: "checked elsewhere" }] });
    expect(own.definition.structure.extends?.weaker).toEqual([
      { phase: "Do", what: expect.arrayContaining([expect.stringContaining('"passed"')]), reason: "checked elsewhere" },
    ]);
    const engine = engineOn(own);
    expect((await engine.listWorkflows())[0]?.diagnostics).toEqual([
      expect.objectContaining({ severity: "warning", code: "GATE_WEAKER", hint: expect.stringContaining("elsewhere") }),
    ]);
    const tool = createWorkflowTool(engine);
    expect(await tool.dispatch({ action: "list_workflows", workflow_type: "own" })).toMatchObject({
      workflows: [
        { extends: "base", asks_less: [expect.stringMatching(/^the gate of "Do" asks for less than in base: /)] },
      ],
    });
  });

  it("says what the workflow that it extends already asks less", async () => {
    const gate = () => ({ fields: { file: { type: "string" as const } } });
    const mid = await extendWorkflow(BASE, { ...NEW, phases: [{ change: "Do", gate, override: "checked elsewhere" }] });
    const top = await extendWorkflow(mid, { ...NEW, type: "top", phases: [] });
    expect(top.definition.structure.extends).toMatchObject({ type: "own", weaker: [{ phase: "Do", than: "base" }] });
    const listing = (await engineOn(top).listWorkflows())[0];
    expect(listing?.diagnostics[0]?.message).toMatch(/^the gate of "Do" asks for less than in base: /);
  });

  it("sets options, which no session can change", async () => {
    const own = await extendWorkflow(BASE, { ...NEW, options: { level: "high" } });
    const engine = engineOn(own);
    const { sessionId, options } = await engine.start({ workflowType: "own", target: "src" });
    expect(options).toEqual({ level: "high", depth: 1 });
    expect(sessionId).toMatch(/^own_/);
    const other = { workflowType: "own", target: "src", options: { level: "low" } };
    expect((await failure(engine.start(other))).message).toContain("level");
    expect(await problemsOf({ options: { lvel: "high" } })).toEqual([
      'options: the base has no option "lvel"; did you mean "level"?',
    ]);
  });

  it("may ask for an optional field more, which asks for no less", async () => {
    const own = await extendWorkflow(BASE, {
      ...NEW,
      phases: [{ change: "Do", gate: { fields: { link: { type: "string", required: false } } } }],
    });
    expect(own.definition.structure.extends?.weaker).toBeUndefined();
    const less = { change: "Do", gate: () => ({ fields: { file: { type: "string" as const } } }) };
    expect(await problemsOf({ phases: [less] })).toHaveLength(1);
  });

  it("is written as a folder with the options that it sets", async () => {
    const options = {
      type: "object",
      properties: {
        command: { type: "string", description: "the command", minLength: 1, pattern: "^npm", title: "Command" },
        level: { enum: ["low", "high"], default: "low" },
      },
      required: ["command"],
    };
    const base = await loadWorkflow(await folderWith(options));
    const set = { command: "npm test", level: "high" };
    const own = await extendWorkflow(base, { ...NEW, options: set });
    expect(own.definition.structure.optionsSchema?.properties).toEqual({
      command: {
        type: "string",
        description: "the command",
        title: "Command",
        const: set.command,
        default: set.command,
      },
      level: { const: set.level, default: set.level },
    });
    const written = new MemoryContent({ sources: { own: await workflowToFiles(own) } });
    const { structure } = (await written.definition("own")) ?? {};
    expect(structure?.optionsSchema).toEqual(own.definition.structure.optionsSchema);
    expect(await problemsOf({ options: { command: "yarn" } }, base)).toHaveLength(1);
  });

  it("reports keys that have no meaning, and entries that are no change", async () => {
    const problems = (phases: readonly object[], more: object = {}) =>
      problemsOf(JSON.parse(JSON.stringify({ phases, ...more })));
    const phase = { name: "New", content: "# New" };
    expect(
      await problems(
        [
          { chnge: "Do" },
          { before: "Do", after: "Plan", phase },
          { before: "Do", phase, gate: {} },
          { change: "Do", overide: "why", before: "Plan" },
          { before: "Do" },
          { change: 7 },
          { gate: {} },
        ],
        { optoins: {} },
      ),
    ).toEqual([
      'the extension has no key "optoins"; did you mean options?',
      'phases[0] has no key "chnge"; did you mean change?',
      "phases[1] has both before and after: give one of them",
      'phases[2] has no key "gate"',
      'phases[3] has no key "overide"; did you mean override?',
      'phases[3] has no key "before"',
      "phases[4].phase is missing",
      "phases[5].change must be a text, not 7",
      "phases[6] has no place: give before, after or change, with the name of a phase",
    ]);
    expect(await problemsOf(JSON.parse('{"phases": [7]}'))).toEqual([
      expect.stringMatching(/^phases\[0\] must be an object/),
    ]);
    expect(
      await problems([
        { change: "Do", gate: { feilds: {} } },
        { change: "Plan", gate: { target: "src", fields: { a: { typ: "string" } } } },
        { change: "Close", gate: { feilds: {}, approval: { prompt: "Well?" } } },
        { change: "Close", gate: 7 },
      ]),
    ).toEqual([
      'phases[1]: gate.fields.a has no key "typ"; did you mean type?',
      'phases[1]: gate has no key "target"',
      'phases[0]: gate has no key "feilds"; did you mean fields?',
      'phases[2]: gate has no key "feilds"; did you mean fields?',
      "phases[3]: gate must be an object, not 7",
    ]);
  });

  it("says all that is wrong at once", async () => {
    const problems = await problemsOf({
      phases: [
        { before: "Dou", phase: REVIEW },
        { change: "Do", gate: { validators: { is_planned: "true" } } },
        { change: "Close", gate: { fields: { own: {} } } },
      ],
    });
    expect(problems).toEqual([
      'phases[0]: there is no phase "Dou"; did you mean "Do"? There are "Plan", "Do", "Close"',
      "phases[1]: gate: the base has validators of these names: is_planned",
      expect.stringMatching(/^phases\[1\]: the gate of "Do" would ask for less/),
      "phases[2]: gate: fields can't be added, since the gate is a schema; give a function that returns the whole gate",
    ]);
    const named = defineWorkflow({
      ...{ type: "base", revision: "1", name: "Base", description: "A base" },
      phases: [
        { number: 1, name: "Same", content: "# One", gate: { fields: { a: {} } } },
        { number: 2, name: "Same", content: "# Two", gate: { fields: { a: {} } } },
        {
          ...{ number: 3, name: "Last", content: "# Three" },
          gate: { fields: { a: { validator: 'value == artifacts["2"].a' } } },
        },
      ],
    });
    expect(await problemsOf({ phases: [{ before: "Same", phase: REVIEW_FIRST }] }, named)).toEqual([
      "the base names its phase 2 by this number, and its name is not unique",
      'phases[0]: 2 phases are called "Same"',
    ]);
  });

  it("can extend a starter, with its checks", async () => {
    const root = await temporaryFolder();
    const starter = await loadWorkflow(folderOf("starters/bug_fix"));
    const own = await extendWorkflow(starter, {
      ...NEW,
      phases: [{ before: "Fix", phase: REVIEW_ALONE }],
      options: { test_command: "node --test" },
    });
    const { phases } = own.definition.structure;
    expect(phases.map(({ name }) => name)).toEqual(["Reproduce", "Find the cause", "Threat model", "Fix", "Finish"]);
    const rules = JSON.stringify(phases[3]?.gate);
    expect(rules).toContain('artifacts[\\"Find the cause\\"].cause.file');
    expect(JSON.stringify(phases[4]?.gate)).toContain('"since":{"phase":4}');
    const content = new MemoryContent({ workflows: [own] });
    const verifiers = await createVerifiers({ projectRoot: root, commands: ["node --test"] });
    const engine = createEngine({ content, storage: new MemoryStorage(), verifiers });
    expect((await engine.start({ workflowType: "own" })).options).toEqual({ test_command: "node --test" });
    expect(Object.keys(await workflowToFiles(own))).toContain("phases/3/phase.md");
  });
});

/** Writes a workflow with these options into a folder. */
async function folderWith(options_schema: object): Promise<string> {
  const root = await temporaryFolder();
  const phases = [{ phase_number: 1, phase_name: "Do" }];
  await writeFiles(root, {
    "base/metadata.json": JSON.stringify({
      workflow_type: "base",
      name: "B",
      description: "B",
      options_schema,
      phases,
    }),
    "base/phases/1/phase.md": "# Do",
    "base/phases/1/gate-definition.yaml": "gate: none\n",
  });
  return join(root, "base");
}

const REVIEW_FIRST = definePhase({ name: "First", content: "# First", gate: { fields: { ok: {} } } });
const REVIEW_ALONE = definePhase({
  ...{ name: "Threat model", content: "# Threat model" },
  gate: { fields: { threats: { type: "list", validator: "artifacts.reproduce.test_name != ''" } } },
});
