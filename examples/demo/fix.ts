/**
 * The second half of the demo: a small project with a bug and a test that shows it. The agent says that the tests
 * pass; the gate runs them.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Agent, connectAgent } from "./agent.ts";
import { type Answer, event, showOutput, step } from "./screen.ts";

const PHASEGATE = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const WORKFLOWS = fileURLToPath(new URL("workflows", import.meta.url));

const SLUG = (body: string) => `export const slug = (title) => ${body};\n`;
const FILES = {
  "slug.mjs": SLUG('title.toLowerCase().replace(" ", "-")'),
  "slug.test.mjs": `import assert from "node:assert/strict";
import { test } from "node:test";
import { slug } from "./slug.mjs";

test("has no capitals", () => assert.equal(slug("News"), "news"));
test("replaces every blank", () => assert.equal(slug("A fine day"), "a-fine-day"));
`,
};

/** An agent fixes a bug under the eyes of `phasegate serve`, after it has tried everything else. */
export async function fixBug(folder: string): Promise<void> {
  const project = join(folder, "slugs");
  await mkdir(project);
  for (const [path, text] of Object.entries(FILES)) await writeFile(join(project, path), text);
  step("10. Gates that look for themselves", "Another project, with a failing test, and `phasegate serve` before it.");
  const folders = ["--workflows", WORKFLOWS, "--state", join(folder, "state-of-slugs"), "--project", project];
  const allowed = ["--allow-command", `node=${process.execPath}`, "--log-level", "error"];
  const agent = await connectAgent([PHASEGATE, "serve", ...folders, ...allowed]);
  try {
    const started = await agent.call({ action: "start", workflow_type: "fix_a_bug", target_file: "slug.mjs" });
    assert.equal(started.status, "success");
    await lieAboutTests(agent, project, started.session_id);
    await tell(agent, project, started.session_id);
  } finally {
    await agent.close();
  }
}

async function lieAboutTests({ call }: Agent, project: string, session_id: unknown): Promise<void> {
  const claim = { action: "complete_phase", session_id, phase: 1, evidence: { tests_pass: true } };
  step("11. “All tests pass.”", "Nothing was fixed. The gate runs the tests, and shows what they wrote.");
  const lie = await call(claim);
  assert.equal(lie.checkpoint_passed, false);
  assert.match(JSON.stringify(lie.validation_errors), /exit code 1, expected 0/);
  showOutput(lie, /^not ok|^# (pass|fail)/);

  step("12. The test is taken out", "What is left passes. The gate wants two tests, and this one by its name.");
  await writeFile(join(project, "slug.test.mjs"), FILES["slug.test.mjs"].replace(/test\("replaces.*\n/, ""));
  event("slug.test.mjs has one test now");
  const cheat = await call(claim);
  assert.equal(cheat.checkpoint_passed, false);
  assert.match(JSON.stringify(cheat.validation_errors), /slug\.test\.mjs/);

  step("13. The bug is fixed", "The same claim once more. Now it is true.");
  await writeFile(join(project, "slug.test.mjs"), FILES["slug.test.mjs"]);
  await writeFile(join(project, "slug.mjs"), SLUG('title.toLowerCase().replaceAll(" ", "-")'));
  event("slug.mjs replaces all blanks, slug.test.mjs is as it was");
  assert.equal((await call(claim)).checkpoint_passed, true);
}

async function tell({ call, ask }: Agent, project: string, session_id: unknown): Promise<void> {
  step("14. A file with nothing in it", "It is there, but it doesn't say what was fixed.");
  const claim = { action: "complete_phase", session_id, phase: 2, evidence: { changes: "CHANGES.md" } };
  await writeFile(join(project, "CHANGES.md"), "# Changes\n");
  event("CHANGES.md written, with a heading alone");
  assert.equal((await call(claim)).checkpoint_passed, false);
  await writeFile(join(project, "CHANGES.md"), "# Changes\n\n- Fixed slugs of titles with more than one blank\n");
  event("CHANGES.md says what was fixed");
  assert.equal((await call(claim)).workflow_complete, true);
  const { history } = await ask({ action: "get_history", session_id });
  assert(Array.isArray(history));
  const statuses = history.map(({ phase, status }: Answer) => `${phase} ${status}`);
  assert.deepEqual(statuses, ["1 failed", "1 failed", "1 completed", "2 failed", "2 completed"]);
}
