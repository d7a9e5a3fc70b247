import { cp, rename, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { writeFiles } from "../support/write-files.js";
import { aPack, aProjectWithPack, GATE, type PackFiles } from "./a-pack.js";
import { aProject } from "./a-project.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The examples; docs/packs.md shows these files of the first one. */
const COMMITS = join(ROOT, dirname("examples/packs/acme-commits/package.json"));
const VERIFIERS = basename("examples/packs/acme-commits/verifiers.mjs");
const GUIDES = join(ROOT, "examples/packs/acme-guides");
const ALLOW = '"--allow-command",\n        "npm test"';

test("the example with a verifier is installed from its folder, served, and taken out again", async () => {
  const project = await aProject({ "package.json": '{"name": "app", "private": true}' });
  await project.init("--client", "claude", "--starters", "bug_fix");
  const before = [await project.read(".mcp.json"), await project.read(".phasegate-init.json")];
  const folder = join(project.home, "acme-commits");
  await cp(COMMITS, folder, { recursive: true });
  const { code, stdout, stderr } = await run("add", folder, "--yes", "--project", project.root);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("workflow commit_change: 1 phase");
  expect(stdout).toContain(`code of its own, which runs with the rights of the server: ${VERIFIERS}`);
  expect(await project.json("package.json")).toMatchObject({ devDependencies: { "acme-commits": expect.anything() } });
  expect(await project.json(".phasegate-init.json")).toMatchObject({
    packs: [{ name: "acme-commits", version: "1.0.0", commands: [], hosts: [] }],
  });
  expect(await project.read(".mcp.json")).toContain('"--pack",\n        "acme-commits"');

  const state = join(project.root, ".phasegate");
  const { ask } = await connectToServe(["--state", state, "--project", project.root, "--pack", "acme-commits"]);
  const { session_id } = await ask({ action: "start", workflow_type: "commit_change" });
  const submit = (subject: string) => ask({ action: "complete_phase", session_id, phase: 1, evidence: { subject } });
  expect(JSON.stringify(await submit("sorts the list"))).toContain("begin the subject with feat, fix");
  expect(await submit("fix: the list is sorted by name")).toMatchObject({ workflow_complete: true });

  expect(await run("remove", "acme-commits", "--project", project.root)).toMatchObject({ code: 0 });
  expect([await project.read(".mcp.json"), await project.read(".phasegate-init.json")]).toEqual(before);
  expect(JSON.stringify(await project.json("package.json"))).not.toContain("acme-commits");
});

test("the example with workflows alone is valid, and asks for a command", async () => {
  const project = await aProjectWithPack({});
  await cp(GUIDES, join(project.root, "node_modules/acme-guides"), { recursive: true });
  await project.write({ "package.json": '{"devDependencies": {"acme-guides": "1.0.0"}}' });
  const { code, stdout } = await project.run("add", "acme-guides", "--yes", "--allow-command", "npm test");
  expect([code, stdout]).toEqual([0, expect.stringContaining("its gates want to run: npm test")]);
  const validated = await project.run("validate", "--pack", "acme-guides", "--strict", "--allow-command", "npm test");
  expect(validated).toMatchObject({ code: 0, stdout: expect.stringContaining("ok      write_guide") });
});

test("a workflow of a pack that asks for less than the one it extends is shown", async () => {
  const extension = {
    ...{ workflow_type: "quick_fix", extends: "bug_fix" },
    phases: [{ change: "Fix", whole_gate: true, override: "our CI does it" }],
  };
  const project = await aProjectWithPack({
    "package.json": JSON.stringify({ name: "acme", version: "1.0.0", phasegate: { workflows: "workflows" } }),
    "workflows/quick_fix/metadata.json": JSON.stringify(extension),
    "workflows/quick_fix/phases/fix/gate-definition.yaml": "gate: none\n",
  });
  const { code, stdout } = await project.run("add", "acme", "--yes");
  expect(code).toBe(0);
  expect(stdout).toContain(
    [
      "  workflow quick_fix: 4 phases, extends bug_fix",
      '    weaker    the gate of "Fix" asks for less than in bug_fix: the gate is open: any evidence passes. Its author says why: our CI does it',
    ].join("\n"),
  );
  const validated = await project.run("validate", "--pack", "acme");
  expect(validated.stdout).toContain("0 errors, 1 warning");
});

describe("permissions", () => {
  test("without a word of the user there are none; an option gives those that it names", async () => {
    const project = await aProjectWithPack(aPack());
    const added = await project.run("add", "acme", "--yes");
    expect(added).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('not allowed: npm test (--allow-command "npm test")'),
    });
    expect(await project.read(".mcp.json")).not.toContain("--allow-command");
    const { ask } = await project.serve();
    expect(JSON.stringify(await ask({ action: "start", workflow_type: "write_report" }))).toContain(
      "is not a command that the host allows",
    );

    await project.run("remove", "acme");
    await project.run("add", "acme", "--yes", "--allow-command", "npm test");
    expect(await project.read(".mcp.json")).toContain(ALLOW);
    // A later init keeps both.
    expect(await project.init("--update")).toMatchObject({ stdout: "Nothing to change.\n" });
  });

  test("each is asked for on a terminal, and so is the whole", async () => {
    const hosts =
      "verify:\n  - {verifier: command, line: npm test}\n  - {verifier: http_ok, url: 'https://acme.example/x'}\n";
    const project = await aProjectWithPack(aPack({ gate: `evidence_schema: {done: {type: boolean}}\n${hosts}` }));
    const before = await project.everything();
    const no = await project.answering(["add", "acme"], ["y", "y", "n"]);
    expect([no.code, no.left, await project.everything()]).toEqual([1, [], before]);
    expect(no.text).toContain("Allow its gates to run npm test? [y/N]");
    expect(no.text).toContain("Allow requests to acme.example? [y/N]");
    const yes = await project.answering(["add", "acme"], ["n", "y", "y"]);
    expect([yes.code, yes.left]).toEqual([0, []]);
    const config = await project.read(".mcp.json");
    expect(config).toContain('"--allow-host",\n        "acme.example"');
    expect(config).not.toContain("--allow-command");
  });

  test("what no gate wants can't be allowed, and without a terminal a yes is needed", async () => {
    const project = await aProjectWithPack(aPack());
    const before = await project.everything();
    expect(await project.run("add", "acme", "--yes", "--allow-command", "sh")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no gate of acme wants --allow-command sh"),
    });
    expect(await project.run("add", "acme")).toMatchObject({ code: 2, stderr: expect.stringContaining("Give --yes") });
    expect(await project.everything()).toEqual(before);
  });
});

