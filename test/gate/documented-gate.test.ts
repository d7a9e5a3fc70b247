import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { requiredFormat } from "../../src/gate/format.js";
import { readRuleText } from "../../src/rules/python-to-cel.js";
import { VALIDATOR_NAMES } from "../../src/rules/validators.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { complaints, gateOf } from "./rules.js";

const page = await readFile(new URL("../../docs/gates.md", import.meta.url), "utf8");
/** Reads a file that a page shows: `npm run check:snippets` keeps the page equal to it. */
const shown = (file: string) => readFile(new URL(`documented/${file}`, import.meta.url), "utf8");
const GATE = await shown("gate.yaml");
const EVIDENCE: JsonObject = JSON.parse(await shown("evidence.json"));

it("the documented gate has every key, and accepts the documented evidence", async () => {
  const gate = await gateOf(GATE);
  // The documented `allow_override: false` is the default.
  expect(gate).not.toHaveProperty("allowOverride");
  expect(gate).toMatchObject({
    strict: true,
    verify: [
      { verifier: "file_matches", params: { pattern: "^## Results", min: 1 }, field: "report" },
      { verifier: "git_clean", params: {} },
      { verifier: "command", params: { argv: ["npm", "test"] }, description: "all tests pass", waivable: false },
    ],
    approval: { prompt: "Is this ready to be released?", approvers: ["ada", "grace"] },
    reveal: "fields",
  });
  expect(await complaints(gate, EVIDENCE)).toEqual([]);
  expect(requiredFormat(gate)).toMatchObject({
    verified_by: { 1: "git_clean", 2: "command: all tests pass" },
    required: Object.keys(EVIDENCE),
  });
});

it.each([
  [{ tests_passed: 1000, tests_total: 1000 }, "no project has so many tests"],
  [{ tests_passed: 11 }, "some tests failed"],
  [{ tests_total: 11 }, "value >= evidence.tests_passed"],
  [{ coverage: 79 }, "percent_gte_80"],
  [{ coverage: 85 }, "needs a note"],
  [{ changed_files: [] }, "len(x) > 0"],
  [{ changed_files: ["a.js"] }, "endswith"],
  [{ notes: "short" }, "min_length_20"],
])("the documented gate refuses %j with its message", async (change, says) => {
  const found = await complaints(await gateOf(GATE), { ...EVIDENCE, ...change });
  expect(found.join("\n")).toContain(says);
});

it("the documented gate requires no note if there is one long enough", async () => {
  const notes = { coverage: 85, notes: "generated code is left out of it" };
  expect(await complaints(await gateOf(GATE), { ...EVIDENCE, ...notes })).toEqual([]);
});

it("the page names every validator", () => {
  for (const name of VALIDATOR_NAMES) expect(page).toContain(`\`${name}\``);
});

it("the page's table of lambdas is correct", () => {
  const rows = [...page.matchAll(/^\| `(.+?)`.* \| `(.+?)`/gm)].filter(([row]) => /\bx\b|e\[/.test(row));
  const checked = rows.flatMap(([, python = "", cel = ""]) => {
    const read = readRuleText(
      `lambda x, p, e: ${python}`,
      { type: python.startsWith("'a' in") ? "string" : "any" },
      [],
    );
    return read.ok && !cel.includes("…") && !python.startsWith("x.get") && !python.startsWith("isinstance")
      ? [[read.cel, cel]]
      : [];
  });
  expect(checked.length).toBeGreaterThanOrEqual(8);
  for (const [found, said] of checked) expect(found).toBe(said);
});

it("the documented gate with an approval asks the named approvers, with its prompt", async () => {
  const gate = await gateOf(await shown("approval.yaml"));
  expect(gate).toMatchObject({ approval: { prompt: "May this be released?", approvers: ["ann", "bob"] } });
  expect(await complaints(gate, { tests_pass: true })).toEqual([]);
  expect(await complaints(gate, { tests_pass: false })).toEqual([expect.stringContaining("tests_pass")]);
});
