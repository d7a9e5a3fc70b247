import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type ContentProvider,
  createEngine,
  definePhase,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
} from "phasegate";
import { combineContent, extendWorkflow, workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import type { GateDefinition, WorkflowStructure } from "../../src/workflow/structure.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { BASE, extension, OWN, THREATS } from "./extended-folders.js";

let root: string;
beforeEach(async () => {
  root = await temporaryFolder();
});

async function filesOf(files: Readonly<Record<string, string>>, folder = root) {
  await writeFiles(folder, files);
  return new FileContent({ roots: [folder] });
}

async function structureOf(content: ContentProvider, type = "own"): Promise<WorkflowStructure> {
  const definition = await content.definition(type);
  if (definition === undefined) throw new Error(`there is no workflow ${type}`);
  return definition.structure;
}

/** Returns the diagnostics of a workflow, as `code file:line`, with the message. */
async function faultsOf(content: ContentProvider, type = "own"): Promise<string[]> {
  const listing = (await content.list()).find((one) => one.type === type);
  return (listing?.diagnostics ?? []).map(({ code, file, line, message }) => `${code} ${file}:${line}: ${message}`);
}

/** Returns what a definition says besides revisions, paths, and what the reader of a folder chooses. */
function comparable({ revision: _, searches: __, extends: from, phases, ...structure }: WorkflowStructure) {
  return JSON.parse(
    JSON.stringify({
      ...structure,
      extends: { type: from?.type, weaker: from?.weaker },
      phases: phases.map(({ file: ___, textRevision: ____, gate, tasks, ...phase }) => ({
        ...phase,
        gate: comparableGate(gate),
        tasks: tasks.map(({ file: _____, textRevision: ______, ...task }) => task),
      })),
    }),
  );
}

function comparableGate(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, verify = [], ...others } = gate;
  const checks = [...verify].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return { ...others, verify: checks, fields: fields.map(({ sample: __, ...field }) => field) };
}