describe("an update", () => {
  const WEAKER = "evidence_schema:\n  report: {type: string}\nverify: {verifier: command, line: npx acme}\n";

  async function updated() {
    const project = await aProjectWithPack(aPack());
    await project.run("add", "acme", "--yes", "--allow-command", "npm test");
    await project.install(aPack({ gate: WEAKER, version: "1.1.0" }));
    return project;
  }

  test("shows what has become weaker, and what is wanted anew", async () => {
    const project = await updated();
    const before = await project.everything();
    const { code, stdout } = await project.run("update", "--dry-run");
    expect([code, await project.everything()]).toEqual([0, before]);
    expect(stdout).toContain(
      [
        "acme: from 1.0.0 to 1.1.0",
        "  write_report, phase 1:",
        '    weaker    the rule "value.size() > 3" of the field "report" is gone',
        '    weaker    the field "tested" is gone',
        '    changed   the check command {"line":"npm test"} is now command {"line":"npx acme"}',
        '  not allowed: npx acme (--allow-command "npx acme")',
      ].join("\n"),
    );
  });

  test("is served once it is confirmed; what is no longer wanted is no longer allowed", async () => {
    const project = await updated();
    expect(await project.refused()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("you have confirmed 1.0.0, and 1.1.0 is installed"),
    });
    const no = await project.answering(["update", "acme"], ["y", "n"]);
    expect([no.code, no.text]).toEqual([1, expect.stringContaining("install acme@1.0.0 again, or confirm the update")]);
    expect((await project.refused()).code).toBe(1);
    const yes = await project.answering(["update", "acme"], ["y", "y"]);
    expect(yes.code).toBe(0);
    const config = await project.read(".mcp.json");
    expect(config).toContain('"npx acme"');
    expect(config).not.toContain('"npm test"');
    const { ask } = await project.serve();
    expect(JSON.stringify(await ask({ action: "list_workflows" }))).toContain("write_report");
  });

  test("says that code has changed, of which no gate tells", async () => {
    const field = { workflows: "workflows", verifiers: "v.mjs" };
    const withCode = (text: string, version: string) =>
      aPack({ files: { "package.json": JSON.stringify({ name: "acme", version, phasegate: field }), "v.mjs": text } });
    const project = await aProjectWithPack(withCode("export const verifiers = {};\n", "1.0.0"));
    await project.run("add", "acme", "--yes");
    await project.install(withCode("export const verifiers = { };\n", "1.0.1"));
    const { stdout } = await project.run("update", "acme", "--dry-run");
    expect(stdout).toContain("No gate has changed.\n  Its code has changed: no gate says what it does.");
  });

  test("a phase that a session may skip now is weaker, and a phase that is new is stricter", async () => {
    const project = await updated();
    const [metadata] = Object.entries(aPack()).flatMap(([path, text]) =>
      path.endsWith("metadata.json") ? [text] : [],
    );
    const phases = [
      { phase_number: 1, phase_name: "Write", skippable: true },
      { phase_number: 2, phase_name: "Send" },
    ];
    await project.install({
      ...aPack({ version: "1.1.0" }),
      "workflows/write_report/metadata.json": JSON.stringify({ ...JSON.parse(metadata ?? ""), phases }),
      "workflows/write_report/phases/2/phase.md": "# Phase 2: Send\n",
      "workflows/write_report/phases/2/gate-definition.yaml": "evidence_schema: {sent: {type: boolean}}\n",
    });
    const { stdout } = await project.run("update", "acme", "--dry-run");
    expect(stdout).toContain("phase 1:\n    weaker    it is skipped by the host\n");
    expect(stdout).toContain("phase 2:\n    stricter  the gate is new\n");
  });
});

