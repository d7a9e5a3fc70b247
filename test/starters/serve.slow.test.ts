import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { gatedFiles } from "../support/verified.js";
import { writeFiles } from "../support/write-files.js";

const TYPES = ["bug_fix", "code_review", "plan_execution", "release", "small_change", "spec_creation"];

describe("serve --starters", () => {
  it("serves six workflows without any folder, and warns of approvals that nobody can give", async () => {
    const root = await temporaryFolder();
    const { ask, log } = await connectToServe(["--starters", "--project", root, "--state", join(root, "state")]);
    const { workflows } = await ask({ action: "list_workflows" });
    expect(workflows).toMatchObject(TYPES.map((workflow_type) => ({ workflow_type })));
    expect(JSON.stringify(workflows).length).toBeLessThan(900);
    const fixing = { action: "start", workflow_type: "bug_fix", options: { test_command: "npm test" } };
    expect(workflows).toMatchObject([
      { description: expect.stringMatching(/one bug a session.*committed/) },
      {},
      {},
      {},
      {},
      {},
    ]);
    expect(await ask({ action: "start", workflow_type: "bug_fix" })).toMatchObject({
      example: { ...fixing, options: { test_command: expect.stringMatching(/^<value: string, required/) } },
    });
    expect(await ask({ action: "start", workflow_type: "plan_execution" })).toMatchObject({
      example: {
        options: { check_command: expect.any(String), spec_path: expect.stringMatching(/^<path of its tasks\.md/) },
      },
    });
    const warned = () => log.filter(({ msg }) => String(msg).includes("needs --approver"));
    await expect
      .poll(() => warned().map(({ workflowType }) => workflowType), { timeout: 20_000 })
      .toEqual(["release", "small_change", "spec_creation"]);
    const hidden = log.filter(({ level }) => level !== "info");
    expect(hidden).toHaveLength(3);
  });

  it("gives way to a workflow of the user's with the same name, and logs it", async () => {
    const root = await temporaryFolder();
    await writeFiles(join(root, "own", "bug_fix"), gatedFiles("bug_fix", ["evidence_schema: {own: {type: string}}\n"]));
    const where = ["--workflows", join(root, "own"), "--state", join(root, "state"), "--project", root];
    const { ask, log } = await connectToServe(["--starters", ...where]);
    const start = { action: "start", workflow_type: "bug_fix", target_file: "a.ts" };
    expect(JSON.stringify(await ask(start))).toContain('"own"');
    const msg = "served in place of a workflow of the same name in a later folder";
    await expect
      .poll(() => log, { timeout: 20_000 })
      .toContainEqual(expect.objectContaining({ workflowType: "bug_fix", msg }));
  });

  it("does not take the place of a broken workflow of the user's", async () => {
    const root = await temporaryFolder();
    const [first, second] = [join(root, "first"), join(root, "second")];
    await writeFiles(join(first, "bug_fix"), gatedFiles("bug_fix", ["evidence_schema: {own: {type: strin}}\n"]));
    await writeFiles(join(second, "release"), gatedFiles("release", ["evidence_schema: {own: {type: string}}\n"]));
    const where = ["--workflows", first, "--workflows", second, "--state", join(root, "state"), "--project", root];
    const { ask, log } = await connectToServe(["--starters", ...where]);
    const start = { action: "start", target_file: "a.ts" };
    expect(await ask({ ...start, workflow_type: "bug_fix" })).toMatchObject({ code: "DEFINITION_INVALID" });
    expect(JSON.stringify(await ask({ ...start, workflow_type: "release" }))).toContain('"own"');
    const hiding = () => log.filter(({ msg }) => String(msg).startsWith("served in place of"));
    await expect
      .poll(() => hiding().map(({ workflowType }) => workflowType), { timeout: 20_000 })
      .toEqual(["bug_fix", "release"]);
  });

  it("is refused without a place for the sessions", async () => {
    expect(await run("serve", "--starters")).toMatchObject({ code: 2, stderr: expect.stringContaining("--state") });
  });
});

describe("validate --starters", () => {
  it("finds nothing wrong, with and without a host's flags", async () => {
    const { code, stdout } = await run("validate", "--starters");
    expect({ code, end: stdout.split("\n").at(-2) }).toEqual({ code: 0, end: "6 workflows: 0 errors, 0 warnings" });
    const host = await run("validate", "--starters", "--project", await temporaryFolder(), "--allow-command", "true");
    expect(host).toMatchObject({ code: 0, stdout: expect.stringContaining("6 workflows: 0 errors, 0 warnings") });
  });

  it("takes folders, with the starters after them, and warns of a workflow that serve hides", async () => {
    expect(await run("validate")).toMatchObject({ code: 2, stderr: expect.stringContaining("the folder is missing") });
    const root = await temporaryFolder();
    const [first, second] = [join(root, "first"), join(root, "second")];
    const gates = ["evidence_schema: {own: {type: string}}\n"];
    await writeFiles(join(first, "bug_fix"), gatedFiles("bug_fix", gates));
    await writeFiles(join(second, "own"), gatedFiles("own", gates));
    const { code, stdout } = await run("validate", first, second, "--starters");
    expect(code).toBe(0);
    expect(stdout).toContain(`serve does not use this workflow: ${join(first, "bug_fix")} has the same type`);
    expect(stdout).toMatch(/8 workflows: 0 errors, \d+ warnings?\n$/);
    expect(await run("validate", first, join(root, "none"))).toMatchObject({ code: 3 });
    expect(await run("validate", first, root)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no workflow in"),
    });
  });
});

describe("the starters", () => {
  it("are in the package, and each has a page", async () => {
    const manifest: { files: string[] } = JSON.parse(await readFile("package.json", "utf8"));
    expect(manifest.files).toContain("starters");
    const index = await readFile("docs/starters/README.md", "utf8");
    for (const type of TYPES) {
      expect(index).toContain(`[${type}](${type}.md)`);
      expect(await readFile(`docs/starters/${type}.md`, "utf8")).toContain("## What it cannot see");
    }
  });
});
