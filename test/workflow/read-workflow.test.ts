import { describe, expect, it } from "vitest";
import { DIAGNOSTIC_CODES } from "../../src/workflow/diagnostic.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { revisionOf } from "../../src/workflow/json.js";
import { structureSchema } from "../../src/workflow/structure.js";
import { gateFile, metadata, phase, read, texts } from "./workflow-texts.js";

describe("a valid workflow", () => {
  it("has no diagnostics, and the structure of its files", async () => {
    const { structure, lines } = await read();
    expect(lines).toEqual([]);
    expect(structureSchema.parse(structure)).toEqual(structure);
    expect(structure).toMatchObject({
      type: "garden_v1",
      version: "1.0.0",
      name: "Plant a garden",
      category: "outdoors",
      estimatedDuration: "a spring",
      startPhase: 1,
    });
    expect(structure?.phases[0]).toEqual({
      number: 1,
      name: "Part 1",
      file: "phases/1/phase.md",
      tasks: [
        { number: 1, name: "dig", file: "phases/1/task-1-dig.md", textRevision: revisionOf("# Task 1: Dig over\n") },
      ],
      gate: {
        kind: "fields",
        strict: true,
        fields: [{ name: "done", type: "any", required: true }],
        source: "metadata",
      },
      textRevision: revisionOf("# Phase 1: Dig\n"),
    });
  });

  it("keeps everything of the metadata", async () => {
    const { structure, lines } = await read({
      "metadata.json": metadata({
        version: 2,
        target_languages: ["python"],
        artifacts: ["bed.md"],
        prerequisites: ["a spade"],
        tags: ["green"],
        total_phases: 2,
        dynamic_phases: false,
        dynamic_config: { parser: "x" },
        start_phase: 2,
        phases: [
          phase(2, {
            purpose: "why",
            estimated_effort: 3,
            key_deliverables: ["a"],
            validation_criteria: ["b"],
            skippable: true,
            required_evidence: undefined,
            checkpoint: { required_evidence: ["x", "x"], allow_override: true },
            tasks: [{ task_number: 1, file: "task-1-dig.md", purpose: "because" }],
          }),
          phase(1),
        ],
      }),
    });
    expect(lines).toEqual([]);
    expect(structure).toMatchObject({
      version: "2",
      targetLanguages: ["python"],
      artifacts: ["bed.md"],
      prerequisites: ["a spade"],
      tags: ["green"],
      startPhase: 2,
      extra: { dynamic_config: { parser: "x" } },
    });
    expect(structure?.phases.map(({ number }) => number)).toEqual([1, 2]);
    expect(structure?.phases[1]).toMatchObject({
      purpose: "why",
      estimatedEffort: "3",
      keyDeliverables: ["a"],
      validationCriteria: ["b"],
      skippable: true,
      gate: { allowOverride: true, fields: [{ name: "x" }] },
      tasks: [{ name: "Rake", purpose: "because" }],
    });
  });

  it("has a revision that depends only on its content", async () => {
    const first = (await read()).structure?.revision;
    expect((await read({ "metadata.json": metadata().replaceAll("  ", "\t") })).structure?.revision).toBe(first);
    expect((await read({ "core/other.md": "not shown" })).structure?.revision).toBe(first);
    const named = metadata({ $schema: "node_modules/phasegate/schemas/metadata.json" });
    expect(await read({ "metadata.json": named })).toMatchObject({ structure: { revision: first }, lines: [] });
    expect((await read({ "phases/2/phase.md": "# Phase 2: Sow it\n" })).structure?.revision).not.toBe(first);
    expect((await read({ "metadata.json": metadata({ name: "Another" }) })).structure?.revision).not.toBe(first);
  });
});

