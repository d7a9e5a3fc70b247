/** Commands in a project that `phasegate init` has set up, and in its folders: they use it where no option names another place. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { aProject } from "../setup/a-project.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

const START = { action: "start", workflow_type: "bug_fix", target_file: "src/the file.ts" };

/** Enters a folder until the test ends. */
function enter(folder: string): void {
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
}

/** Creates a project that init has set up, and enters a folder below it. */
async function inSetUpProject() {
  const project = await aProject({ "src/deep er/.keep": "", "src/the file.ts": "" }, "my own project");
  expect(await project.init("--client", "claude")).toMatchObject({ code: 0 });
  enter(join(project.root, "src/deep er"));
  return { ...project, state: join(project.root, ".phasegate"), said: `phasegate: the project is ${project.root}\n` };
}

// A state or a project of whoever runs the tests is none of these tests'.
beforeEach(() => {
  for (const name of ["PHASEGATE_STATE", "PHASEGATE_PROJECT", "PHASEGATE_WORKFLOWS"]) vi.stubEnv(name, undefined);
});

describe("serve without options", () => {
  it("serves the project around the folder, and logs which one it is", async () => {
    const { root, state } = await inSetUpProject();
    const { ask, log } = await connectToServe([]);
    expect(log[0]).toMatchObject({ level: "info", msg: "project", project: root });
    expect(await ask({ action: "list_workflows" })).toMatchObject({ workflows: [{}, {}] });
    expect(await ask({ ...START, options: { test_command: "true" } })).toMatchObject({ status: "success" });
    expect(await readdir(state)).toContain("format.json");
    expect(await readdir(".")).toEqual([".keep"]);
  });

  it("serves the starters if the project has no folder of workflows", async () => {
    const project = await aProject();
    expect(await project.init("--client", "claude", "--starters", "none")).toMatchObject({ code: 0 });
    enter(project.root);
    const { ask } = await connectToServe([]);
    expect(JSON.stringify(await ask({ action: "list_workflows" }))).toContain("spec_creation");
  });

  it("can't complete a workflow whose gates run a command that nobody has allowed, and doctor says so", async () => {
    const { root } = await inSetUpProject();
    const gate =
      'evidence_schema:\n  fixed: {type: boolean}\nverify:\n  - {verifier: command, line: "{options.test_command}"}\n';
    await writeFiles(root, { "workflows/bug_fix/phases/1/gate-definition.yaml": gate });
    const { stdout } = await run("doctor", "--json");
    const { findings } = JSON.parse(stdout) as { findings: { check: string; status: string; message: string }[] };
    const found = findings.filter(({ check }) => check === "workflows").map(({ status, message }) => [status, message]);
    expect(found).toContainEqual([
      "problem",
      expect.stringContaining("bug_fix: can't be completed: its gates run a command"),
    ]);
  });

  it("has its workflows and sessions as graphs", async () => {
    const { said } = await inSetUpProject();
    expect(await run("graph", "bug_fix")).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/^flowchart TD/), stderr: said },
    });
    const { ask } = await connectToServe([]);
    const started = await ask({ ...START, options: { test_command: "true" } });
    const graph = await run("graph", String(started.session_id));
    expect(graph).toMatchObject({ code: 0, stdout: expect.stringContaining(":::current") });
  });

  it("is found where the user has no folder of their own", async () => {
    const { root } = await inSetUpProject();
    vi.stubEnv("HOME", join(root, "none"));
    vi.stubEnv("USERPROFILE", join(root, "none"));
    const { ask } = await connectToServe([]);
    expect(await ask({ action: "list_workflows" })).toMatchObject({ workflows: [{}, {}] });
  });

  it("takes only what is not named", async () => {
    const { root, state } = await inSetUpProject();
    const elsewhere = join(root, "..", "else where");
    await writeFiles(elsewhere, SMALL);
    const { ask, log } = await connectToServe(["--workflows", elsewhere]);
    expect(log[0]).toMatchObject({ project: root });
    expect(JSON.stringify(await ask({ action: "list_workflows" }))).not.toContain("bug_fix");
    expect(await readdir(state)).toContain("format.json");
    const named = await connectToServe(["--workflows", elsewhere, "--state", join(root, "..", "state")]);
    expect(named.log.filter(({ project }) => project !== undefined)).toEqual([]);
  });

  it("allows no command", async () => {
    const project = await aProject({ "src/the file.ts": "" });
    expect(await project.init("--client", "claude", "--starters", "none")).toMatchObject({ code: 0 });
    enter(project.root);
    const { ask } = await connectToServe([]);
    const refused = await ask({ ...START, options: { test_command: "npm test" } });
    expect(refused).toMatchObject({
      status: "error",
      error: expect.stringMatching(
        /^bug_fix can't be started with the option "test_command": "npm test" is not a command that the host allows; it allows exactly these, with no other arguments: none \(phasegate serve: --allow-command "npm test"\)$/,
      ),
      remediation: expect.stringContaining("what the host must allow, and end your turn"),
      // A form that repeats the refused value would be refused again.
      example: { options: { test_command: expect.stringMatching(/^<value: /) } },
    });
    const allowed = await connectToServe(["--allow-command", "npm test"]);
    expect(await allowed.ask({ ...START, options: { test_command: "npm test" } })).toMatchObject({ status: "success" });
  });

  it("is refused in a project that init has not set up", async () => {
    const project = await aProject({ "package.json": "{}" });
    enter(project.root);
    expect(await run("serve")).toMatchObject({ code: 2, stderr: expect.stringContaining("there is nothing to serve") });
    const routed = await run("serve", "--routed", project.root);
    expect(routed).toMatchObject({ code: 2, stderr: expect.stringContaining("--state is missing") });
  });
});