/** Packages that are no packs, and what is said of them. */
const BROKEN: readonly [string, PackFiles, string][] = [
  ["without the field", { "package.json": '{"name": "acme", "version": "1.0.0"}' }, 'has no field "phasegate"'],
  [
    "with another package as its version",
    { "package.json": '{"name": "acme", "version": "npm:evil@1.0.0", "phasegate": {"workflows": "workflows"}}' },
    "package.json, version: it is no version",
  ],
  [
    "with an option as its name",
    { "package.json": '{"name": "--global", "version": "1.0.0", "phasegate": {"workflows": "workflows"}}' },
    "package.json, name: it is no name of a package",
  ],
  ["with an empty field", manifest({}), 'phasegate: it must have "workflows", "verifiers" or both'],
  ["with an unknown key", manifest({ workflows: "workflows", commands: ["sh"] }), 'Unrecognized key: "commands"'],
  ["with a folder that is not there", manifest({ workflows: "flows" }), "names the folder flows, and there is none"],
  ["with a folder as its module", manifest({ verifiers: "workflows" }), "names the file workflows, and there is none"],
  [
    "with a broken workflow",
    { "workflows/write_report/phases/1/gate-definition.yaml": "evidence_schema: {a: {type: nothing}}\n" },
    "the pack acme is broken: write_report: ",
  ],
  [
    "whose gates name a verifier that nobody has",
    {
      "workflows/write_report/phases/1/gate-definition.yaml": "evidence_schema: {a: {type: string, verify: acme_ok}}\n",
    },
    "name verifiers that it does not bring: acme_ok",
  ],
];

function manifest(phasegate: object): PackFiles {
  return { "package.json": JSON.stringify({ name: "acme", version: "1.0.0", phasegate }) };
}

