import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { PHASE_PLACEHOLDERS, TASK_PLACEHOLDERS } from "../../src/workflow/placeholders.js";
import { read } from "./workflow-texts.js";

const pageOf = (name: string) => readFile(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
const page = await pageOf("workflows");

/** Returns the keys of the table below a heading, with their examples. */
function table(heading: string): Record<string, unknown> {
  const [, below = ""] = page.split(`\n### ${heading}\n`);
  const [section = ""] = below.split("\n#");
  const rows = [...section.matchAll(/^\| `(\w+)` \| `(.+?)` \|/gm)];
  return Object.fromEntries(rows.map(([, key = "", example = ""]) => [key, JSON.parse(example)]));
}

const workflow = table("The workflow");
const phase = table("A phase");
const task = table("A task");
const config = table("dynamic_config");
const json = (...parts: Record<string, unknown>[]) => JSON.stringify(Object.assign({}, ...parts));

describe("docs/workflows.md", () => {
  it("names only keys that metadata.json has, with valid examples", async () => {
    const { codes, structure } = await read({ "metadata.json": json(workflow) });
    // For the phases, which only the files describe here.
    expect(codes).toEqual(["warning GATE_OPEN", "warning GATE_OPEN"]);
    expect(structure).toMatchObject({ startPhase: 1, targetLanguages: ["typescript"], tags: ["soil"] });
    expect(structure).not.toHaveProperty("extra");
  });

  it("names the keys of a phase and a task", async () => {
    const phases = [{ ...phase, tasks: [task] }];
    const metadata = json(workflow, { phases, total_phases: 1 });
    const none = { "phases/2/phase.md": undefined, "phases/2/task-1-dig.md": undefined };
    const { lines, structure } = await read({ "metadata.json": metadata, ...none });
    expect(lines).toEqual([]);
    expect(structure?.phases).toMatchObject([{ name: "Dig", skippable: true, tasks: [{ number: 1, name: "dig" }] }]);
    expect(structure?.phases[0]).not.toHaveProperty("extra");
    expect(structure?.phases[0]?.tasks[0]).not.toHaveProperty("extra");
  });

  it("names the keys of dynamic_config, and docs/dialects.md every placeholder", async () => {
    const dynamic = { dynamic_phases: true, total_phases: "dynamic", dynamic_config: config };
    const of = (names: readonly string[]) => names.map((name) => `[${name}]`).join(" ");
    const { codes, structure } = await read({
      "metadata.json": json(workflow, dynamic),
      "phases/dynamic/phase-template.md": of(PHASE_PLACEHOLDERS),
      "phases/dynamic/task-template.md": of(TASK_PLACEHOLDERS),
    });
    expect(codes).toEqual(["warning GATE_OPEN", "warning GATE_OPEN"]);
    expect(structure?.dynamic).not.toHaveProperty("extra");
    const dialects = await pageOf("dialects");
    for (const name of [...PHASE_PLACEHOLDERS, ...TASK_PLACEHOLDERS]) expect(dialects).toContain(`\`[${name}]\``);
  });
});
