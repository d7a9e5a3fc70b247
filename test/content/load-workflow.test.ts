import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { checkGate, compileRules } from "phasegate/gate";
import { describe, expect, it } from "vitest";
import type { GateDefinition, WorkflowStructure } from "../../src/workflow/structure.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { FOLDERS, folderOf } from "../workflow/workflow-folders.js";
import { gateFile, metadata, phase, texts } from "../workflow/workflow-texts.js";

/** Returns the gates of a workflow as code can say them: without their place, and without generated examples. */
function gatesOf({ phases, dynamic }: WorkflowStructure) {
  return { gates: phases.map(({ number, gate }) => [number, sayable(gate)]), ofPlan: dynamic?.verify };
}

function sayable(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { source: _, ...asked } = gate;
  return { ...asked, fields: gate.fields.map(({ sample: __, ...field }) => field) };
}

describe.each(FOLDERS)("the workflow in %s", (path) => {
  const folder = folderOf(path);
  it("is loaded with its texts and documents, and defined in code with the same gates", async () => {
    const root = join(folder, "..");
    const files = new FileContent({ roots: [root] });
    const loaded = await loadWorkflow(folder);
    const { structure } = loaded.definition;
    expect(structure).toEqual((await files.definition(structure.type))?.structure);
    const content = new MemoryContent({ workflows: [loaded] });
    for (const { number, tasks } of structure.phases) {
      for (const part of [{ phase: number }, ...tasks.map((task) => ({ phase: number, task: task.number }))]) {
        expect((await content.text(structure.type, part)).text).toBe((await files.text(structure.type, part)).text);
      }
    }
    const again = defineWorkflow({ ...loaded.input }).definition.structure;
    expect(gatesOf(again)).toEqual(gatesOf(structure));
    expect(withoutFiles(again)).toEqual(withoutFiles(structure));
  });

  it("is written as files that give the same workflow", async () => {
    const loaded = await loadWorkflow(folder);
    const { structure } = loaded.definition;
    for (const workflow of [loaded, defineWorkflow(loaded.input)]) {
      const files = await workflowToFiles(workflow);
      const content = new MemoryContent({ sources: { [structure.type]: files } });
      const read = (await content.definition(structure.type))?.structure;
      expect(read && gatesOf(read)).toEqual(gatesOf(structure));
      expect(read && withoutFiles(read)).toEqual(withoutFiles(structure));
    }
  });
});

/** Returns what a workflow says besides gates, revisions, paths, and keys that are not known. */
function withoutFiles({ revision: _, searches: __, extra: ___, ...structure }: WorkflowStructure) {
  const { dynamic } = structure;
  return {
    ...structure,
    dynamic: dynamic && { ...dynamic, templates: undefined, extra: undefined },
    phases: structure.phases.map((phase) => ({
      ...{ ...phase, file: undefined, gate: undefined, extra: undefined },
      tasks: phase.tasks.map((task) => ({ ...task, file: undefined, extra: undefined })),
    })),
  };
}

