import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../cli/run-cli.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { folderOf } from "../workflow/workflow-folders.js";
import { aStarter } from "./a-starter.js";

const EXTENDED = folderOf("examples/extended");

describe("a folder that extends a starter", () => {
  it("is walked by an agent over MCP, through its own gates and those of the starter", {
    timeout: 60_000,
  }, async () => {
    const files = { "add.mjs": "export const add = (a, b) => a + b;\n" };
    const { ask, start, session, pass, lie, write, git } = await aStarter("team_review", {
      files,
      flags: ["--workflows", EXTENDED],
    });
    git("checkout", "--quiet", "-b", "change");
    await write("sub.mjs", "export const sub = (a, b) => a - b;\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "subtract");
    const { workflows } = await ask({ action: "list_workflows", workflow_type: "team_review" });
    expect(workflows).toMatchObject([{ name: "Review code, our way", extends: "code_review" }]);
    expect(JSON.stringify(await start({ base: "change" }))).toMatch(/this workflow sets it to .*main/);
    const started = await start({});
    expect(started).toMatchObject({ status: "success" });
    expect(JSON.stringify(started)).toContain("Read all of `git diff main...HEAD`");
    await pass(1, { files: ["sub.mjs"], purpose: "it adds subtraction to the package" });
    const phase = await ask({ action: "get_phase", session_id: session(), phase: 2 });
    expect(JSON.stringify(phase)).toContain("who could misuse it, and for what?");
    await lie(2, { threats: ["somebody may divide by zero"] }, /each threat names a file of the change/);
    await pass(2, { threats: ["a caller of sub.mjs may give it texts"] });
    expect(JSON.stringify(await ask({ action: "get_phase", session_id: session(), phase: 3 }))).toContain("Findings");
    await lie(3, { findings: [], clean: [] }, /each file of phase 1 has findings, or is in clean/);
    await pass(3, { findings: [], clean: ["sub.mjs"] });
    await lie(4, { decisions: [] }, /decided_by/);
    await pass(4, { decisions: [], decided_by: "Ann and Bob" });
    await write("review.md", "sub.mjs is good.\n");
    const report = { report: "review.md", changed: ["review.md"], places: ["sub.mjs"] };
    expect(await pass(5, report)).toMatchObject({ status: "success" });
  });

  it("is checked with what it extends, as serve has it", async () => {
    const alone = await run("validate", EXTENDED);
    expect(alone.code).toBe(1);
    expect(alone.stdout).toMatch(
      /metadata\.json:4:\d+: error: there is no workflow "code_review" to extend: looked in .*examples\/extended/,
    );
    expect(alone.stdout).toContain("Add its folder (serve: --workflows), --starters or --pack");
    const { code, stdout } = await run("validate", EXTENDED, "--starters");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("ok      team_review\n") });
    expect(await run("validate", join(EXTENDED, "team_review"), "--starters")).toMatchObject({ code: 0 });
    expect(await run("gate", "freeze", join(EXTENDED, "team_review"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("extends another one"),
    });
  });

  it("shows each mistake in its file, and what its gates ask for less", async () => {
    const folder = await temporaryFolder();
    const metadata = (entry: object) => JSON.stringify({ workflow_type: "own", extends: "bug_fix", phases: [entry] });
    await writeFiles(folder, {
      "own/metadata.json": metadata({ change: "Fix" }),
      "own/phases/fix/gate-definition.yaml": "evidence_schema:\n  files: {type: list, required: false, vaildator: x}\n",
    });
    const wrong = await run("validate", folder, "--starters");
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toContain(`${join(folder, "own/phases/fix/gate-definition.yaml")}:2:`);
    expect(wrong.stdout).toContain("> 2 |   files: {type: list, required: false, vaildator: x}");
    await writeFiles(folder, {
      "own/phases/fix/gate-definition.yaml": "checkpoint: {strict: false}\n",
    });
    expect((await run("validate", folder, "--starters")).stdout).toMatch(
      /own\/metadata\.json:1:\d+: error: the gate of "Fix" would ask for less: strict is false: rules only warn/,
    );
    await writeFiles(folder, { "own/metadata.json": metadata({ change: "Fix", override: "we try it first" }) });
    const shown = await run("validate", folder, "--starters");
    expect({ code: shown.code, stdout: shown.stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /own\/metadata\.json:1:\d+: warning: the gate of "Fix" asks for less than in bug_fix: strict is false/,
      ),
    });
    expect(shown.stdout).toContain("we try it first");
    expect((await run("validate", folder, "--starters", "--strict")).code).toBe(1);
    const { ask, start } = await aStarter("own", { files: {}, flags: ["--workflows", folder] });
    expect(await ask({ action: "list_workflows", workflow_type: "own" })).toMatchObject({
      workflows: [
        { extends: "bug_fix", asks_less: [expect.stringMatching(/^the gate of "Fix" asks for less.*strict/)] },
      ],
    });
    await start({ test_command: "npm test" });
  });
});