describe("commands without --state", () => {
  it("use the sessions of the project, and say so on stderr", async () => {
    const { said } = await inSetUpProject();
    const { ask } = await connectToServe([]);
    const { session_id } = await ask({ ...START, options: { test_command: "true" } });
    const id = String(session_id);
    expect(await run("sessions", "--ids")).toEqual({ code: 0, stdout: `${id}\n`, stderr: said });
    const shown = await run("show", id, "--json");
    expect(shown).toMatchObject({ code: 0, stderr: said });
    expect(JSON.parse(shown.stdout)).toMatchObject({ sessionId: id });
    expect(await run("suspend", id, "--by", "ann")).toMatchObject({ code: 0, stderr: said });
  });

  it("use what an option or a variable names, and assume nothing then", async () => {
    const { root, said } = await inSetUpProject();
    const other = join(root, "no state");
    expect(await run("sessions", "--state", other)).toMatchObject({ code: 3, stderr: expect.stringContaining(other) });
    vi.stubEnv("PHASEGATE_STATE", other);
    const { code, stderr } = await run("sessions");
    expect({ code, said: stderr.includes(said) }).toEqual({ code: 3, said: false });
    const synced = await run("sync", "x", "--by", "ann");
    expect(synced).toMatchObject({ code: 2, stderr: expect.stringContaining("--project is missing") });
    const half = await run("sync", "x", "--by", "ann", "--project", root);
    expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining("--workflows is missing") });
  });

  it("fill in the workflows and the project as well", async () => {
    const { said } = await inSetUpProject();
    await connectToServe([]);
    const synced = await run("sync", "x_y_20260101_120000", "--by", "ann");
    expect(synced).toMatchObject({ code: 1, stderr: expect.stringContaining(said) });
    expect(synced.stderr).toContain("there is no session");
  });

  it("need --state in a project that init has not set up", async () => {
    const project = await aProject({ "package.json": "{}" });
    enter(project.root);
    expect(await run("sessions")).toMatchObject({ code: 2, stderr: expect.stringContaining("--state <where>") });
  });
});
