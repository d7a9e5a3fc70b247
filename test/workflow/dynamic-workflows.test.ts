import { describe, expect, it } from "vitest";
import { revisionOf } from "../../src/workflow/json.js";
import { structureSchema } from "../../src/workflow/structure.js";
import { gateFile, metadata, phase, read } from "./workflow-texts.js";

const PHASE = "phases/dynamic/phase-template.md";
const TASK = "phases/dynamic/task-template.md";
const TEMPLATES = { [PHASE]: "# [PHASE_NAME]\n", [TASK]: "# [TASK_NAME]\n" };
const CONFIG = { source_path_key: "spec_path" };
const DEFAULTS = {
  parser: "spec_tasks_parser",
  sourcePathKey: "spec_path",
  templates: { phase: PHASE, task: TASK },
  templateRevisions: { phase: revisionOf("# [PHASE_NAME]\n"), task: revisionOf("# [TASK_NAME]\n") },
  enforceDependencies: false,
  tickCriteria: false,
};

/** Reads the small workflow with phases of a plan after its own two. */
function readDynamic(changes: Record<string, unknown>, files: Record<string, string | undefined> = {}) {
  return read({
    "metadata.json": metadata({ dynamic_phases: true, dynamic_config: CONFIG, ...changes }),
    ...TEMPLATES,
    ...files,
  });
}

describe("phases of a plan", () => {
  it.each([
    ["a flag", { dynamic_phases: true }],
    ["a total", { dynamic_phases: undefined, total_phases: "dynamic" }],
    ["an entry", { dynamic_phases: undefined, phases: [phase(1), phase(2), { phase_number: "1-N", purpose: "x" }] }],
    ["all of them", { total_phases: "dynamic", phases: [phase(1), phase(2), { phase_number: "dynamic" }] }],
  ])("are declared by %s", async (_, changes) => {
    const { structure, lines } = await readDynamic(changes);
    expect(lines).toEqual([]);
    expect(structure?.phases.map(({ number }) => number)).toEqual([1, 2]);
    expect(structure?.dynamic).toEqual(DEFAULTS);
    expect(structure).not.toHaveProperty("extra");
    expect(structureSchema.parse(structure)).toEqual(structure);
  });

  it("may be the only phases", async () => {
    const none = { "phases/1/phase.md": undefined, "phases/2/phase.md": undefined };
    const files = { ...none, "phases/1/task-1-dig.md": undefined, "phases/2/task-1-dig.md": undefined };
    for (const phases of [[{ phase_number: "1-N" }], [], undefined]) {
      const { structure, lines } = await readDynamic({ phases }, files);
      expect(lines).toEqual([]);
      expect(structure).toMatchObject({ phases: [], startPhase: 1, dynamic: DEFAULTS });
    }
    expect((await readDynamic({ phases: [], start_phase: 1 }, files)).lines).toEqual([]);
    expect((await readDynamic({ phases: [], start_phase: 2 }, files)).codes).toEqual(["error START_PHASE_UNKNOWN"]);
    expect((await readDynamic({ phases: 1 }, files)).codes).toContain("error PHASES_MISSING");
  });

  it("are configured by dynamic_config", async () => {
    const { structure, codes } = await readDynamic(
      {
        dynamic_config: {
          source_type: "spec_tasks_md",
          source_path_key: "plan",
          templates: { phase: "a/p.md", task: "./a/t.md", gate: "x" },
          parser: "own",
          enforce_dependencies: true,
          tick_criteria: true,
          mood: 1,
        },
      },
      { "a/p.md": "", "a/t.md": "" },
    );
    expect(codes).toEqual(["warning KEY_UNKNOWN", "warning KEY_UNKNOWN"]);
    expect(structure?.dynamic).toEqual({
      parser: "own",
      sourcePathKey: "plan",
      templates: { phase: "a/p.md", task: "a/t.md" },
      templateRevisions: { phase: revisionOf(""), task: revisionOf("") },
      enforceDependencies: true,
      tickCriteria: true,
      extra: { mood: 1 },
    });
    const bySource = await readDynamic({ dynamic_config: { source_type: "tasks_json" } });
    expect(bySource.structure?.dynamic?.parser).toBe("tasks_json");
  });

  it("have another revision with another template", async () => {
    const first = (await readDynamic({})).structure?.revision;
    expect((await readDynamic({}, { [TASK]: "# Other" })).structure?.revision).not.toBe(first);
  });

  it.each([
    ["no dynamic_config", { dynamic_config: undefined }, {}, "warning KEY_MISSING 1:1"],
    ["a config of the wrong kind", { dynamic_config: 1 }, {}, "error VALUE_WRONG 39:3"],
    ["a total next to the flag", { total_phases: 3 }, {}, "warning DYNAMIC_CONTRADICTS 42:3"],
    ["a flag that says no", { dynamic_phases: false, total_phases: "dynamic" }, {}, "error DYNAMIC_CONTRADICTS 42:3"],
    [
      "an entry where the flag says no",
      { dynamic_phases: false, phases: [phase(1), phase(2), { phase_number: "1-N" }] },
      {},
      "error DYNAMIC_CONTRADICTS 38:7",
    ],
    ["a config that nothing asks for", { dynamic_phases: undefined }, {}, "warning DYNAMIC_CONTRADICTS 38:3"],
    ["no template", {}, { [PHASE]: undefined }, "error TEMPLATE_MISSING 39:3"],
    [
      "a named template that is missing",
      { dynamic_config: { templates: { task: "t.md" } } },
      {},
      "error TEMPLATE_MISSING 41:7",
    ],
    [
      "a template that leads out",
      { dynamic_config: { templates: { task: "../t.md" } } },
      {},
      "error PATH_REFUSED 41:7",
    ],
    [
      "evidence for all of them",
      { phases: [phase(1), phase(2), { phase_number: "1-N", required_evidence: ["x"] }] },
      {},
      "warning KEY_UNKNOWN 39:7",
    ],
    [
      "a gate file next to the templates",
      {},
      { "phases/dynamic/gate-definition.yaml": gateFile("a: {type: boolean}") },
      "error GATE_FILE_MISNAMED",
    ],
    ["a start phase that is not static", { start_phase: 3 }, {}, "error START_PHASE_UNKNOWN"],
  ])("are reported: %s", async (_, changes, files, expected) => {
    const { diagnostics, structure } = await readDynamic(changes, files);
    const found = diagnostics.map(({ code, severity, line, column }) => `${severity} ${code} ${line}:${column}`);
    expect(found).toEqual([expect.stringContaining(expected)]);
    expect(structure === undefined).toBe(expected.startsWith("error"));
  });

  it("require their templates, with a hint", async () => {
    const { lines } = await readDynamic({}, { [TASK]: undefined });
    expect(lines[0]).toContain(`there is no "${TASK}" (Write it, as a .md file, or name another one`);
  });
});

