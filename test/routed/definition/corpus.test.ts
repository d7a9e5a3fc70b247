import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readRoutedWorkflow } from "../../../src/workflow/files/routed-workflow.js";
import { CORPUS as PHASED } from "../../workflow/corpus-workflow.js";
import { FolderOfTexts } from "./folder-of-texts.js";

const CORPUS = join(PHASED, "../../orchestrator");
const REASON = existsSync(CORPUS)
  ? ""
  : " (skipped: ../shared/corpus/orchestrator is not there, which is no part of the repository)";
if (REASON !== "") console.warn(REASON);

const expectedSchema = z.record(
  z.string(),
  z.object({ steps: z.array(z.tuple([z.string(), z.string()])), goal_begins: z.string() }),
);

function textsOf(root: string): FolderOfTexts {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
  return new FolderOfTexts(
    Object.fromEntries(files.map((path) => [path.split(sep).join("/"), readFileSync(join(root, path), "utf8")])),
  );
}

describe.skipIf(REASON !== "")(`routed workflows that people use${REASON}`, () => {
  const expected =
    REASON === "" ? expectedSchema.parse(JSON.parse(readFileSync(join(CORPUS, "expected.json"), "utf8"))) : {};
  const source = REASON === "" ? textsOf(join(CORPUS, "workflows")) : new FolderOfTexts({});

  it.each(Object.entries(expected))(
    "%s has the expected steps, goal and sections",
    async (name, { steps, goal_begins }) => {
      const { definition } = await readRoutedWorkflow(name, source);
      expect(definition?.steps.map((step) => [step.name, step.file])).toEqual(steps);
      expect(definition?.goal?.startsWith(goal_begins)).toBe(true);
      for (const step of definition?.steps ?? []) {
        expect(step.guidance).not.toBe("");
        expect(step.content).toContain(step.instructions);
      }
    },
  );

  it("are reported with the steps and files that they name but lack", async () => {
    const read = Object.keys(expected).map((name) => readRoutedWorkflow(name, source));
    const found = (await Promise.all(read)).flatMap(({ diagnostics }) => diagnostics);
    expect(found.every(({ severity }) => severity === "warning")).toBe(true);
    const dangling = found.filter(({ code }) => code === "STEP_UNKNOWN" || code === "LINK_MISSING");
    expect(dangling.map(({ file, line }) => [file, line])).toEqual([
      ["steps/greet.md", 5],
      ["steps/check_old_references.md", 24],
      ["steps/check_old_references.md", 25],
    ]);
    // Names that the engine reads anyway are no warnings.
    expect(found).toHaveLength(dangling.length);
  });
});