test.each(BROKEN)("a package %s is not added", async (_, files, message) => {
  const project = await aProjectWithPack(aPack({ files }));
  const before = await project.everything();
  expect(await project.run("add", "acme", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(message),
  });
  expect(await project.everything()).toEqual(before);
});

/** Modules that are not taken, and what is said of them. */
const MODULES: readonly [string, string][] = [
  ["export const other = {};", "its module exports no verifiers"],
  ["export const verifiers = { acme_ok: {} };", '"acme_ok" in its module is no verifier'],
  ["export default { command: { verify() {} } };", "its verifier command has the name of one of phasegate"],
  ["throw new Error('no luck');", "no luck"],
];

test.each(MODULES)("%s: serve ends, and says why", async (text, message) => {
  const files = { ...manifest({ workflows: "workflows", verifiers: "v.mjs" }), "v.mjs": text };
  const project = await aProjectWithPack(aPack({ files }));
  await project.run("add", "acme", "--yes");
  expect(await project.refused()).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});

test("of two packs with a verifier of one name, serve names both", async () => {
  const code = "export const verifiers = { acme_ok: { verify: async () => ({ ok: true, message: 'fine' }) } };\n";
  const files = { ...manifest({ verifiers: "v.mjs" }), "v.mjs": code };
  const other = JSON.stringify({ name: "acme-two", version: "1.0.0", phasegate: { verifiers: "v.mjs" } });
  const project = await aProjectWithPack(files);
  await project.write({
    "package.json": '{"devDependencies": {"acme": "1.0.0", "acme-two": "1.0.0"}}',
    "node_modules/acme-two/package.json": other,
    "node_modules/acme-two/v.mjs": code,
  });
  await project.run("add", "acme", "--yes");
  await project.run("add", "acme-two", "--yes");
  const { code: exit, stderr } = await project.refused();
  expect([exit, stderr]).toEqual([1, expect.stringContaining("acme-two is refused: its verifier acme_ok")]);
  expect(stderr).toContain("has the name of one of acme");
});

test("an entry that somebody has edited stays, and what to write is printed", async () => {
  const project = await aProjectWithPack(aPack());
  const config = (await project.read(".mcp.json")).replace('"command": "npx"', '"command": "pnpm"');
  await project.write({ ".mcp.json": config });
  const { code, stdout } = await project.run("add", "acme", "--yes", "--allow-command", "npm test");
  expect([code, await project.read(".mcp.json")]).toEqual([1, config]);
  expect(stdout).toContain("not changed: .mcp.json: it was edited since init wrote it\n  add this by hand:");
  expect(stdout).toContain('"--pack",');
});

test("a project that init has not set up, or without package.json, or without the pack, has a clear message", async () => {
  const project = await aProject({ "package.json": "{}" });
  const add = () => run("add", "acme", "--yes", "--project", project.root);
  expect(await add()).toMatchObject({ code: 1, stderr: expect.stringContaining("Run phasegate init first.") });
  await project.init();
  await rename(join(project.root, "package.json"), join(project.root, "other.json"));
  expect(await add()).toMatchObject({ code: 3, stderr: expect.stringContaining("there is no package.json") });
  const serve = await run("serve", "--project", project.root, "--pack", "acme", "--state", join(project.root, "s"));
  expect(serve).toMatchObject({ code: 1, stderr: expect.stringContaining("you have not added it to this project") });
  expect(await run("remove", "acme", "--project", project.root)).toMatchObject({ code: 3 });
});

test("a folder with the name of a package that the project has is not installed in its place", async () => {
  const project = await aProjectWithPack(aPack());
  const folder = join(project.home, "other");
  await cp(join(project.root, "node_modules/acme"), folder, { recursive: true });
  expect(await project.run("add", folder, "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("package.json names acme already"),
  });
});