describe("placeholders in templates", () => {
  it("are reported if they have no value", async () => {
    const { diagnostics } = await readDynamic(
      {},
      { [PHASE]: "# [PHASE_NAME]\n\n[TASK_NAME] [PHASE_NAM]", [TASK]: "[X1] [TASK_STEPS or more]" },
    );
    expect(diagnostics.map(({ code, severity, file, line, column }) => [severity, code, file, line, column])).toEqual([
      ["warning", "TEMPLATE_PLACEHOLDER_UNKNOWN", PHASE, 3, 1],
      ["warning", "TEMPLATE_PLACEHOLDER_UNKNOWN", PHASE, 3, 13],
      ["warning", "TEMPLATE_PLACEHOLDER_UNKNOWN", TASK, 1, 1],
      ["warning", "TEMPLATE_PLACEHOLDER_UNKNOWN", TASK, 1, 6],
    ]);
    expect(diagnostics.map(({ hint }) => hint)).toEqual([
      expect.stringContaining("PHASE_NAME"),
      "Did you mean [PHASE_NAME]?",
      expect.stringContaining("TASK_ID, TASK_NAME"),
      expect.stringContaining("TASK_ID, TASK_NAME"),
    ]);
    expect(diagnostics.at(-1)?.message).toBe(
      'nothing fills "[TASK_STEPS or more]" in a template of tasks, so it is left out of the text',
    );
  });

  it("do not include prose, ticks and links in brackets", async () => {
    const prose =
      '- [X] [N.1] [list of files] [number]/[number] [N] [DEPENDENCIES or "None"] [PASS or FAIL] [README](x.md) [a]';
    expect((await readDynamic({}, { [PHASE]: prose, [TASK]: prose, "x.md": "" })).lines).toEqual([]);
  });
});

describe("a structure without phases", () => {
  it("is valid only before its plan is read", async () => {
    const { structure } = await readDynamic({});
    const plan = { path: "tasks.md", hash: "x", dialect: "praxis-os", shift: 0 };
    expect(structureSchema.safeParse({ ...structure, phases: [] }).success).toBe(true);
    expect(structureSchema.safeParse({ ...structure, phases: [], plan }).success).toBe(false);
    expect(structureSchema.safeParse({ ...structure, phases: [], dynamic: undefined }).success).toBe(false);
  });
});
