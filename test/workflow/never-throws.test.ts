import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createReport } from "../../src/workflow/report.js";
import { readYaml } from "../../src/workflow/yaml.js";
import { howOften } from "../support/how-often.js";
import { gateFile, metadata, phase, read } from "./workflow-texts.js";

const FIELDS = gateFile("a: &a {type: boolean, example: [1]}", "b: *a", 'c: {type: "str"}');
const RULES = [
  "  d: {type: int, validator: [mine, \"lambda x, p: 0 < x <= p['max']\"], validator_params: {max: 9}, verify: file_exists}",
  'validators: {mine: {rule: "value > 0 || value < -9", error_message: no}}',
  "cross_field_validation: [\"lambda e: e['d'] > 1\", {rule: has(evidence.c)}]",
  "verify: [git_clean, {verifier: command, run: [x]}]",
  "approval: {prompt: Well?, approvers: [a]}",
  "reveal: names",
];
const GATE = `checkpoint: {strict: true}\n${FIELDS}${RULES.join("\n")}\n`;
const TEXT =
  "# Phase 1\n## Checkpoint\n- [ ] dug\n| Evidence | Type | Validator |\n|---|---|---|\n| `depth` | int | value > 3 |\n";
const META = metadata({
  phases: [phase(1, { checkpoint: { required_evidence: ["x"] } }), { phase_number: "1-N" }],
  tags: ["t"],
  dynamic_config: { parser: "x", templates: { phase: "p.md", task: "t.md" }, tick_criteria: true },
});
const TEMPLATE = "# [PHASE_NAME] [TASK_NAME] [N]";

/** Replaces a part of a text by a piece that may well occur there. */
function damaged(text: string): fc.Arbitrary<string> {
  const pieces = fc.constantFrom(
    "",
    "null",
    "[",
    "}",
    '"',
    "\n",
    "  ",
    ": ",
    "- ",
    "*a",
    "&b ",
    "!x ",
    "<<: *a",
    "1e999",
    "-1",
    "\u0000",
    "?",
    "%",
    "__proto__",
  );
  return fc.tuple(fc.nat(text.length), fc.nat(12), pieces).map(([at, length, piece]) => {
    return text.slice(0, at) + piece + text.slice(at + length);
  });
}

it("readWorkflow never throws for any files, and returns a definition exactly if there is no error", async () => {
  const whole = { "metadata.json": META, "p.md": TEMPLATE, "t.md": TEMPLATE, "phases/1/phase.md": TEXT };
  expect((await read(whole)).structure).toBeDefined();
  const gated = await read({ ...whole, "phases/1/gate-definition.yaml": GATE });
  expect(gated.structure?.phases[0]?.gate).toMatchObject({ source: "gate-file", reveal: "names" });
  const files = fc.record({
    "metadata.json": damaged(META),
    "phases/1/gate-definition.yaml": fc.oneof(damaged(GATE), fc.constant(undefined)),
    "phases/1/phase.md": damaged(TEXT),
    "p.md": damaged(TEMPLATE),
    "t.md": fc.constant(TEMPLATE),
  });
  await fc.assert(
    fc.asyncProperty(files, async (changes) => {
      const { structure, codes, diagnostics } = await read(changes);
      expect(structure === undefined).toBe(codes.some((code) => code.startsWith("error")));
      for (const { line = 1, column = 1 } of diagnostics) expect(Math.min(line, column)).toBeGreaterThan(0);
    }),
    { numRuns: howOften(200, 10_000) },
  );
});

it("parsing nested YAML never overflows the stack", async () => {
  for (const piece of ["[", "- ", "{a: ", "? ", "a:\n"]) {
    for (let count = 50; count < 6000; count = Math.ceil(count * howOften(2, 1.3))) {
      const close = piece === "[" ? "]" : piece === "{a: " ? "}" : "";
      const report = createReport();
      const source = await readYaml("x.yaml", piece.repeat(count) + close.repeat(count), report);
      expect(source === undefined).toBe(report.sorted().length > 0);
    }
  }
});

it("diagnostics of one line are sorted by column", () => {
  const report = createReport();
  report.warn("BOM", { file: "b" }, "4", "hint");
  report.warn("BOM", { file: "a", line: 2, column: 9 }, "3", "hint");
  report.warn("BOM", { file: "a", line: 2, column: 1 }, "2", "hint");
  report.warn("BOM", { file: "a", line: 2 }, "1", "hint");
  report.warn("BOM", { file: "b", line: 1 }, "5", "hint");
  expect(report.sorted().map(({ message }) => message)).toEqual(["1", "2", "3", "4", "5"]);
});