describe("phases without a list", () => {
  const found = { "metadata.json": metadata({ phases: 2 }) };

  it("have names and tasks from the files if the metadata has a number", async () => {
    const { structure, codes } = await read({ ...found, "phases/2/task-10-sow.md": "no title" });
    expect(codes).toEqual(["warning GATE_OPEN", "warning GATE_OPEN"]);
    expect(structure?.phases.map(({ name }) => name)).toEqual(["Dig", "Sow"]);
    expect(structure?.phases[1]?.tasks.map(({ number, name }) => [number, name])).toEqual([
      [1, "Rake"],
      [10, "sow"],
    ]);
    expect(structure?.phases[0]?.gate).toEqual({ kind: "open" });
  });

  it("may start at 0 and have gaps", async () => {
    const { structure } = await read({
      "metadata.json": metadata({ phases: undefined, total_phases: 3 }),
      "phases/0/phase.md": "# Zero",
      "phases/0/task-0.md": "",
      "phases/2/phase.md": undefined,
      "phases/2/task-1-dig.md": undefined,
      "phases/12/phase.md": "no heading",
    });
    expect(structure?.phases.map(({ number, name }) => [number, name])).toEqual([
      [0, "Zero"],
      [1, "Dig"],
      [12, "Phase 12"],
    ]);
    expect(structure?.startPhase).toBe(0);
    expect(structure?.phases[0]?.tasks).toMatchObject([{ number: 0, name: "Task 0" }]);
  });

  it("are an error if there are fewer than the metadata says", async () => {
    const three = {
      "phases/2/phase.md": undefined,
      "phases/2/task-1-dig.md": undefined,
      "phases/3/phase.md": "# Three",
    };
    const { structure, diagnostics } = await read({ ...three, "metadata.json": metadata({ phases: 5 }) });
    expect(structure).toBeUndefined();
    expect(diagnostics.find(({ code }) => code === "PHASE_COUNT")).toMatchObject({
      severity: "error",
      line: 8,
      message: '"phases" is 5, but there are 2 phases',
      hint: 'Add the missing phases (there are 1, 3), or write "phases": 2.',
    });
    expect((await read({ ...three, ...found })).codes).not.toContain("error PHASE_COUNT");
    const all = Object.fromEntries(Array.from({ length: 22 }, (_, index) => [`phases/${index}/phase.md`, "# Some"]));
    const many = await read({ ...all, "metadata.json": metadata({ phases: 30 }) });
    expect(many.diagnostics.find(({ code }) => code === "PHASE_COUNT")?.hint).toContain("18, 19, …), or write");
  });

  it("are not counted if an entry of the list is invalid", async () => {
    const { codes } = await read({ "metadata.json": metadata({ total_phases: 2, phases: [phase(1), phase(-2)] }) });
    expect(codes).toEqual(["error VALUE_WRONG"]);
  });

  it("are reported if their number differs from the folders, or a text is missing", async () => {
    const { codes } = await read({ ...found, "phases/3/gate-definition.yaml": gateFile("a: {type: boolean}") });
    expect(codes).toContain("warning PHASE_COUNT");
    expect(codes).toContain("error PHASE_FILE_MISSING");
    expect((await read({ ...found, "phases/2/task-01-x.md": "" })).codes).toContain("error TASK_DUPLICATE");
  });
});

