import { join } from "node:path";
import { defineWorkflow, MemoryContent } from "phasegate";
import { extendWorkflow, workflowToFiles } from "phasegate/compose";
import { loadWorkflow } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import {
  approvalSchema,
  fieldGateSchema,
  fieldSchema,
  type GateDefinition,
  ruleSchema,
  verifySchema,
} from "../../src/workflow/gate-definition.js";
import type { WorkflowStructure } from "../../src/workflow/structure.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** A gate with every key that a gate file can have. A new key belongs here, too: the tests below then say where it is lost. */
const GATE = `
checkpoint: {strict: false, allow_override: true}
evidence_schema:
  count:
    type: integer
    required: false
    description: how many
    example: 3
    allow_example: true
    waivable: false
    validator: few
    validator_params: {limit: 9}
    verify: {verifier: file_exists, path: a.md, description: there, waivable: false}
validators: {few: {rule: value < params.limit, error_message: too many}}
cross_field_validation: [{rule: evidence.count > 0, error_message: nothing}]
verify: [{verifier: git_clean, description: clean, waivable: false}]
approval: {prompt: Is it good?, approvers: [ann]}
reveal: names
`;
const metadata = {
  version: "1",
  name: "Base",
  description: "A base",
  phases: [{ phase_number: 1, phase_name: "One" }],
};
const BASE = {
  "metadata.json": JSON.stringify({ workflow_type: "base", ...metadata }),
  "phases/1/phase.md": "# One",
  "phases/1/gate-definition.yaml": GATE,
};
/** What no file says: where a gate was found, values that are made, and what is set in the copy that judges evidence. */
const UNSAID: ReadonlySet<string> = new Set(["source", "sample", "waived", "proofs"]);

function gateOf({ phases }: WorkflowStructure): GateDefinition | undefined {
  return phases[0]?.gate;
}
const read = async (sources: Record<string, Record<string, string>>, type: string) => {
  const definition = await new MemoryContent({ sources }).definition(type);
  return definition && gateOf(definition.structure);
};
const base = await read({ base: BASE }, "base");
if (base?.kind !== "fields") throw new Error("the gate was not read");

describe("a gate with every key", () => {
  it("is read with all of them", () => {
    const said = (shape: object) => Object.keys(shape).filter((key) => !UNSAID.has(key));
    const [field] = base.fields;
    expect(Object.keys(base)).toEqual(expect.arrayContaining(said(fieldGateSchema.shape)));
    expect(Object.keys(field ?? {})).toEqual(expect.arrayContaining(said(fieldSchema.shape)));
    expect(Object.keys(field?.rules?.[0] ?? {})).toEqual(expect.arrayContaining(said(ruleSchema.shape)));
    expect(Object.keys(base.verify?.[0] ?? {})).toEqual(expect.arrayContaining(said(verifySchema.shape)));
    expect(Object.keys(base.approval ?? {})).toEqual(expect.arrayContaining(said(approvalSchema.shape)));
  });

  it("is kept by a folder that extends its workflow", async () => {
    const own = { "metadata.json": JSON.stringify({ workflow_type: "own", extends: "base", name: "Own" }) };
    expect(await read({ base: BASE, own }, "own")).toEqual(base);
  });

  it("is kept by a folder that adds a field to it", async () => {
    const own = {
      "metadata.json": JSON.stringify({ workflow_type: "own", extends: "base", phases: [{ change: "One" }] }),
      "phases/one/gate-definition.yaml": "evidence_schema: {more: {type: boolean}}\n",
    };
    const gate = await read({ base: BASE, own }, "own");
    expect(gate).toEqual({ ...base, fields: [...base.fields, expect.objectContaining({ name: "more" })] });
  });

  it("is kept by a workflow in code, by what extends that, and by the files that are written of it", async () => {
    const folder = await temporaryFolder();
    await writeFiles(folder, Object.fromEntries(Object.entries(BASE).map(([path, text]) => [`base/${path}`, text])));
    const loaded = await loadWorkflow(join(folder, "base"));
    expect(gateOf(defineWorkflow({ ...loaded.input }).definition.structure)).toEqual(base);
    const extended = await extendWorkflow(loaded, { type: "own", revision: "1" });
    expect(gateOf(extended.definition.structure)).toEqual(base);
    expect(await read({ base: await workflowToFiles(loaded) }, "base")).toEqual(base);
  });
});
