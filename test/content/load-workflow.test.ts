import { readdirSync } from "node:fs";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage, type Workflow } from "phasegate";
import { workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import type { GateDefinition, WorkflowStructure } from "../../src/workflow/structure.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { FOLDERS } from "../workflow/workflow-folders.js";

/** Returns the gates of a workflow as code can say them: without their place, and without generated examples. */
function gatesOf({ phases, dynamic }: WorkflowStructure) {
  return { gates: phases.map(({ number, gate }) => [number, sayable(gate)]), ofPlan: dynamic?.verify };
}

function sayable(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { source: _, ...asked } = gate;
  return { ...asked, fields: gate.fields.map(({ sample: __, ...field }) => field) };
}

describe.each(FOLDERS)("the workflow in %s", (folder) => {
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