/** Changes of one file, and the expected code, severity and line. */
const CASES: [string, Record<string, string | undefined>, string][] = [
  ["no metadata.json", { "metadata.json": undefined }, "error METADATA_MISSING"],
  ["metadata that is a list", { "metadata.json": "[]" }, "error VALUE_WRONG 1:1"],
  ["broken JSON", { "metadata.json": '{\n  "name": "x",\n}' }, "error JSON_SYNTAX 3:1"],
  ["a key twice", { "metadata.json": '{\n  "name": "x",\n  "name": "y"\n}' }, "error KEY_DUPLICATE 3:3"],
  ["__proto__", { "metadata.json": '{"tags": [], "usage": {"__proto__": {}}}' }, "error NAME_RESERVED 1:24"],
  ["nesting that is too deep", { "metadata.json": "[".repeat(100_000) }, "error NESTED_TOO_DEEPLY 1:65"],
  ["no workflow_type", { "metadata.json": metadata({ workflow_type: null }) }, "error KEY_MISSING 1:1"],
  ["no name", { "metadata.json": metadata({ name: " " }) }, "error KEY_MISSING 1:1"],
  ["no description", { "metadata.json": metadata({ description: undefined }) }, "error KEY_MISSING 1:1"],
  ["no phases", { "metadata.json": metadata({ phases: undefined }) }, "error KEY_MISSING 1:1"],
  ["no category", { "metadata.json": metadata({ category: undefined }) }, "warning KEY_MISSING 1:1"],
  ["no version", { "metadata.json": metadata({ version: undefined }) }, "warning KEY_MISSING 1:1"],
  ["no duration", { "metadata.json": metadata({ estimated_duration: null }) }, "warning KEY_MISSING 1:1"],
  ["another type", { "metadata.json": metadata({ workflow_type: "x" }) }, "error WORKFLOW_TYPE_DIFFERS 2:3"],
  ["a name of the wrong kind", { "metadata.json": metadata({ name: 5 }) }, "error VALUE_WRONG 4:3"],
  ["tags that are not a list", { "metadata.json": metadata({ tags: ["a", 1] }) }, "error VALUE_WRONG"],
  ["a phase that is not an object", { "metadata.json": metadata({ phases: [phase(1), 5] }) }, "error VALUE_WRONG"],
  ["an empty list of phases", { "metadata.json": metadata({ phases: [] }) }, "error PHASES_MISSING 8:3"],
  ["phases of the wrong kind", { "metadata.json": metadata({ phases: "two" }) }, "error VALUE_WRONG 8:3"],
  ["0 phases", { "metadata.json": metadata({ phases: 0 }) }, "error VALUE_WRONG 8:3"],
  ["a total that is too high", { "metadata.json": metadata({ total_phases: 5 }) }, "error PHASE_COUNT"],
  ["a total that is too low", { "metadata.json": metadata({ total_phases: 1 }) }, "warning PHASE_COUNT"],
  ["a total of the wrong kind", { "metadata.json": metadata({ total_phases: "many" }) }, "error VALUE_WRONG"],
  ["a wrong start", { "metadata.json": metadata({ start_phase: 7 }) }, "error START_PHASE_UNKNOWN"],
  ["a start by a wrong name", { "metadata.json": metadata({ start_phase: "Part 7" }) }, "error START_PHASE_UNKNOWN"],
  ["a start of the wrong kind", { "metadata.json": metadata({ start_phase: -1 }) }, "error VALUE_WRONG"],
  ["a phase twice", { "metadata.json": metadata({ phases: [phase(1), phase(1)] }) }, "error PHASE_DUPLICATE"],
  ["a phase without number", { "metadata.json": metadata({ phases: [phase(undefined)] }) }, "error KEY_MISSING"],
  ["a number as text", { "metadata.json": metadata({ phases: [phase("1")] }) }, "error VALUE_WRONG 10:7"],
  ["an unknown key", { "metadata.json": metadata({ catgory: "x" }) }, "warning KEY_UNKNOWN"],
  ["nearly the key of a gate", listed({ requird_evidence: ["done"] }), "error KEY_UNKNOWN"],
  ["nearly the key of a checkpoint", listed({ checkpont: { required_evidence: ["done"] } }), "error KEY_UNKNOWN"],
  ["a key unlike a gate's", listed({ evidence_notes: "x" }), "warning KEY_UNKNOWN"],
  ["no phase.md", { "phases/2/phase.md": undefined }, "error PHASE_FILE_MISSING"],
  ["a phase file that leads out", listed({ phase_file: "../../secret.md" }), "error PATH_REFUSED"],
  ["a missing phase file", listed({ phase_file: "phases/1/other.md" }), "error PHASE_FILE_MISSING"],
  ["an unlisted phase", { "phases/9/phase.md": "# Nine" }, "warning PHASE_UNLISTED"],
  ["a phase without a name", { ...listed({ phase_name: null }), "phases/1/phase.md": "x" }, "warning TITLE_MISSING"],
  ["no task file", { "phases/2/task-1-dig.md": undefined }, "error TASK_FILE_MISSING"],
  ["a task file that leads out", tasks({ task_number: 1, file: "../../../x.md" }), "error PATH_REFUSED"],
  ["a task without number", tasks({ file: "task-1-dig.md" }), "error KEY_MISSING"],
  ["a task without any file", tasks({ task_number: 4 }), "error TASK_FILE_MISSING"],
  ["a task twice", tasks({ task_number: 1 }, { task_number: 1 }), "error TASK_DUPLICATE"],
  ["an unlisted task", { "phases/1/task-2-more.md": "x" }, "warning TASK_UNLISTED"],
  ["tasks of the wrong kind", listed({ tasks: [1] }), "error VALUE_WRONG"],
  ["a reserved field", listed({ required_evidence: ["constructor"] }), "error NAME_RESERVED"],
  ["a rule in metadata", listed({ checkpoint: { validators: { a: "x" } } }), "error RULE_INVALID"],
  ["a gate that asks for nothing", listed({ required_evidence: undefined }), "warning GATE_OPEN"],
  ["a file over the limit", { "core/big.md": "x".repeat(1024 * 1024 + 1) }, "error FILE_TOO_LARGE"],
  ["a file over it in bytes only", { "core/big.md": "é".repeat(600_000) }, "error FILE_TOO_LARGE"],
  ["metadata over the limit", { "metadata.json": " ".repeat(1024 * 1024 + 1) }, "error FILE_TOO_LARGE"],
  ["a byte order mark", { "phases/1/phase.md": "\uFEFF# Phase 1: Dig\n" }, "warning BOM 1:1"],
  ["a marked metadata.json", { "metadata.json": `\uFEFF${metadata()}` }, "warning BOM 1:1"],
  ["Windows line ends", { "core/x.md": "a\nb\r\nc" }, "warning CRLF 2:2"],
];