describe("loadWorkflow", () => {
  async function place(changes: Record<string, string | undefined> = {}) {
    const folder = join(await temporaryFolder(), "garden_v1");
    await writeFiles(folder, Object.fromEntries(texts(changes).map(({ path, text }) => [path, text])));
    return folder;
  }

  it("reports all problems at once, each with file, line and column", async () => {
    const folder = await place({
      "phases/1/gate-definition.yaml": gateFile("a: {type: bolean}", "b: {type: integer, validator: 'value >'}"),
      "phases/2/phase.md": undefined,
    });
    const error = await failure(loadWorkflow(folder));
    expect(error).toMatchObject({ code: "DEFINITION_INVALID", details: { workflowType: "garden_v1" } });
    for (const part of ["gate-definition.yaml:2:", "gate-definition.yaml:3:", "metadata.json:24:"]) {
      expect(error.message).toMatch(new RegExp(`${part}\\d+: error: `));
    }
  });

  it("says that there is no folder, or no workflow in it", async () => {
    const root = await temporaryFolder();
    expect((await failure(loadWorkflow(join(root, "none")))).code).toBe("FILE_NOT_FOUND");
    expect((await failure(loadWorkflow(root))).message).toContain("metadata.json: error: there is no metadata.json");
    await writeFile(join(root, "file"), "");
    expect((await failure(loadWorkflow(join(root, "file")))).code).toBe("PATH_REFUSED");
  });

  it("has the other texts as documents, but for pictures and links to what a later phase has", async () => {
    const folder = await place({
      "core/tools.md": "Spade",
      "phases/2/notes.md": "Seeds",
      "phases/1/gate-definition.yaml": gateFile("a: {type: boolean}"),
    });
    await writeFile(join(folder, "core/bed.png"), Uint8Array.of(0x89, 0x50, 0, 0xff));
    await symlink("../phases/2/notes.md", join(folder, "core/ahead.md"));
    await symlink("../phases/2/phase.md", join(folder, "core/text.md"));
    await symlink("tools.md", join(folder, "core/same.md"));
    const { documents } = await loadWorkflow(folder);
    expect(documents).toEqual({ "core/same.md": "Spade", "core/tools.md": "Spade" });
  });

  it("does not change with its folder", async () => {
    const folder = await place();
    const loaded = await loadWorkflow(folder);
    await writeFiles(folder, { "phases/1/phase.md": "# Another text" });
    expect(await loaded.text({ phase: 1 })).toBe("# Phase 1: Dig\n");
    expect(loaded.text({ phase: 9 })).toBeUndefined();
    expect(loaded.text({ template: "task" })).toBeUndefined();
  });

  it("gives phases that work in another workflow, between others and with its options", async () => {
    const schema = {
      type: "object",
      properties: { beds: { type: "integer", default: 2 }, kind: { pattern: "^[a-z]+$" } },
    };
    const loaded = await loadWorkflow(
      await place({
        "metadata.json": metadata({ options_schema: schema }),
        "phases/1/gate-definition.yaml": gateFile("depth: {type: integer, validator: value > 3}"),
        "phases/1/phase.md": "# Dig {options.beds} beds",
      }),
    );
    const [dig, ...others] = loaded.phases;
    if (dig === undefined) return expect.fail("there is no phase");
    const phases = [{ number: 0, name: "Buy", content: "# Buy" }, dig, ...others] as const;
    const own = defineWorkflow({ ...loaded.input, type: "own", phases });
    const engine = createEngine({ content: new MemoryContent({ workflows: [own] }), storage: new MemoryStorage() });
    const start = { workflowType: "own", target: "bed" };
    for (const [options, said] of [
      [{ beds: "two" }, "options.beds: "],
      [{ kind: "B2" }, 'options.kind: "B2" does not match'],
      [{ bed: 1 }, 'no option "bed"'],
    ] as const) {
      expect((await failure(engine.start({ ...start, options }))).message).toContain(said);
    }
    const { sessionId } = await engine.start({ ...start, options: { kind: "roses" } });
    const session = engine.session(sessionId);
    expect(await session.completePhase(0, {})).toMatchObject({ passed: true });
    expect((await session.phase(1)).content?.text).toBe("# Dig 2 beds");
    expect(await session.completePhase(1, { depth: 3 })).toMatchObject({ passed: false });
    expect(await session.completePhase(1, { depth: 4 })).toMatchObject({ passed: true });
    return undefined;
  });

  it("has the gates that texts and metadata ask for, and writes them into gate files", async () => {
    const checkpoint = { validators: { ripe: "lambda v: v > 2" }, verify: ["weather"] };
    const phases = [
      phase(1, { checkpoint }),
      phase(2, { required_evidence: undefined, checkpoint: { allow_override: true } }),
    ];
    const loaded = await loadWorkflow(
      await place({
        "metadata.json": metadata({ phases: [...phases, phase(3)], "x-own": { kept: true } }),
        "phases/1/phase.md": "# Dig\n\nEvidence: `done` (integer, at least 1, ripe)\n",
        "phases/3/phase.md": "# Rest\n",
        "phases/3/task-1-dig.md": "# Rest\n",
      }),
    );
    const { structure } = loaded.definition;
    expect(structure.phases.map(({ gate }) => (gate.kind === "fields" ? gate.source : gate))).toEqual([
      "document",
      { kind: "open", allowOverride: true },
      "metadata",
    ]);
    const files = await workflowToFiles(loaded);
    const content = new MemoryContent({ sources: { garden_v1: files } });
    const read = (await content.definition("garden_v1"))?.structure;
    expect(read && gatesOf(read)).toEqual(gatesOf(structure));
    expect(read?.extra).toEqual(structure.extra);
    expect(files["phases/1/gate-definition.yaml"]).toContain("- verifier: weather");
    expect(files["phases/2/gate-definition.yaml"]).toBeUndefined();
  });

  it("keeps the meaning of a lambda that differs with the type of its field", async () => {
    const rules = [
      "validators: {ripe: \"lambda v: 'red' in v\"}",
      "cross_field_validation: [\"lambda e: len(e['word']) > 2\"]",
    ];
    const fields = ["word: {type: string, validator: ripe}", "words: {type: list, validator: ripe}"];
    const loaded = await loadWorkflow(
      await place({ "phases/1/gate-definition.yaml": `${gateFile(...fields)}${rules.join("\n")}\n` }),
    );
    const inCode = defineWorkflow(loaded.input);
    for (const definition of [loaded.definition, inCode.definition]) {
      const gate = definition.structure.phases[0]?.gate;
      if (gate === undefined) return expect.fail("there is no gate");
      const rules = await compileRules(gate);
      const passed = [
        { word: "reddish", words: ["red"] },
        { word: "reddish", words: ["reddish"] },
        { word: "rosy", words: ["red"] },
      ].map((evidence) => checkGate(gate, evidence, { rules }).passed);
      expect(passed).toEqual([true, false, false]);
    }
    return undefined;
  });
});

describe("the parts of a loaded workflow", () => {
  it("mean the same phases in another workflow, by rules and checks that had numbers", async () => {
    const gatesOf = async (starter: string, before: readonly { name: string; content: string }[]) => {
      const { input, parts } = await loadWorkflow(folderOf(`starters/${starter}`));
      const { definition } = defineWorkflow({ ...input, type: "other", phases: [...before, ...parts] });
      return JSON.stringify(definition.structure.phases.map(({ gate }) => gate));
    };
    const sinceIn = (gates: string) =>
      [...gates.matchAll(/"since":\{"phase":(\d)\}/g)].map(([, phase]) => Number(phase));
    const zero = [{ name: "Zero", content: "# Zero" }];
    for (const starter of ["bug_fix", "spec_creation"]) {
      const [alone, behind] = [await gatesOf(starter, []), await gatesOf(starter, zero)];
      expect(sinceIn(behind)).toEqual(sinceIn(alone).map((phase) => phase + 1));
      expect(behind).not.toMatch(/artifacts\[\\*"\d/);
    }
    expect(sinceIn(await gatesOf("bug_fix", [])).length).toBeGreaterThan(1);
  });
});
