import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { frozenGate } from "../../src/workflow/files/write-gate.js";
import { findRequirements, readRequirements } from "../../src/workflow/infer/document-gate.js";
import { howOften } from "../support/how-often.js";
import { metadata, phase, read, texts } from "./workflow-texts.js";

const LONELY = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });

/** Returns the requirements, one per line. */
function asked(text: string): string[] {
  return findRequirements(text).requirements.map(({ field, validators, from, certainty, line }) => {
    const rules = validators.length === 0 ? "" : ` [${validators.join(" & ")}]`;
    return `${line} ${field.name}: ${field.required ? "" : "optional "}${field.type}${rules} ${from} ${certainty}`;
  });
}

describe("requirements of a phase's text", () => {
  it("are the checkboxes below a gate's heading, and no others", () => {
    const text = [
      "# Phase 1: Dig",
      "- [ ] not a requirement",
      "## Validation Gate",
      "",
      "🛑 VALIDATE-GATE: Phase 1 Checkpoint",
      "",
      "Before advancing:",
      "- [ ] All tests passing ✅/❌",
      "- [x] `INDEX.md` created with **all** documents",
      "- [ ] Optional: notes taken",
      "- not a box",
      "- [ ] ✅",
      "  - [ ] Nested, too",
      "- [ ] 完成",
      "- [ ] 完成",
      "### Depths",
      "* [ ] Deeper down",
      "## Examples of checkpoint boxes",
      "- [ ] not one of ours",
      "### Task 2: Define the checkpoint",
      "- [ ] nor this",
      "## Next",
      "- [ ] nor that",
    ].join("\n");
    expect(asked(text)).toEqual([
      "8 all_tests_passing: boolean checkbox sure",
      "9 index_md_created_with_all_documents: boolean checkbox sure",
      "10 optional_notes_taken: optional boolean checkbox sure",
      "13 nested_too: boolean checkbox sure",
      "14 item: boolean checkbox sure",
      "15 item_2: boolean checkbox sure",
      "17 deeper_down: boolean checkbox sure",
    ]);
    expect(findRequirements(text).requirements[0]?.field.description).toBe("All tests passing");
  });

  it("are values if their checkbox starts with a name", () => {
    expect(
      asked("# Checkpoint\n- [ ] `test_count`: number of tests, at least 3\n- [ ] `done`\n- [ ] `a` and `b` agree"),
    ).toEqual([
      "2 test_count: integer [value >= 3] checkbox guess",
      "3 done: string checkbox guess",
      "4 a_and_b_agree: boolean checkbox sure",
    ]);
  });

  it("are the rows of a table of evidence, by the words of its header", () => {
    const text = [
      "# Phase",
      "Some prose before",
      "| Evidence | Type | Validator | Description | Required |",
      "|:---------|------|:---------:|-------------|----------|",
      "| `function_count` | integer | `greater_than_0` | How many | yes |",
      "| **Summary text** | string | min_length_10 | What \\| was done | |",
      "| coverage | number | percent_gte_80 | | ✅ |",
      "| names | array | non-empty | must contain one | |",
      "| notes | | optional | free text | |",
      "| report | file | `file_exists` | | no |",
      "| rule | int | lambda x: x > 3 | | |",
      "| cel | int | value % 2 == 0 | | |",
      "| words | str | should be good | | |",
      "| extra | string | none | | ❌ |",
      "| | int | | | |",
      "",
      "| Evidence |",
      "|---|",
    ].join("\n");
    expect(asked(text)).toEqual([
      "5 function_count: integer [greater_than_0] table sure",
      "6 summary_text: string [min_length_10] table sure",
      "7 coverage: number [percent_gte_80] table sure",
      "8 names: list [non_empty] table guess",
      "9 notes: optional string table guess",
      "10 report: optional string [file_exists] table guess",
      "11 rule: integer [lambda x: x > 3] table sure",
      "12 cel: integer [value % 2 == 0] table sure",
      "13 words: string table guess",
      "14 extra: optional string table sure",
    ]);
    expect(findRequirements(text).requirements[1]?.field.description).toBe("What | was done");
  });

  it("are not read from other tables, unless they are below a gate's heading", () => {
    const table = "| Field | Type |\n|---|---|\n| a | int |\nb\n";
    expect(asked(`# Data model\n${table}`)).toEqual([]);
    expect(asked(`# Phase 1 Checkpoint\n${table}`)).toEqual(["4 a: integer table sure"]);
    expect(asked("# Checkpoint\n| A | B |\n|---|---|\n| 1 | 2 |")).toEqual([]);
    expect(asked("# Checkpoint\n| Evidence | B |\n|---|---|\n| 1 | 2 |")).toEqual([]);
  });

  it("are sentences with a marked name, typed by their words", () => {
    expect(
      asked(
        [
          "# Phase",
          "You must provide `function_count` (number of functions, greater than 0).",
          "You must provide nothing in particular. The count of lists is text.",
          "- Required: `functions_list`, a list that must contain every name",
          "- Required: Node 20",
          "- Must provide `a_b`, `c_d` and `plain` as flags",
          "- must provide `log_output` (may be empty)",
          "- must provide `score` of at least one",
          "- must provide `ratio` (float, more than 3)",
          "- Evidence: `at_once`",
          "## Evidence",
          "- Evidence: `here`, the command output",
          "- must provide **Test Results**, a non-zero number",
          "- must provide **!**",
          "- Required: `a_b` twice",
        ].join("\n"),
      ),
    ).toEqual([
      "2 function_count: integer [value > 0] sentence guess",
      "4 functions_list: list [non_empty] sentence guess",
      "6 a_b: boolean sentence guess",
      "6 c_d: boolean sentence guess",
      "6 plain: boolean sentence guess",
      "7 log_output: optional string sentence guess",
      "8 score: number [value >= 1] sentence guess",
      "9 ratio: number [value > 3] sentence guess",
      "10 at_once: string sentence guess",
      "12 here: string sentence guess",
      "13 test_results: integer [greater_than_0] sentence guess",
    ]);
  });

  it("never reach an object's prototype", () => {
    expect(asked("# Checkpoint\n- [ ] constructor\n- must provide `__proto__`\n- [ ] Prototype")).toEqual([
      "2 constructor_2: boolean checkbox sure",
      "4 prototype_2: boolean checkbox sure",
    ]);
  });

  it("have names of limited length, cut between words", () => {
    const [first] = findRequirements(`# Checkpoint\n- [ ] ${"word ".repeat(40)}`).requirements;
    expect(first?.field.name).toMatch(/^(word_)+word$/);
    expect(first?.field.name.length).toBeLessThanOrEqual(60);
  });

  it("are read from any text without an error", () => {
    const pieces = fc.constantFrom(
      "# Checkpoint\n",
      "- [ ] ",
      "| Evidence | Type |\n|---|---|\n",
      "| a | int |\n",
      "must provide ",
      "`x_y`",
      "\n",
      "  ",
      "> ",
      "**",
      "```\n",
      "é",
      "\\|",
      "1. ",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 25 }), (found) => {
        const names = findRequirements(found.join("")).requirements.map(({ field }) => field.name);
        expect(new Set(names).size).toBe(names.length);
      }),
      { numRuns: howOften(200, 10_000) },
    );
  });
});