test("a package that can't be installed says what the package manager has said", async () => {
  const project = await aProject({ "package.json": "{}" });
  await project.init();
  await writeFile(join(project.home, "pack.tgz"), "no tarball");
  const { code, stderr } = await run("add", join(project.home, "pack.tgz"), "--yes", "--project", project.root);
  expect([code, stderr]).toEqual([3, expect.stringMatching(/npm install .* ended with \d/)]);
  expect(stderr).toContain("Nothing was installed.");
  const nothing = await run("add", join(project.home, "nothing.tgz"), "--yes", "--project", project.root);
  expect(nothing).toMatchObject({ code: 3, stderr: expect.stringContaining("there is no such tarball or folder") });
});

test("a link in a pack is refused", async () => {
  const project = await aProjectWithPack(aPack());
  await symlink("phase.md", join(project.root, "node_modules/acme/workflows/write_report/phases/1/task-1-x.md"));
  expect(await project.run("add", "acme", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("task-1-x.md is a link or no file"),
  });
});

test("doctor checks the workflows of packs", async () => {
  const project = await aProjectWithPack(aPack({ gate: GATE.replace("npm test", "node --version") }));
  await project.run("add", "acme", "--yes", "--allow-command", "node --version");
  const doctor = () => project.run("doctor", "--no-start");
  expect(await doctor()).toMatchObject({ stdout: expect.stringContaining("acme/write_report: can be started") });
  await project.install(aPack());
  expect(await doctor()).toMatchObject({ code: 1, stdout: expect.stringContaining("the pack acme is refused") });
});

test("graph draws a workflow of a pack", async () => {
  const project = await aProjectWithPack(aPack());
  await project.run("add", "acme", "--yes");
  const { code, stdout } = await project.run("graph", "write_report", "--pack", "acme");
  expect([code, stdout]).toEqual([0, expect.stringContaining("Write")]);
});

test("a workflow of the project can extend one of a pack, and one of a pack a starter", async () => {
  const project = await aProjectWithPack({
    ...aPack(),
    "workflows/our_fix/metadata.json": JSON.stringify({
      ...{ workflow_type: "our_fix", extends: "bug_fix", options: { test_command: "npm test" } },
      phases: [{ change: "Finish" }],
    }),
    "workflows/our_fix/phases/finish/gate-definition.yaml": "approval: Is it good?\n",
  });
  const { code, stdout } = await project.run("add", "acme", "--yes", "--allow-command", "npm test");
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("workflow our_fix: 4 phases") });
  const folder = join(project.root, ".phasegate-workflows");
  await writeFiles(folder, {
    "own/metadata.json": JSON.stringify({
      ...{ workflow_type: "own", extends: "write_report" },
      phases: [{ change: "Write" }],
    }),
    "own/phases/write/gate-definition.yaml": "evidence_schema:\n  readers: {type: list}\n",
  });
  const alone = await project.run("validate", folder);
  expect(alone.stdout).toMatch(/error: there is no workflow "write_report" to extend/);
  const found = await project.run("validate", folder, "--pack", "acme", "--allow-command", "npm test");
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("ok      own\n") });
  const places = ["--workflows", folder, "--pack", "acme"];
  const doctor = await project.run("doctor", "--no-start", ...places, "--allow-command", "npm test");
  expect(doctor.stdout).toContain('there is no workflow "bug_fix" to extend: looked in .phasegate-workflows and acme');
  expect(doctor.stdout).toContain(".phasegate-workflows/own: can be started");
  const state = join(project.root, ".phasegate");
  const { ask } = await connectToServe([
    ...places,
    "--allow-command",
    "npm test",
    "--starters",
    "--state",
    state,
    "--project",
    project.root,
  ]);
  const { workflows } = await ask({ action: "list_workflows" });
  expect(JSON.stringify(workflows)).toContain("write_report");
  const { session_id } = await ask({ action: "start", workflow_type: "own" });
  const evidence = { report: "a report", tested: true };
  const answer = await ask({ action: "complete_phase", session_id, phase: 1, evidence });
  expect(JSON.stringify(answer)).toContain("readers");
  expect(await ask({ action: "start", workflow_type: "our_fix" })).toMatchObject({
    ...{ status: "success", options: { test_command: "npm test" }, total_phases: 4 },
  });
});
