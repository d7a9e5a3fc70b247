import { join } from "node:path";
import { defineWorkflow, MemoryContent, type WorkflowInput } from "phasegate";
import { workflowToFiles } from "phasegate/compose";
import { FileContent } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";

const BASE = { type: "garden", revision: "1", name: "Garden", description: "A test" };

function garden(...phases: Omit<WorkflowInput["phases"][number], "number">[]) {
  return defineWorkflow({ ...BASE, phases: phases.map((phase, index) => ({ number: index + 1, ...phase })) });
}

/** Returns the problems of a workflow that files can't hold. */
async function refusedFor(workflow: Parameters<typeof workflowToFiles>[0]) {
  const error = await failure(workflowToFiles(workflow));
  if (error.code !== "DEFINITION_INVALID") throw error;
  return error.details.diagnostics;
}

describe("workflowToFiles", () => {
  it("writes a folder that people can read", async () => {
    const workflow = defineWorkflow({
      ...BASE,
      phases: [
        {
          number: 1,
          name: "Dig",
          content: async () => "# Dig\r\n",
          tasks: [{ name: "Look", content: "# Look" }],
          gate: {
            fields: {
              depth: { type: "integer", validator: ["greater_than_0", "shallow"], validatorParams: { limit: 50 } },
              notes: { type: "string", validator: "file_exists" },
            },
            validators: { shallow: { rule: "value < params.limit", errorMessage: "too deep" } },
            crossFieldValidation: ["evidence.depth != 13"],
            verify: [{ verifier: "weather", params: { at: "noon" } }],
            approval: { prompt: "Deep enough?" },
          },
        },
        { number: 3, name: "Rest", content: "# Rest" },
      ],
      documents: { "core/soil.md": "Clay" },
    });
    const files = await workflowToFiles(workflow);
    expect(Object.keys(files)).toEqual([
      "phases/1/phase.md",
      "phases/1/task-1.md",
      "phases/3/phase.md",
      "core/soil.md",
      "phases/1/gate-definition.yaml",
      "phases/3/gate-definition.yaml",
      "metadata.json",
    ]);
    expect(files["phases/1/phase.md"]).toBe("# Dig\r\n");
    expect(files["phases/3/gate-definition.yaml"]).toBe("gate: none\n");
    expect(files["phases/1/gate-definition.yaml"]).toBe(
      [
        "checkpoint:",
        "  strict: true",
        "  allow_override: false",
        "evidence_schema:",
        "  depth:",
        "    type: integer",
        "    required: true",
        "    validator:",
        "      - greater_than_0",
        "      - shallow",
        "    validator_params:",
        "      limit: 50",
        "  notes:",
        "    type: string",
        "    required: true",
        "    verify:",
        "      - verifier: file_exists",
        "validators:",
        "  shallow:",
        "    rule: value < params.limit",
        "    error_message: too deep",
        "cross_field_validation:",
        "  - rule: evidence.depth != 13",
        "verify:",
        "  - verifier: weather",
        "    at: noon",
        "approval:",
        "  prompt: Deep enough?",
        "",
      ].join("\n"),
    );
    const root = await temporaryFolder();
    await writeFiles(join(root, "garden"), files);
    const onDisk = await new FileContent({ roots: [root] }).definition("garden");
    const inMemory = await new MemoryContent({ sources: { garden: files } }).definition("garden");
    expect(onDisk?.structure).toEqual(inMemory?.structure);
  });

  it("names everything that files can't say", async () => {
    const schemas = defineWorkflow({
      ...BASE,
      options: { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } },
      phases: [
        { number: 1, name: "One", content: "# One", gate: { evidence: z.object({ done: z.boolean() }) } },
        { number: 2, name: "Two", content: "# Two", gate: { fields: { done: { type: "boolean" } } } },
        { number: 3, name: "Three", content: "# Three", gate: { evidence: z.object({}) } },
      ],
      documents: { "phases/2/phase.md": "another text", "core/a.md": "\uFEFFmarked" },
    });
    const withoutText = {
      ...schemas,
      documents: { ...schemas.documents, "../outside.md": "" },
      text: (part: object) => ("phase" in part && part.phase === 3 ? undefined : "# Two"),
    };
    expect(await refusedFor(withoutText)).toEqual([
      "phase 1: its gate is a schema in code; write its fields and rules instead",
      "phase 3: its gate is a schema in code; write its fields and rules instead",
      "the schema of the options has no JSON Schema",
      "phase 3 has no text",
      'two different texts belong into "phases/2/phase.md"',
      '"core/a.md" would begin with a byte order mark, which readers drop',
      "\"../outside.md\" is not a path such as 'core/template.md'",
    ]);
  });

  it("refuses what is read in another way, with its place", async () => {
    const fields = { "a b": { type: "string", example: null }, n: { type: "integer" } } as const;
    const verify = [{ verifier: "own", params: { verifier: "other" } }];
    const workflow = garden({ name: "One", content: "# One", gate: { fields, verify } }, { name: " ", content: "#" });
    expect(await refusedFor(workflow)).toEqual([
      "phases[0].gate.fields[0].example is null, and would be read as nothing",
      'phases[0].gate.verify[0].params.verifier is "other", and would be read as nothing',
      'phases[0].gate.verify[0].verifier is "own", and would be read as "other"',
      'phases[1].name is " ", and would be read as "Phase 2"',
    ]);
  });

  it("refuses what a reader of the files would refuse, with file, line and column", async () => {
    const broken = garden({
      name: "One",
      content: "# One",
      gate: { fields: { n: { type: "integer", validator: "value >" } } },
    });
    expect(await refusedFor(broken)).toEqual([
      expect.stringMatching(/^phases\/1\/gate-definition\.yaml:\d+:\d+: error: the rule "value >"/),
    ]);
  });

  it("keeps the name of a rule that has a message, and a check of a field before those of the gate", async () => {
    const gate = {
      fields: { n: { type: "integer", validator: "value > 3" } },
      validators: { "value > 3": { rule: "value > 3", errorMessage: "too few" } },
      verify: [{ verifier: "whole" }, { verifier: "part", field: "n", waivable: false }],
    } as const;
    const files = await workflowToFiles(garden({ name: "One", content: "# One", gate }));
    const read = await new MemoryContent({ sources: { garden: files } }).definition("garden");
    expect(read?.structure.phases[0]?.gate).toMatchObject({
      fields: [{ rules: [{ source: "value > 3", cel: "value > 3", message: "too few" }] }],
      verify: [{ verifier: "part", field: "n", waivable: false }, { verifier: "whole" }],
    });
  });

  it("rejects with what a function of a text throws", async () => {
    const content = () => Promise.reject(new RangeError("no text today"));
    await expect(workflowToFiles(garden({ name: "One", content }))).rejects.toThrow(RangeError);
  });
});