describe("evidence examples of a text", () => {
  const TEXT =
    "# Checkpoint\n- must provide `count`, a number\n- must provide `names`\n- [ ] `ok`: flag\n## Evidence example\n";
  const examples = async (fence: string) => {
    const { requirements: found } = await readRequirements(TEXT + fence);
    return Object.fromEntries(found.map(({ field }) => [field.name, [field.type, field.example]]));
  };

  it.each([
    ["JSON", '```json\n{"count": 21, "names": ["a"], "ok": true}\n```'],
    ["YAML", "```yaml\nevidence:\n  count: 21\n  names: [a]\n  ok: true\n```"],
    ["a Python dict", "```python\nevidence = {\n  'count': 21,\n  'names': ['a'],  # more\n  'ok': True,\n}\n```"],
    ["a fence without a language", '```\n{"count": 21, "names": ["a"], "ok": true}\n```'],
  ])("are found in %s, and determine guessed types", async (_, fence) => {
    expect(await examples(fence)).toEqual({ count: ["integer", 21], names: ["list", ["a"]], ok: ["boolean", true] });
  });

  it("are ignored if they are not examples, or empty", async () => {
    const none = { count: ["integer", undefined], names: ["string", undefined], ok: ["boolean", undefined] };
    for (const fence of [
      "```bash\ncount: 1\n```",
      "```json\n[1]\n```",
      "```python\nprint(1)\n```",
      "```yaml\na: [\n```",
      "```py\n{'count': f()}\n```",
      '```json\n{"count": null}\n```',
    ]) {
      expect(await examples(fence)).toEqual(none);
    }
    expect((await readRequirements("# Evidence\n```json\n{}\n```")).requirements).toEqual([]);
  });

  it("do not change the type of a table, and the first one counts", async () => {
    const text =
      '# Checkpoint\n| Evidence | Type |\n|---|---|\n| count | string |\n| ok | int |\n# Evidence\n```json\n{"count": 2, "ok": 1}\n```\n```json\n{"ok": 5}\n```';
    const { requirements: found } = await readRequirements(text);
    expect(found.map(({ field }) => [field.type, field.example])).toEqual([
      ["string", undefined],
      ["integer", 1],
    ]);
  });
});

