/**
 * Checks evidence against reality: a report that exists, a plan with its headings, tests that pass, a file that was
 * changed. The verifiers are called one by one first, then by the gate of a workflow.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import type { JsonObject, JsonValue } from "phasegate";
// #region create
import { createVerifiers } from "phasegate/verify";

await mkdir("project", { recursive: true });
const verifiers = await createVerifiers({
  projectRoot: "project",
  commands: { node: process.execPath }, // gates may run this, and nothing else
  env: { CI: "1" }, // and it gets only this and a short PATH
  hosts: ["status.example.org"],
});
// #endregion create

const session = { id: "release_parser_1", workflowType: "release", target: "parser.mjs", phase: 1 };
const options = { signal: AbortSignal.timeout(30_000) };

/** What a verifier says to params and to the value of the field that names it. */
function ask(name: keyof typeof verifiers, params: JsonObject, value: JsonValue = "") {
  return verifiers[name].verify({ params, value, evidence: {}, session }, options);
}

// #region lie
await writeFile("project/report.md", ""); // "I wrote the report"
const lie = await ask("file_exists", { path: "report.md" });
assert.equal(lie.ok, false);
assert.match(lie.message, /the file is too small/);
// #endregion lie

await writeFile("project/report.md", "# Report\n\n## Findings\n\n### It is slow\n\n### It leaks\n");
assert.ok((await ask("markdown_headings", { under: "Findings", min: 2 }, "report.md")).ok);
assert.ok((await ask("file_matches", { path: "report.md", pattern: "^### .+", count: 2 })).ok);

// #region changed
await writeFile("project/parser.mjs", "export const parse = () => 1;\n");
const params = { path: "parser.mjs" };
const snapshot = await verifiers.changed_since_phase_start.snapshot?.({ params, session }); // the phase begins
assert.ok(snapshot);
await writeFile("project/parser.mjs", "export const parse = () => 1;\n"); // touched, not changed
const request = { params, evidence: {}, session, snapshot };
assert.equal((await verifiers.changed_since_phase_start.verify(request, options)).ok, false);
await writeFile("project/parser.mjs", "export const parse = (text) => Number(text);\n");
assert.equal((await verifiers.changed_since_phase_start.verify(request, options)).ok, true);
// #endregion changed

await writeFile(
  "project/parser.test.mjs",
  'import { test } from "node:test";\nimport { parse } from "./parser.mjs";\n' +
    'test("parses", () => { if (parse("7") !== 7) throw new Error("no"); });\n',
);
const tests = await ask("command", { argv: ["node", "--test", "parser.test.mjs"] });
assert.ok(tests.ok, JSON.stringify(tests));
await assert.rejects(async () => verifiers.command.check?.({ argv: ["rm", "-rf", "."] }), /not on the host's list/);

// #region rule
await writeFile("project/report.json", '{"total": {"passed": 12, "failed": 0}}');
const counts = { path: "report.json", pointer: "/total", rule: "value.failed == 0 && value.passed >= claimed" };
assert.ok((await ask("json_value", counts, 12)).ok);
assert.equal((await ask("json_value", counts, 13)).ok, false); // the agent claims more than there are
const quiet = { argv: ["node", "parser.mjs"], output: { rule: 'exit == 0 && !output.contains("warning")' } };
assert.ok((await ask("command", quiet)).ok);
// A wrong rule is reported when the workflow is started, not at the gate.
await assert.rejects(
  async () => verifiers.json_value.check?.({ ...counts, rule: "valu.failed == 0" }),
  /Did you mean value/,
);

// #endregion rule

// #region gate
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import * as z from "zod";

const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Test, then say so",
  phases: [
    {
      number: 1,
      name: "Test",
      content: "Run the tests, and write a report.",
      gate: {
        evidence: z.object({ report: z.string() }),
        verify: [
          { verifier: "command", params: { argv: ["node", "--test", "parser.test.mjs"], timeout_ms: 30_000 } },
          { verifier: "file_exists", field: "report" }, // the file that the evidence names
        ],
      },
    },
  ],
});
const content = new MemoryContent({ workflows: [release] });
const engine = createEngine({ storage: new MemoryStorage(), content, verifiers });
// #endregion gate
const { sessionId } = await engine.start({ workflowType: "release", target: "parser.mjs" });
const invented = await engine.session(sessionId).completePhase(1, { report: "nowhere.md" });
assert.deepEqual(!invented.passed && invented.problems.map(({ field }) => field), ["report"]);
const shown = await engine.session(sessionId).completePhase(1, { report: "report.md" });
assert.ok(shown.passed && shown.nextPhase === null);
await engine.close();

console.log("The lies were refused, and what was true went through.");
