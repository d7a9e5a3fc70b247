import { chmod, readFile, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { claimName } from "../../src/sandbox/replace.js";
import { readOwnRecord } from "../../src/setup/own-record.js";
import { planSetup } from "../../src/setup/plan.js";
import { applyPlan } from "../../src/setup/project.js";
import { RECORD_PATH, type SetupRecord } from "../../src/setup/record.js";
import { aProject } from "./a-project.js";

const EMPTY = { make: [], unmake: [], notes: [], refused: [] };

test("a file that has changed since it was read stops everything before anything is written", async () => {
  const project = await aProject({ "a.md": "one\n", "b.md": "later\n" });
  const before = await project.everything();
  const changes = [
    { path: "a.md", before: "one\n", after: "two\n" },
    { path: "b.md", before: "earlier\n", after: "two\n" },
  ];
  await expect(applyPlan(project, { ...EMPTY, changes })).rejects.toThrow("b.md has changed since it was read");
  const isNew = [
    { path: "c.md", after: "x" },
    { path: "b.md", after: "x" },
  ];
  await expect(applyPlan(project, { ...EMPTY, changes: isNew })).rejects.toThrow("b.md has changed since it was read");
  const isGone = [
    { path: "a.md", before: "one\n" },
    { path: "d.md", before: "x" },
  ];
  await expect(applyPlan(project, { ...EMPTY, changes: isGone })).rejects.toThrow("d.md has changed since it was read");
  expect(await project.everything()).toEqual(before);
});

test("a run that is refused leaves what another one has kept for the user", async () => {
  const project = await aProject({ "a.md": "one\n" });
  const recordOf = (...starters: string[]): SetupRecord => ({
    format: 1,
    choices: { clients: [], starters, hooks: false },
    ...{ folders: [], files: {}, pieces: [] },
  });
  const first = recordOf("first");
  const changes = [{ path: "a.md", before: "one\n", after: "two\n" }];
  await applyPlan(project, { ...EMPTY, changes, record: first });
  const second = { ...EMPTY, changes, record: recordOf("second") };
  await expect(applyPlan(project, second)).rejects.toThrow("a.md has changed since it was read");
  expect(await readOwnRecord(project)).toEqual(first);
  const blocked = { ...second, changes: [{ path: "no folder/c.md", after: "x" }] };
  await expect(applyPlan(project, blocked)).rejects.toThrow("no folder/c.md can't be written");
  expect(await readOwnRecord(project)).toEqual(first);
});

test("a folder that can't be made takes back the folders and files before it", async () => {
  const project = await aProject({ "a.md": "one\n", workflows: "a file\n" });
  const before = await project.everything();
  const changes = [{ path: "workflows/a.md", after: "x" }];
  await expect(applyPlan(project, { ...EMPTY, make: [".x", "workflows"], changes })).rejects.toThrow(
    "nothing was changed",
  );
  expect(await project.everything()).toEqual(before);
});

test("of several runs at once one writes, and the others are refused or find nothing to do", async () => {
  const project = await aProject({ "CLAUDE.md": "# Rules\n" });
  const before = await project.everything();
  for (let round = 0; round < 10; round += 1) {
    const runs = await Promise.all(Array.from({ length: 4 }, () => project.init()));
    for (const { code, stdout, stderr } of runs) {
      if (code === 0) expect(stdout).toMatch(/^Changes in|^Nothing to change/);
      else expect([code, stderr]).toEqual([3, expect.stringContaining("has changed since it was read")]);
    }
    expect(await project.json(RECORD_PATH)).not.toHaveProperty("pending");
    expect(await project.init("--remove")).toEqual({ code: 0, stdout: expect.any(String), stderr: "" });
    expect(await project.everything()).toEqual(before);
  }
});

test("adding never deletes the record, even if nothing in it is known", () => {
  const plan = planSetup({
    mode: "add",
    pieces: [{ kind: "file", path: "a.md", value: "one\n" }],
    choices: { clients: [], starters: [], hooks: false },
    outside: false,
    // Another run has written both after this one looked for the record.
    files: new Map([
      ["a.md", { text: "one\n" }],
      [RECORD_PATH, { text: "{}" }],
    ]),
    folders: new Set(),
  });
  expect(plan.changes).toEqual([]);
});

test("nothing is written while another run writes", async () => {
  const project = await aProject({ "a.md": "one\n" });
  await project.write({ [claimName(RECORD_PATH)]: "" });
  const second = applyPlan(project, { ...EMPTY, changes: [{ path: "a.md", before: "one\n", after: "two\n" }] });
  await delay(100);
  expect(await project.read("a.md")).toBe("one\n");
  await project.write({ "a.md": "first\n" });
  const refused = expect(second).rejects.toThrow("a.md has changed since it was read");
  await rm(join(project.root, claimName(RECORD_PATH)));
  await refused;
});

test("if a file can't be written, those before it get back what they had", async () => {
  const project = await aProject({ "a.md": "one\n", "b.md": "two\n" });
  await chmod(join(project.root, "b.md"), 0o600);
  const before = await project.everything();
  const changes = [
    { path: "a.md", before: "one\n", after: "x" },
    { path: "b.md", before: "two\n" },
    { path: "no folder/c.md", after: "x" },
  ];
  await expect(applyPlan(project, { ...EMPTY, changes })).rejects.toThrow(
    "no folder/c.md can't be written (ENOENT): nothing was changed",
  );
  expect(await project.everything()).toEqual(before);
});

test("temporary files that a killed run has left stop nothing, and go", async () => {
  const files = { ".mcp.json": "{}\n", "CLAUDE.md": "# Rules\n" };
  const left = {
    ".mcp.json.phasegate.tmp": "{",
    "CLAUDE.md.phasegate.tmp": "",
    ".phasegate-init.json.phasegate.tmp": "",
  };
  const project = await aProject(files);
  const before = await project.everything();
  await project.write(left);
  await symlink(join(project.home, ".keep"), join(project.root, ".gitignore.phasegate.tmp"));
  expect(await project.init()).toMatchObject({ code: 0 });
  expect(Object.keys(await project.everything()).filter((path) => path.endsWith(".tmp"))).toEqual([]);
  await project.write({ ...left, "workflows/bug_fix/metadata.json.phasegate.tmp": "{" });
  expect(await project.init("--remove")).toEqual({ code: 0, stdout: expect.any(String), stderr: "" });
  expect(await project.everything()).toEqual(before);
});

test("if a folder can't be removed, the files and folders before it are there again", async () => {
  const project = await aProject({ "a.md": "one\n", "b/c/d.md": "two\n", "e/f.md": "three\n" });
  const before = await project.everything();
  const changes = [
    { path: "a.md", before: "one\n", after: "x" },
    { path: "b/c/d.md", before: "two\n" },
  ];
  const long = "x".repeat(300);
  const removing = applyPlan(project, {
    ...EMPTY,
    changes,
    unmake: ["b/c", "e", "gone/too", "a.md", "a.md/too", "b", long],
  });
  await expect(removing).rejects.toThrow("can't be removed (ENAMETOOLONG): nothing was changed");
  expect(await project.everything()).toEqual(before);
});

test("--remove changes nothing if the right is missing to remove a folder", async ({ skip }) => {
  skip(process.platform === "win32" || process.getuid?.() === 0, "root may remove every folder");
  const project = await aProject({ "CLAUDE.md": "# Rules\n" });
  const first = await project.everything();
  await project.init();
  const before = await project.everything();
  await chmod(join(project.root, "workflows"), 0o555);
  const { code, stderr } = await project.init("--remove");
  await chmod(join(project.root, "workflows"), 0o755);
  expect([code, stderr]).toEqual([
    3,
    expect.stringContaining("the folder workflows/plan_execution can't be removed (EACCES): nothing was changed"),
  ]);
  expect(await project.everything()).toEqual(before);
  expect(await project.init("--remove")).toEqual({ code: 0, stdout: expect.any(String), stderr: "" });
  expect(await project.everything()).toEqual(first);
});

test("entries and instructions name only workflows that can be written", async () => {
  const project = await aProject();
  await symlink("../nowhere", join(project.root, "workflows"));
  const { code, stdout } = await project.init();
  expect([code, stdout]).toEqual([1, expect.stringContaining("not changed: workflows/bug_fix/metadata.json")]);
  expect(await project.read(".mcp.json")).toContain('"--starters"');
  expect(await project.read("CLAUDE.md")).not.toContain("bug_fix");
  await rm(join(project.root, "workflows"));
  expect(await project.init("--update")).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain('"--workflows"');
  expect(await project.read("CLAUDE.md")).toContain("bug_fix");
});

test("a file workflows is no folder of workflows", async () => {
  const project = await aProject({ workflows: "ours\n" });
  expect(await project.init("--starters", "none")).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain('"--starters"');
});

test("the mode of a file stays", async () => {
  const project = await aProject({ ".mcp.json": "{}\n" });
  await chmod(join(project.root, ".mcp.json"), 0o640);
  await project.init();
  expect((await project.everything())[".mcp.json"]).toMatch(/^640 /);
  await project.init("--remove");
  expect((await project.everything())[".mcp.json"]).toBe(`640 ${Buffer.from("{}\n").toString("base64")}`);
});

test("what can't be removed now is named, stays recorded, and is removed later", async () => {
  const project = await aProject({ ".mcp.json": "{}\n", "CLAUDE.md": "# Rules\n" });
  await project.init();
  await project.protect(".mcp.json");
  const memory = await project.read("CLAUDE.md");
  await project.write({ "CLAUDE.md": `${memory}<!-- phasegate:end -->\n` });
  const { code, stdout } = await project.init("--remove");
  expect(code).toBe(1);
  expect(stdout).toContain("not changed: .mcp.json: it is read-only; remove an entry mcpServers.phasegate by hand\n");
  expect(stdout).toMatch(
    /not changed: CLAUDE\.md: its marks .* don't enclose one block; remove a block of phasegate by hand/,
  );
  expect(JSON.parse(await readFile(join(project.root, RECORD_PATH), "utf8")).pieces).toHaveLength(2);
  await chmod(join(project.root, ".mcp.json"), 0o644);
  await project.write({ "CLAUDE.md": memory });
  expect(await project.init("--remove")).toEqual({ code: 0, stdout: expect.any(String), stderr: "" });
  expect([await project.read(".mcp.json"), await project.read("CLAUDE.md")]).toEqual(["{}\n", "# Rules\n"]);
  await expect(project.read(RECORD_PATH)).rejects.toThrow("ENOENT");
});

test("a hook of somebody else's that runs phasegate is not touched", async () => {
  const theirs =
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "phasegate hook stop --client claude"}]}]}}';
  const project = await aProject({ ".claude/settings.json": theirs });
  const { code, stdout } = await project.init("--hooks");
  expect([code, await project.read(".claude/settings.json")]).toEqual([1, theirs]);
  expect(stdout).toContain("it has a hook of phasegate that init did not write");
  expect(stdout).toContain('"Stop": [');
});
