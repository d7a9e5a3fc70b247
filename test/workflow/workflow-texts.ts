import { formatDiagnostic } from "../../src/workflow/diagnostic.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";

/** A JSON value, loosely typed for tests. */
type Loose = Record<string, unknown>;

/** Returns metadata.json of a small, valid workflow with two listed phases; `changes` replaces some keys. */
export function metadata(changes: Loose = {}): string {
  const whole = {
    workflow_type: "garden_v1",
    version: "1.0.0",
    name: "Plant a garden",
    description: "From bare soil to the first leaf",
    category: "outdoors",
    estimated_duration: "a spring",
    phases: [phase(1), phase(2)],
    ...changes,
  };
  return JSON.stringify(whole, null, 2);
}

/** Returns an entry of the list of phases. */
export function phase(number: unknown, changes: Loose = {}): Loose {
  return {
    phase_number: number,
    phase_name: `Part ${String(number)}`,
    required_evidence: ["done"],
    tasks: [{ task_number: 1, name: "dig", file: "task-1-dig.md" }],
    ...changes,
  };
}

/** Returns the texts of that workflow; `changes` replaces some, or removes them with `undefined`. */
export function texts(changes: Record<string, string | undefined> = {}): { path: string; text: string }[] {
  const whole: Record<string, string | undefined> = {
    "metadata.json": metadata(),
    "phases/1/phase.md": "# Phase 1: Dig\n",
    "phases/1/task-1-dig.md": "# Task 1: Dig over\n",
    "phases/2/phase.md": "# Phase 2: Sow\n",
    "phases/2/task-1-dig.md": "# Task 1: Rake\n",
    ...changes,
  };
  return Object.entries(whole).flatMap(([path, text]) => (text === undefined ? [] : [{ path, text }]));
}

/** Reads the workflow with changes, and returns diagnostics as `CODE severity place`. */
export async function read(changes: Record<string, string | undefined> = {}) {
  const { definition, diagnostics } = await readWorkflow("garden_v1", texts(changes));
  return {
    structure: definition?.structure,
    diagnostics,
    codes: diagnostics.map(({ code, severity }) => `${severity} ${code}`),
    lines: diagnostics.map(formatDiagnostic),
  };
}

/** Returns a gate file with the fields given as YAML lines below `evidence_schema`. */
export function gateFile(...fields: string[]): string {
  return ["evidence_schema:", ...fields.map((line) => `  ${line}`), ""].join("\n");
}