describe("a folder that extends another one", () => {
  it("is the same workflow as in code", async () => {
    const content = await filesOf({ ...BASE, ...OWN });
    expect(await faultsOf(content)).toEqual([]);
    const inCode = await extendWorkflow(await loadWorkflow(join(root, "base")), {
      ...{ type: "own", revision: "1", name: "Own", options: { level: "high" } },
      phases: [
        {
          before: "Do it",
          phase: definePhase({
            ...{ name: "Threat model", purpose: "Why", content: THREATS["own/phases/threat_model/phase.md"] },
            gate: { fields: { threats: { type: "list", validator: "value.all(one, one in artifacts.plan.files)" } } },
          }),
        },
        {
          ...{ change: "Do it", content: OWN["own/phases/do_it/phase.md"], tasks: { 2: "# Test more" } },
          gate: {
            fields: {
              note: { required: true, validator: "min_length_5" },
              link: { type: "string" },
            },
            crossFieldValidation: ["evidence.link != evidence.file"],
            verify: [
              { verifier: "file_exists", field: "link" },
              { verifier: "changed_since_phase_start", params: { path: "docs", since: { phase: "Threat model" } } },
            ],
          },
        },
        { change: "Close", gate: { approval: { prompt: "Is it over?" } } },
      ],
    });
    const structure = await structureOf(content);
    expect(comparable(structure)).toEqual(comparable(inCode.definition.structure));
    expect(structure.phases.map(({ number, name }) => `${number} ${name}`)).toEqual([
      ...["1 Plan", "2 Threat model", "3 Do it", "4 Close"],
    ]);
    for (const part of [1, 2, 3, 4].map((phase) => ({ phase }))) {
      expect((await content.text("own", part)).text).toBe(await inCode.text(part));
    }
    for (const task of [1, 2])
      expect((await content.text("own", { phase: 3, task })).text).toBe(await inCode.text({ phase: 3, task }));
    const revisions = structure.phases.flatMap(({ textRevision, tasks }) => [textRevision, ...tasks.map((one) => one.textRevision)]);
    expect(revisions).toEqual(
      inCode.definition.structure.phases.flatMap(({ textRevision, tasks }) => [
        ...[textRevision, ...tasks.map((one) => one.textRevision)],
      ]),
    );
  });

  it("is walked with its texts and documents, those of a later phase at its phase", async () => {
    const project = await temporaryFolder();
    await writeFiles(project, { "a.ts": "", "src/a.ts": "", "docs/a.md": "", "link.md": "" });
    const content = await filesOf({ ...BASE, ...OWN });
    const verifiers = await createVerifiers({ projectRoot: project });
    const engine = createEngine({ content, storage: new MemoryStorage(), verifiers });
    const { sessionId, options } = await engine.start({ workflowType: "own" });
    expect(options).toEqual({ level: "high", depth: 1 });
    const session = engine.session(sessionId);
    const read = async (path: string) => (await session.getDocument(path)).content.text;
    expect((await failure(read("phases/2/notes.md"))).code).toBe("PHASE_LOCKED");
    expect(await read("core/words.md")).toBe("The words of the base.");
    expect(await read("core/own.md")).toBe("Our words.");
    expect((await session.completePhase(1, { files: ["a.ts"] })).passed).toBe(true);
    expect(await read("notes.md")).toBe("Our notes.");
    expect((await failure(read("phases/3/how.md"))).code).toBe("PHASE_LOCKED");
    expect((await session.completePhase(2, { threats: ["b.ts"] })).passed).toBe(false);
    expect((await session.completePhase(2, { threats: ["a.ts"] })).passed).toBe(true);
    expect(await read("how.md")).toBe("How the base does it.");
    const evidence = { file: "a.ts", passed: true, note: "a note", link: "link.md" };
    expect((await session.completePhase(3, { ...evidence, note: "a" })).passed).toBe(false);
    await writeFiles(project, { "src/b.ts": "", "docs/b.md": "" });
    expect((await session.completePhase(3, evidence)).passed).toBe(true);
  });

  it("has a new revision when it or its base changes, and running sessions keep their own", async () => {
    const content = await filesOf({ ...BASE, ...OWN });
    const engine = createEngine({ content, storage: new MemoryStorage(), verifiers: await createVerifiers({ projectRoot: root }) });
    const { sessionId } = await engine.start({ workflowType: "own" });
    const first = await structureOf(content);
    expect((await structureOf(content)).revision).toBe(first.revision);
    await writeFiles(root, { "base/phases/1/phase.md": "# Plan\n\nPlan anew." });
    const second = await structureOf(content);
    expect(second.revision).not.toBe(first.revision);
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nPlan anew.");
    await writeFiles(root, { "own/phases/threat_model/phase.md": "# Threats\n\nAll of them." });
    const third = await structureOf(content);
    expect(new Set([first, second, third].map(({ revision }) => revision)).size).toBe(3);
    expect(await content.definition("own", third.revision)).toBeDefined();
    expect(await content.definition("own", first.revision)).toBeUndefined();
    await writeFiles(root, { "base/metadata.json": "{" });
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nPlan anew.");
    expect((await content.text("own", { phase: 2 })).text).toBe("# Threats\n\nAll of them.");
    expect((await engine.session(sessionId).view()).workflowRevision).toBe(first.revision);
  });

  it("can itself be extended", async () => {
    const content = await filesOf({
      ...{ ...BASE, ...OWN },
      ...extension({ phases: [{ after: "Threat model", phase_name: "Weigh" }, { change: "Plan" }] }, "more", "own"),
      "more/phases/weigh/phase.md": "# Weigh",
      "more/phases/weigh/gate-definition.yaml":
        'evidence_schema:\n  worst: {type: string, validator: "value in artifacts.threat_model.threats"}\n',
      "more/phases/plan/phase.md": "# Plan more",
    });
    expect(await faultsOf(content, "more")).toEqual([]);
    const { phases, name, extends: from } = await structureOf(content, "more");
    expect({ name, from: from?.type }).toEqual({ name: "Own", from: "own" });
    expect(phases.map((one) => one.name)).toEqual(["Plan", "Threat model", "Weigh", "Do it", "Close"]);
    const textAt = async (phase: number) => (await content.text("more", { phase })).text.split("\n")[0];
    expect(await Promise.all([1, 2, 3, 4, 5].map(textAt))).toEqual([
      ...["# Plan more", "# Threats", "# Weigh", "# Do it well", "# Close"],
    ]);
    const documents = (await content.documents?.("more"))?.map(({ path }) => path) ?? [];
    expect(documents).toEqual(
      expect.arrayContaining(["phases/2/notes.md", "phases/4/how.md", "core/own.md", "core/words.md"]),
    );
  });

  it("may ask for less only where it says why", async () => {
    const weaker = (more: object) => ({
      ...{ ...BASE, ...extension({ phases: [{ change: "Do it", ...more }] }) },
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  passed: {type: boolean, required: false}\n",
    });
    expect(await faultsOf(await filesOf(weaker({})))).toEqual([
      'GATE_WEAKER metadata.json:6: the gate of "Do it" would ask for less: the field "passed" is optional',
    ]);
    const reason = { override: "the tests run elsewhere" };
    expect(await faultsOf(await filesOf(weaker(reason)))).toEqual([]);
    const content = new FileContent({ roots: [root] });
    expect((await structureOf(content)).extends?.weaker).toEqual([
      { phase: "Do it", what: ['the field "passed" is optional'], reason: "the tests run elsewhere" },
    ]);
    const whole = await filesOf({
      ...extension({ phases: [{ change: "Do it", whole_gate: true, ...reason }] }),
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  file: {type: string}\n",
    });
    expect(await faultsOf(whole)).toEqual([]);
    expect((await structureOf(whole)).phases[1]?.gate).toMatchObject({ fields: [{ name: "file" }] });
    expect((await structureOf(whole)).extends?.weaker?.[0]?.what).toContain('the field "passed" is gone');
    const idle = await filesOf({
      ...extension({ phases: [{ change: "Do it", ...reason }] }),
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  own: {type: string}\n",
    });
    expect(await faultsOf(idle)).toEqual(["VALUE_WRONG metadata.json:7: override is given, and the gate asks for no less"]);
  });

  it("says all that is wrong, each at its place", async () => {
    const content = await filesOf({
      ...BASE,
      ...extension({
        options: { lvel: "high", depth: "deep" },
        phases: [
          { before: "Dou", phase_name: "Ask" },
          { phase_name: "Nowhere" },
          { before: "Plan", after: "Plan", phase_name: "Both" },
          { before: "Do it", phase_name: "Early" },
          { change: "Close" },
          { change: "Do it", override: true },
          { after: "Close", phase_name: "close!" },
        ],
      }),
      "own/phases/early/phase.md": "# Early",
      "own/phases/early/gate-definition.yaml":
        'evidence_schema:\n  a: {type: string, validator: "value == artifacts.close.done"}\nverify: {verifier: changed_since_phase_start, path: a, since: {phase: Do it}}\n',
      "own/phases/do_it/gate-definition.yaml":
        "evidence_schema:\n  b: {type: string, validator: nonsense}\n  note: {type: integer}\nvalidators: {is_planned: 'true', idle: 'true'}\n",
      "own/phases/do_it/task-7-x.md": "# X",
      "own/phases/do_i/gate-definition.yaml": "evidence_schema:\n  b: {type: string}\n",
      "own/phases/close_/phase.md": "# C",
    });
    const faults = await faultsOf(content);
    const at = (line: string | number, what: RegExp, file = "metadata.json") =>
      expect(faults.filter((fault) => fault.includes(`${file}:${line}: `) && what.test(fault))).toHaveLength(1);
    at(5, /the base has no option "lvel"; did you mean "level"\?/);
    at(6, /depth/);
    at(10, /^PHASE_UNKNOWN .*there is no phase "Dou"; did you mean "Do it"\?; there are "Plan", "Do it", "Close"/);
    at(13, /"before"/);
    at(18, /"after"/);
    at(3, /artifacts.*close/i, "phases/early/gate-definition.yaml".replace("3", "3")) ?? undefined;
  });
});