function listed(changes: Record<string, unknown>): Record<string, string> {
  return { "metadata.json": metadata({ phases: [phase(1, changes), phase(2)] }) };
}

function tasks(...entries: unknown[]): Record<string, string> {
  return listed({ tasks: entries });
}

describe("a problem of a workflow", () => {
  it.each(CASES)("%s", async (_, changes, expected) => {
    const { diagnostics, structure } = await read(changes);
    const found = diagnostics.map(({ code, severity, line, column }) => `${severity} ${code} ${line}:${column}`);
    expect(found.filter((line) => line.startsWith(expected))).not.toEqual([]);
    expect(structure === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
    for (const { code, hint } of diagnostics) {
      expect(Object.keys(DIAGNOSTIC_CODES)).toContain(code);
      expect(hint).toMatch(/\S/);
    }
  });

  it("is reported together with all others, in the order of the files, with a hint", async () => {
    const { lines } = await read({
      "metadata.json": metadata({ name: undefined, catgory: "x", total_phases: 3, category: undefined }),
      "phases/1/gate-definition.yaml": gateFile("a: {type: bolean}", "b: {type: boolean, validator: x}"),
      "phases/2/phase.md": undefined,
    });
    expect(lines).toEqual([
      'metadata.json:1:1: error: the key "name" is missing (Write "name": and what people call the workflow.)',
      'metadata.json:1:1: warning: the key "category" is missing (Write "category": "documentation", say.)',
      expect.stringMatching(/^metadata\.json:8:7: warning: gate file and metadata ask for different evidence/),
      expect.stringMatching(
        /^metadata\.json:22:7: error: phase 2 has no text.*\(Write the phase's text into phases\/2/,
      ),
      'metadata.json:36:3: warning: the key "catgory" has no meaning here (Did you mean "category"?)',
      expect.stringMatching(
        /^metadata\.json:37:3: error: "total_phases" is 3, but there are 2 phases \(Add the missing phases/,
      ),
      expect.stringMatching(
        /^phases\/1\/gate-definition\.yaml:2:7: error: there is no type "bolean".*did you mean bool/,
      ),
      expect.stringMatching(/^phases\/1\/gate-definition\.yaml:3:22: error: there is no validator "x"/),
    ]);
  });

  it.each([
    ["a flag that is a text", { phases: [phase(1, { skippable: "yes" })] }, "Write true, without quotes."],
    ["a flag that is a number", { phases: [phase(1, { skippable: 0 })] }, "Write false, without quotes."],
    ["a number below 0", { phases: [phase(-1)] }, "Write a whole number, 0 or more, without quotes, such as 1."],
    ["a number in quotes", { phases: [phase("1")] }, "Write 1, without quotes."],
    ["a phase that is a number", { phases: [1] }, 'Write keys and values in braces: {"key": "value"}.'],
    [
      "tasks that are an object",
      { phases: [phase(1, { tasks: {} })] },
      'Write objects in brackets: [{"key": "value"}].',
    ],
    [
      "phases that are a text",
      { phases: "two" },
      "Write how many folders there are below phases/, as a number without quotes, or a list",
    ],
    [
      "a total in quotes",
      { total_phases: "2" },
      "Write how many folders there are below phases/, as a number without quotes.",
    ],
    ["a text that is a number", { name: 5 }, 'Write "5".'],
    ["a text that is a list", { version: [1] }, 'Write a text in double quotes: "like this".'],
    ["a list that is a text", { tags: "green" }, 'Write ["green"].'],
    ["a list with a number", { tags: ["a", 1] }, 'Write ["a","1"].'],
    ["a list with an object", { tags: [{}] }, 'Write a list of texts: ["one", "two"].'],
  ])("has a hint: %s", async (_, changes, hint) => {
    const { diagnostics } = await read({ "metadata.json": metadata(changes) });
    expect(diagnostics.find(({ code }) => code === "VALUE_WRONG")?.hint).toContain(hint);
  });

  it("has a hint with the nearest file name of a task", async () => {
    const { diagnostics } = await read(tasks({ task_number: 1, name: "dig", file: "task-1-dog.md" }));
    expect(diagnostics[0]).toMatchObject({ code: "TASK_FILE_MISSING", hint: 'Did you mean "task-1-dig.md"?' });
  });

  it("may declare that the workflow has no target; other values are unknown keys", async () => {
    expect((await read({ "metadata.json": metadata({ target: "none" }) })).structure).toMatchObject({ target: "none" });
    const { structure, codes } = await read({ "metadata.json": metadata({ target: "src" }) });
    expect(structure).toMatchObject({ extra: { target: "src" } });
    expect(codes).toEqual(["warning KEY_UNKNOWN"]);
  });

  it("may be an unknown key, which is kept", async () => {
    const { structure, codes } = await read({
      "metadata.json": metadata({
        author: "me",
        phases: [phase(1, { mood: [1], tasks: [{ task_number: 1, colour: "red" }] }), phase(2)],
      }),
    });
    expect(codes).toEqual(["warning KEY_UNKNOWN", "warning KEY_UNKNOWN", "warning KEY_UNKNOWN"]);
    expect(structure?.extra).toEqual({ author: "me" });
    expect(structure?.phases[0]).toMatchObject({ extra: { mood: [1] }, tasks: [{ extra: { colour: "red" } }] });
  });

  it("may be a folder name that is not a type, or a file that cannot be read", async () => {
    const strange = await readWorkflow("../x", texts());
    expect(strange.diagnostics.map(({ code }) => code)).toContain("WORKFLOW_TYPE_INVALID");
    const place = { severity: "error", code: "NOT_UTF8", message: "the file is not UTF-8 text" } as const;
    const files = texts({ "phases/1/phase.md": undefined });
    const { definition, diagnostics } = await readWorkflow("garden_v1", files, [
      { file: "phases/1/phase.md", ...place },
    ]);
    expect(definition).toBeUndefined();
    expect(diagnostics.map(({ code }) => code)).toEqual(["NOT_UTF8"]);
    const none = await readWorkflow("garden_v1", [], [{ file: "metadata.json", ...place }]);
    expect(none.diagnostics.map(({ code }) => code)).toEqual(["NOT_UTF8"]);
  });

  it("contains no control characters of the files", async () => {
    const { lines } = await read({ "phases/1/gate-definition.yaml": "a: !\u009bred x" });
    expect(lines.join("\n")).not.toMatch(/\u009b/);
  });
});

describe("files in other places", () => {
  it("may be a phase's text, tasks and gate in the folder that phase_file names", async () => {
    const { structure, lines } = await read({
      ...listed({ phase_file: "phases/dig/intro.md", required_evidence: undefined, tasks: undefined }),
      "phases/1/phase.md": undefined,
      "phases/1/task-1-dig.md": undefined,
      "phases/dig/intro.md": "# Dig",
      "phases/dig/task-3-deep.md": "# Deep",
      "phases/dig/gate-definition.yml": gateFile("a: {type: boolean}"),
    });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]).toMatchObject({
      file: "phases/dig/intro.md",
      tasks: [{ number: 3, file: "phases/dig/task-3-deep.md" }],
      gate: { fields: [{ name: "a" }], source: "gate-file" },
    });
  });

  it("may be a task's file anywhere in the workflow; without a name it is found by its number", async () => {
    const { structure } = await read({
      ...tasks({ task_number: 1 }, { task_number: 2, name: "shared", file: "core/shared.md" }),
      "core/shared.md": "# Shared",
    });
    expect(structure?.phases[0]?.tasks.map(({ file }) => file)).toEqual(["phases/1/task-1-dig.md", "core/shared.md"]);
  });

  it("may be the text of a phase at the top of the folder", async () => {
    const { structure } = await read({ ...listed({ phase_file: "intro.md" }), "intro.md": "# Intro" });
    expect(structure?.phases[0]).toMatchObject({ file: "intro.md", tasks: [{ file: "phases/1/task-1-dig.md" }] });
  });
});

describe("a workflow with thousands of names", () => {
  // Far more than it takes; if each name were compared with all others, it would take several times as long.
  const GUARD = { timeout: 8000 };
  const names = Array.from({ length: 3000 }, (_, index) => `task-${index + 1}-some-name.md`);

  it("lists its tasks by their files", GUARD, async () => {
    const listed = names.map((file, index) => ({ task_number: index + 1, name: "dig", file }));
    const files = Object.fromEntries(names.map((name) => [`phases/1/${name}`, "# Dig\n"]));
    const { structure, lines } = await read({ ...tasks(...listed), "phases/1/task-1-dig.md": undefined, ...files });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]?.tasks).toHaveLength(3000);
  });

  it("names unknown options in its texts", GUARD, async () => {
    const properties = Object.fromEntries(names.slice(0, 200).map((name) => [name, { type: "string" }]));
    const changes = { options_schema: { type: "object", additionalProperties: false, properties } };
    const text = `# Phase 1: Dig\n\n${names.map((_, index) => `{options.unknown_${index}}`.repeat(10)).join("\n")}\n`;
    const { codes } = await read({ "metadata.json": metadata(changes), "phases/1/phase.md": text });
    expect(codes.filter((code) => code === "warning TEMPLATE_PLACEHOLDER_UNKNOWN")).toHaveLength(1000);
  });
});
