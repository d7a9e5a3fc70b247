import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { hasErrors } from "../../src/workflow/diagnostic.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { findRequirements } from "../../src/workflow/infer/document-gate.js";
import { CORPUS, skipReason } from "./corpus-workflow.js";

const REASON = skipReason("spec_creation_v1", "spec_execution_v1");

function filesOf(type: string) {
  const root = join(CORPUS, type);
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(root, path)).isFile())
    .map((path) => ({ path: path.split(sep).join("/"), text: readFileSync(join(root, path), "utf8") }));
}

describe.skipIf(REASON !== "")(`workflows from real projects${REASON}`, () => {
  it("are read: six phases, starting with 0", async () => {
    const { definition, diagnostics } = await readWorkflow("spec_creation_v1", filesOf("spec_creation_v1"));
    expect(hasErrors(diagnostics)).toBe(false);
    const phases = definition?.structure.phases ?? [];
    expect(definition?.structure.startPhase).toBe(0);
    expect(
      phases.map(({ number, tasks, gate }) => [number, tasks.length, gate.kind === "fields" && gate.fields.length]),
    ).toEqual([
      [0, 4, 7],
      [1, 5, 8],
      [2, 6, 8],
      [3, 5, 7],
      [4, 4, 6],
      [5, 3, 7],
    ]);
    for (const { gate } of phases) {
      expect(gate).toMatchObject({ kind: "fields", strict: false, allowOverride: true, source: "gate-file" });
      expect(gate.kind === "fields" && gate.fields.every(({ type }) => type === "boolean")).toBe(true);
    }
    const optional = phases
      .flatMap(({ gate }) => (gate.kind === "fields" ? gate.fields : []))
      .filter((field) => !field.required);
    expect(optional.map(({ name }) => name)).toEqual(["supporting_docs_referenced"]);
    expect(phases[0]?.tasks[0]).toMatchObject({ number: 0, name: "create-directory" });
    expect(phases[0]).toMatchObject({ skippable: true, name: "Supporting Documents Integration" });
  });

  it("are read: phases from a plan, and one placeholder that nothing fills", async () => {
    const { definition, diagnostics } = await readWorkflow("spec_execution_v1", filesOf("spec_execution_v1"));
    expect(hasErrors(diagnostics)).toBe(false);
    expect([...new Set(diagnostics.map(({ code, file }) => `${code} ${file}`))]).toEqual([
      "KEY_MISSING metadata.json",
      "KEY_UNKNOWN metadata.json",
      "TEMPLATE_PLACEHOLDER_UNKNOWN phases/dynamic/task-template.md",
    ]);
    expect(diagnostics.at(-1)).toMatchObject({ line: 74, message: expect.stringContaining("[TASK_STEPS or general") });
    expect(definition?.structure).toMatchObject({
      startPhase: 0,
      phases: [{ number: 0, tasks: [{ number: 1 }, { number: 2 }, { number: 3 }] }],
      dynamic: {
        parser: "spec_tasks_parser",
        sourcePathKey: "spec_path",
        templates: { phase: "phases/dynamic/phase-template.md", task: "phases/dynamic/task-template.md" },
        enforceDependencies: false,
        tickCriteria: false,
      },
    });
  });

  it("are read: one claim for each checkbox of a phase's text, and nothing else", () => {
    for (const type of ["spec_creation_v1", "spec_execution_v1"]) {
      const phases = filesOf(type).filter(({ path }) => /^phases\/\d+\/phase\.md$/.test(path));
      expect(phases.length).toBeGreaterThan(0);
      for (const { text } of phases) {
        const { requirements, faults } = findRequirements(text);
        const boxes = text
          .split("\n")
          .flatMap((line) => /^- \[ \] (.*?) ✅\/❌$/.exec(line)?.[1]?.replaceAll("`", "") ?? []);
        expect(requirements.map(({ field }) => field.description)).toEqual(boxes);
        expect(requirements.every(({ field, certainty }) => field.type === "boolean" && certainty === "sure")).toBe(
          true,
        );
        // The only sentence with "must provide" is about the system to be built.
        expect(faults.map(({ code }) => code)).toEqual(text.includes("must provide") ? ["REQUIREMENT_UNCLEAR"] : []);
      }
    }
  });
});