describe("the gate of a phase without a gate file", () => {
  const PHASE =
    "# Phase 1: Dig\n\n## Checkpoint\n- [ ] Soil is loose ✅/❌\n- must provide `depth`, a number greater than 20\n";

  it("comes from its text, before the metadata, and is reported with its lines", async () => {
    const { definition, diagnostics, inferred } = await readWorkflow(
      "garden_v1",
      texts({ "phases/1/phase.md": PHASE }),
    );
    expect(definition?.structure.phases[0]?.gate).toEqual({
      kind: "fields",
      strict: true,
      source: "document",
      fields: [
        { name: "soil_is_loose", type: "boolean", required: true, description: "Soil is loose" },
        {
          name: "depth",
          type: "integer",
          required: true,
          description: "must provide depth, a number greater than 20",
          rules: [{ source: "value > 20", cel: "value > 20" }],
          sample: 21,
        },
      ],
    });
    expect(inferred).toMatchObject([
      {
        file: "phases/1/phase.md",
        line: 4,
        column: 3,
        phase: 1,
        name: "soil_is_loose",
        from: "checkbox",
        certainty: "sure",
      },
      {
        line: 5,
        name: "depth",
        type: "integer",
        required: true,
        validators: ["value > 20"],
        from: "sentence",
        certainty: "guess",
      },
    ]);
    expect(diagnostics).toMatchObject([{ code: "GATE_DIFFERS", severity: "warning" }]);
    expect(diagnostics[0]?.message).toContain(
      "the phase's text counts: only the metadata has done; only the phase's text has",
    );
  });

  it("is not reported if there is a gate file", async () => {
    const files = texts({
      "phases/1/phase.md": PHASE,
      "phases/1/gate-definition.yaml": "evidence_schema: {done: {type: bool}}\n",
    });
    const { inferred, definition } = await readWorkflow("garden_v1", files);
    expect(inferred).toBeUndefined();
    expect(definition?.structure.phases[0]?.gate).toMatchObject({ source: "gate-file" });
  });

  it("is an error if a rule in its table is invalid, at its line", async () => {
    const text = "# Phase 1: Dig\n\n| Evidence | Type | Validator |\n|---|---|---|\n| depth | int | value >> 3 |\n";
    const { diagnostics, structure } = await read({ "metadata.json": LONELY, "phases/1/phase.md": text });
    expect(structure).toBeUndefined();
    expect(diagnostics).toMatchObject([{ code: "RULE_INVALID", file: "phases/1/phase.md", line: 5 }]);
  });

  it("uses what the metadata's checkpoint has besides names", async () => {
    const checkpoint = {
      strict: false,
      allow_override: true,
      cross_field_validation: ["evidence.depth < 100"],
      verify: "git_clean",
      approval: { prompt: "Deep enough?", approvers: ["ada"] },
      reveal: "names",
    };
    const json = metadata({ phases: [phase(1, { required_evidence: undefined, checkpoint }), phase(2)] });
    const { structure, lines } = await read({ "metadata.json": json, "phases/1/phase.md": PHASE });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]?.gate).toMatchObject({
      source: "document",
      strict: false,
      allowOverride: true,
      rules: [{ cel: "evidence.depth < 100" }],
      verify: [{ verifier: "git_clean", params: {} }],
      approval: { prompt: "Deep enough?", approvers: ["ada"] },
      reveal: "names",
    });
    const alone = await read({
      "metadata.json": metadata({
        phases: [phase(1, { required_evidence: undefined, checkpoint: { approval: "Well?" } }), phase(2)],
      }),
    });
    expect(alone.structure?.phases[0]?.gate).toMatchObject({
      kind: "fields",
      fields: [],
      approval: { prompt: "Well?" },
      source: "metadata",
    });
  });

  it("is frozen to a file with the same gate", async () => {
    const text = `${PHASE}\n| Evidence | Type | Validator | Description |\n|---|---|---|---|\n| plan | string | file_exists | where it lies: "here" |\n| tags | list | lambda x: len(x) > 1 | # all |\n\n## Evidence example\n\`\`\`json\n{"depth": 30, "tags": ["a: b", "- c"]}\n\`\`\`\n`;
    const checkpoint = {
      cross_field_validation: [{ rule: "lambda e: e['depth'] < 100", error_message: "too deep" }],
      verify: [{ verifier: "command", run: ["make"] }],
      approval: { prompt: "Deep enough?" },
      reveal: "names",
    };
    const json = metadata({ phases: [phase(1, { required_evidence: undefined, checkpoint }), phase(2)] });
    const first = await readWorkflow("garden_v1", texts({ "metadata.json": json, "phases/1/phase.md": text }));
    const gate = first.definition?.structure.phases[0]?.gate;
    if (gate?.kind !== "fields") throw new Error(JSON.stringify(first.diagnostics));
    const frozen = await frozenGate(gate, first.inferred ?? []);
    expect(frozen).toContain('# Read out of phases/1/phase.md by "phasegate gate freeze"');
    expect(frozen).toContain("# Guessed from line 5: depth, integer. Is it meant so?");
    expect(frozen).not.toContain("Guessed from line 4");
    const again = await read({ "metadata.json": LONELY, "phases/1/gate-definition.yaml": frozen });
    expect(again.lines).toEqual([]);
    expect(again.structure?.phases[0]?.gate).toEqual({ ...gate, source: "gate-file" });
  });

  it("is frozen with the validators that its checkpoint defines", async () => {
    const table = "| Evidence | Type | Validator | Description |\n|---|---|---|---|\n";
    const text = `${PHASE}\n${table}| depth | integer | deep | a |\n| note | string | worded, non_empty | b |\n`;
    const validators = { deep: { rule: "value > 100", error_message: "too flat" }, worded: "lambda x: 'a' in x" };
    const json = metadata({
      phases: [phase(1, { required_evidence: undefined, checkpoint: { validators } }), phase(2)],
    });
    const first = await readWorkflow("garden_v1", texts({ "metadata.json": json, "phases/1/phase.md": text }));
    const gate = first.definition?.structure.phases[0]?.gate;
    if (gate?.kind !== "fields") throw new Error(JSON.stringify(first.diagnostics));
    const frozen = await frozenGate(gate, first.inferred ?? []);
    const again = await read({ "metadata.json": LONELY, "phases/1/gate-definition.yaml": frozen });
    expect(again.lines).toEqual([]);
    expect(again.structure?.phases[0]?.gate).toEqual({ ...gate, source: "gate-file" });
  });
});
