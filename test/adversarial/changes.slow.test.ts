import { link, readdir, readFile, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { createWorkflowTool } from "phasegate";
import { describe, expect, it } from "vitest";
import { aGate } from "./a-gate.js";

const CHANGED = `
evidence_schema: {done: {type: boolean}}
verify: {verifier: changed_since_phase_start, path: src/parser.mjs}
`;
const BEFORE = { "src/parser.mjs": "export const parse = () => 1;\n", "old/parser.mjs": "export const old = 1;\n" };

describe("a gate that requires a changed file", () => {
  const path = "src/parser.mjs";
  const changed = (gate: Awaited<ReturnType<typeof aGate>>) => gate.write(path, "export const parse = Number;\n");

  it("lets an honest agent through", async () => {
    const gate = await aGate({ gate: CHANGED, files: BEFORE });
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses a file that was touched, but not changed", async () => {
    const gate = await aGate({ gate: CHANGED, files: BEFORE });
    await utimes(join(gate.project, path), new Date(), new Date());
    await gate.write(path, BEFORE[path]);
    await gate.refuses({ done: true }, /src\/parser\.mjs.*not changed/);
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses a file that was changed and changed back", async () => {
    const gate = await aGate({ gate: CHANGED, files: BEFORE });
    await changed(gate);
    await gate.write(path, BEFORE[path]);
    await gate.refuses({ done: true }, /src\/parser\.mjs.*not changed/);
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses the original content after junk and a rollback", async () => {
    const gate = await aGate({ gate: CHANGED, files: BEFORE });
    for (const junk of ["junk\n", "more junk\n"]) {
      await gate.write(path, junk);
      await gate.accepts({ done: true });
      await gate.tool.dispatch({ action: "rollback", session_id: gate.id, to_phase: 1 });
    }
    await gate.write(path, BEFORE[path]);
    await gate.refuses({ done: true }, /src\/parser\.mjs has no new content.*earlier start of this phase/);
    await gate.write(path, "junk\n");
    await gate.refuses({ done: true }, /src\/parser\.mjs has no new content.*earlier start of this phase/);
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses a file that was deleted or emptied", async () => {
    const gate = await aGate({ gate: CHANGED, files: BEFORE });
    await rm(join(gate.project, path));
    await gate.refuses({ done: true }, /src\/parser\.mjs.*(deleted|gone|emptied)/);
    await gate.write(path, "");
    await gate.refuses({ done: true }, /src\/parser\.mjs.*(deleted|emptied|empty)/);
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses two files whose contents were swapped", async () => {
    const both = CHANGED.replace("path: src/parser.mjs", "paths: [src/parser.mjs, old/parser.mjs]");
    const gate = await aGate({ gate: both, files: BEFORE });
    await gate.write(path, BEFORE["old/parser.mjs"]);
    await gate.write("old/parser.mjs", BEFORE[path]);
    await gate.refuses(
      { done: true },
      /src\/parser\.mjs has no new content since this phase was entered: another file had this content/,
    );
    await changed(gate);
    await gate.refuses({ done: true }, /old\/parser\.mjs has no new content/);
    await gate.write("old/parser.mjs", "export const old = 2;\n");
    await gate.accepts({ done: true });
  });

  it("refuses a file with the contents of another", async () => {
    const gate = await aGate({ gate: CHANGED.replace("path: src/parser.mjs", "path: ."), files: BEFORE });
    await gate.write(path, BEFORE["old/parser.mjs"]);
    await gate.refuses(
      { done: true },
      /has no new content since this phase was entered: another file had this content/,
    );
    await changed(gate);
    await gate.accepts({ done: true });
  });

  it("refuses one new file in place of two", async () => {
    const within =
      "evidence_schema:\n  made: {type: list, validator: 'lambda x: len(x) == 2', verify: {verifier: changed_since_phase_start, within: src}}\n";
    const gate = await aGate({ gate: within, files: BEFORE });
    await gate.write("src/new.mjs", "new\n");
    await gate.refuses({ made: ["src/new.mjs", "src/./new.mjs"] }, /src\/new\.mjs is named twice/);
    await link(join(gate.project, "src/new.mjs"), join(gate.project, "src/again.mjs"));
    await gate.refuses({ made: ["src/new.mjs", "src/again.mjs"] }, /src\/again\.mjs is the same file as src\/new\.mjs/);
    await gate.write("src/other.mjs", "other\n");
    await gate.accepts({ made: ["src/new.mjs", "src/other.mjs"] });
  });

  it("refuses an old file under a new name", async () => {
    const within = CHANGED.replace("path: src/parser.mjs", "within: src").replace(
      "evidence_schema: {done: {type: boolean}}\nverify: {",
      "evidence_schema:\n  file: {type: string, verify: {",
    );
    const gate = await aGate({ gate: within.replace("src}", "src}}"), files: BEFORE });
    await rename(join(gate.project, path), join(gate.project, "src/new.mjs"));
    await gate.refuses(
      { file: "src/new.mjs" },
      /src\/new\.mjs has no new content since this phase was entered: it is old content under a new name/,
    );
    await gate.write("src/new.mjs", "export const parse = Number;\n");
    await gate.accepts({ file: "src/new.mjs" });
  });

  it("refuses to compare with a snapshot that was changed in the state folder", async () => {
    const names = Array.from({ length: 600 }, (_, index) => `src/${"long".repeat(30)}${index}.mjs`);
    const files = Object.fromEntries(names.map((name, index) => [name, `${index}\n`]));
    const gate = await aGate({ gate: CHANGED.replace("src/parser.mjs", "src"), files });
    const stored = (await readdir(gate.state, { recursive: true })).filter((name) => name.endsWith(".gz"));
    expect(stored).toHaveLength(1);
    const file = join(gate.state, stored[0] ?? "");
    const bytes = await readFile(file);
    const digests = /[0-9a-f]{32}/g;
    await writeFile(file, gzipSync(gunzipSync(bytes).toString().replace(digests, "0".repeat(32))));
    const { dispatch } = createWorkflowTool(await gate.open());
    const call = { action: "complete_phase", session_id: gate.id, phase: 1, evidence: { done: true } };
    expect(await dispatch(call)).toMatchObject({
      status: "error",
      error: expect.stringContaining("a payload of it is not the one that was handed in"),
    });
    await writeFile(file, bytes);
    await gate.write(path, "new\n");
    await gate.accepts({ done: true });
  });
});

const KEPT = `
evidence_schema: {done: {type: boolean}}
verify:
  - {verifier: command, argv: [node, test/parser.test.mjs]}
  - {verifier: unchanged_since_phase_start, paths: ["test/**"]}
`;
const RED = {
  "src/parser.mjs": "export const parse = () => 1;\n",
  "test/parser.test.mjs": "import { parse } from '../src/parser.mjs';\nif (parse('2') !== 2) throw new Error('red');\n",
};

describe("a gate that requires unchanged tests", () => {
  const test = "test/parser.test.mjs";
  const verifiers = { commands: { node: process.execPath } };
  const open = () => aGate({ gate: KEPT, files: RED, verifiers });
  const fix = (gate: Awaited<ReturnType<typeof open>>) =>
    gate.write("src/parser.mjs", "export const parse = (text) => Number(text);\n");

  it("refuses a weakened test, and shows the removed lines", async () => {
    const gate = await open();
    await gate.write(test, "import '../src/parser.mjs';\n");
    const answer = await gate.refuses(
      { done: true },
      /test\/parser\.test\.mjs was changed since this phase was entered/,
    );
    expect(JSON.stringify(answer)).toContain("- if (parse('2') !== 2) throw new Error('red');");
    await fix(gate);
    await gate.write(test, RED[test]);
    await gate.accepts({ done: true });
  });

  it("refuses a deleted test, and a new helper next to it", async () => {
    const gate = await open();
    await fix(gate);
    await gate.write("test/node_modules/assert/index.js", "");
    await gate.refuses({ done: true }, /test\/node_modules was added/);
    await rm(join(gate.project, "test/node_modules"), { recursive: true });
    await gate.write("test/setup.mjs", "");
    await gate.refuses({ done: true }, /test\/setup\.mjs was added/);
    await rm(join(gate.project, "test/setup.mjs"));
    await gate.accepts({ done: true });
  });

  it("refuses a test that was replaced by a link", async () => {
    const gate = await open();
    await fix(gate);
    await rename(join(gate.project, test), join(gate.project, "weak.mjs"));
    await symlink("../weak.mjs", join(gate.project, test));
    await gate.refuses({ done: true }, /test\/parser\.test\.mjs was replaced by a link/);
    await rm(join(gate.project, test));
    await gate.write(test, RED[test]);
    await gate.accepts({ done: true });
  });

  it("refuses a weakened test after a rollback to the phase, and after a retry", async () => {
    const gate = await open();
    await fix(gate);
    await gate.accepts({ done: true });
    await gate.write(test, "");
    await gate.tool.dispatch({ action: "rollback", session_id: gate.id, to_phase: 1 });
    await gate.refuses({ done: true }, /test\/parser\.test\.mjs was changed/);
    await gate.tool.dispatch({ action: "retry_phase", session_id: gate.id, phase: 1 });
    await gate.refuses({ done: true }, /test\/parser\.test\.mjs was changed/);
    await gate.write(test, RED[test]);
    await gate.accepts({ done: true });
  });

  it("refuses a target that is a glob, if the gate excepts the target", async () => {
    const gate = await aGate({
      gate: KEPT.replace(/paths: .*}/, 'path: test, except: ["{target_file}"]}'),
      files: RED,
      verifiers,
    });
    const start = { action: "start", workflow_type: "honest_v1", target_file: "test/**" };
    const { session_id } = await gate.tool.dispatch(start);
    await gate.write(test, "");
    const answer = await gate.tool.dispatch({
      action: "complete_phase",
      session_id,
      phase: 1,
      evidence: { done: true },
    });
    expect(JSON.stringify(answer)).toContain("of the session would be a glob, which only a gate can have");
    await gate.write(test, RED[test]);
    await fix(gate);
    await gate.accepts({ done: true });
  });

  it("refuses every claim if the start of a phase could not be recorded, also after a retry", async () => {
    const since = KEPT.replace('["test/**"]', '["test/**"], since: {phase: 1}');
    const files = { "phases/2/gate-definition.yaml": since };
    const gate = await aGate({
      gate: "evidence_schema: {done: {type: boolean}}\n",
      files: RED,
      verifiers,
      more: files,
    });
    await writeFile(join(gate.project, "test/huge"), "");
    await truncate(join(gate.project, "test/huge"), 65 * 2 ** 20);
    await gate.accepts({ done: true });
    await rm(join(gate.project, "test/huge"));
    await gate.write(test, "");
    for (const _ of [1, 2]) {
      expect(JSON.stringify(await gate.claim({ done: true }, 2))).toContain("the files could not be recorded");
      await gate.tool.dispatch({ action: "retry_phase", session_id: gate.id, phase: 2 });
    }
    await gate.tool.dispatch({ action: "rollback", session_id: gate.id, to_phase: 1 });
    await gate.write(test, RED[test]);
    await fix(gate);
    await gate.accepts({ done: true });
    expect(await gate.claim({ done: true }, 2)).toMatchObject({ checkpoint_passed: true });
  });
});
