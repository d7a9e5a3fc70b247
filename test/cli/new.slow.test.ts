import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Ajv } from "ajv";
import { createEngine, MemoryStorage } from "phasegate";
import { FileContent, FilePlans } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { editorSchemas } from "../../scripts/editor-schemas.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { BIN } from "./bin.js";
import { run } from "./run-cli.js";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("phasegate new", () => {
  it.each([
    ["fix_a_bug", [], 6],
    ["Fix a bug", ["--phases", "1"], 4],
    ["größe-2", ["--phases", "3"], 8],
    ["long", ["--phases", "12"], 26],
    ["planned", ["--plan"], 6],
    ["ROUTED", ["--routed"], 4],
  ])("writes %s with %j, which validates without a warning", async (name, options, count) => {
    const root = await temporaryFolder();
    const folder = join(root, "workflows");
    const { code, stdout, stderr } = await run("new", name, "--in", folder, ...options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.match(/^wrote /gm)).toHaveLength(count);
    const checked = await run("validate", folder, "--project", root);
    expect(checked).toMatchObject({ code: 0, stdout: `ok      ${name}\n1 workflow: 0 errors, 0 warnings\n` });
    expect(await filesIn(join(folder, name))).toHaveLength(count);
  });

  it("names the commands to run next, with quotes where a shell needs them", async () => {
    const root = await temporaryFolder();
    vi.spyOn(process, "cwd").mockReturnValue(root);
    vi.stubEnv("npm_command", "");
    const { stdout } = await run("new", "Fix a $bug");
    expect(stdout).toContain("  phasegate validate 'workflows/Fix a $bug' --project . ");
    expect(stdout).toContain("  phasegate serve --workflows workflows --state .phasegate --project . ");
    expect(await filesIn(join(root, "workflows/Fix a $bug"))).toHaveLength(6);
    expect((await run("new", "two words", "--routed")).stdout).toContain('phasegate validate "workflows/two words" ');
    vi.stubEnv("npm_command", "exec");
    expect(
      (await run("new", "by_npx", "--plan")).stdout.match(/^ {2}npx phasegate (?:validate|plan|serve) /gm),
    ).toHaveLength(3);
  });

  it("writes files that fit their schemas, and names these by the path of the package", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, { "node_modules/phasegate/schemas/metadata.json": "{}" });
    const schemas = editorSchemas();
    const ajv = new Ajv({ strict: false, schemas });
    for (const [name, options] of [
      ["phased", []],
      ["planned", ["--plan"]],
    ] as const) {
      await run("new", name, "--in", join(root, "a/workflows"), ...options);
      for (const file of await filesIn(join(root, "a/workflows", name))) {
        const text = await readFile(file, "utf8");
        const [schema] = /[\w.-]+\.(?:json|yaml)$/.exec(file)?.map((found) => found.replace(/yaml$/, "json")) ?? [];
        if (schema === undefined || schemas[schema] === undefined) continue;
        expect(ajv.validate(schema, parse(text))).toBe(true);
        const [, address = ""] = /(?:"\$schema": "|^# yaml-language-server: \$schema=)([^"\n]+)/.exec(text) ?? [];
        expect(join(dirname(file), address)).toBe(join(root, "node_modules/phasegate/schemas", schema));
      }
    }
  });

  it("names the schemas by an address where the package is not installed", async () => {
    const root = await temporaryFolder();
    await run("new", "alone", "--in", root);
    const address = `https://unpkg.com/phasegate@${manifest.version}/schemas`;
    const metadata: unknown = JSON.parse(await readFile(join(root, "alone/metadata.json"), "utf8"));
    expect(metadata).toMatchObject({ $schema: `${address}/metadata.json`, name: "Alone" });
    const gate = await readFile(join(root, "alone/phases/1/gate-definition.yaml"), "utf8");
    expect(gate).toMatch(`# yaml-language-server: $schema=${address}/gate-definition.json\n`);
  });

  it("writes a workflow whose gates look at the project", async () => {
    const root = await temporaryFolder();
    await run("new", "walked", "--in", join(root, "workflows"));
    await mkdir(join(root, "project"));
    const engine = createEngine({
      storage: new MemoryStorage(),
      content: new FileContent({ roots: [join(root, "workflows")] }),
      verifiers: await createVerifiers({ projectRoot: join(root, "project") }),
    });
    const { sessionId } = await engine.start({ workflowType: "walked", target: "notes.md" });
    const first = { summary: "The parser was split in two", notes: "notes.md" };
    const refused = await engine.session(sessionId).completePhase(1, first);
    expect(refused).toMatchObject({ passed: false, problems: [{ field: "notes" }] });
    await writeFile(join(root, "project/notes.md"), "Notes");
    expect(await engine.session(sessionId).completePhase(1, first)).toMatchObject({ passed: true });
    const last = await engine.session(sessionId).completePhase(2, { checked: true, files: ["notes.md"] });
    expect(last).toMatchObject({ passed: true, nextPhase: null });
  });

  it("writes a plan that the planned workflow carries out", async () => {
    const root = await temporaryFolder();
    await run("new", "planned", "--plan", "--in", root);
    const engine = createEngine({
      storage: new MemoryStorage(),
      content: new FileContent({ roots: [root] }),
      plans: new FilePlans({ root }),
    });
    const { sessionId } = await engine.start({ workflowType: "planned", target: "planned/example-tasks.md" });
    await engine.session(sessionId).completePhase(0, { tasks_read: 3 });
    const { content } = await engine.session(sessionId).phase(1);
    expect(content.text).toContain("# Phase 1: Prepare\n\nSay what is to be reached in this phase.\n\nIt has 2 tasks.");
    const evidence = { tasks_completed: ["1.1", "1.2"], validation_gate: { "1": true } };
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: true });
    expect(await readFile(join(root, "planned/example-tasks.md"), "utf8")).toContain("- [x] **Task 1.1**");
  });

  it("overwrites nothing", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, { "mine/notes.md": "mine", file: "mine" });
    for (const name of ["mine", "file"]) {
      const { code, stdout, stderr } = await run("new", name, "--in", root);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/ is there.*\n {2}hint: Choose another name/);
    }
    expect((await filesIn(root)).sort()).toEqual([join(root, "file"), join(root, "mine/notes.md")]);
    await mkdir(join(root, "empty"));
    expect(await run("new", "empty", "--in", root)).toMatchObject({ code: 0 });
  });

  it.skipIf(process.platform === "win32")("leaves nothing behind if the disk is full", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, { "workflows/notes.md": "mine" });
    // An empty folder that is there stays, with its rights.
    await mkdir(join(root, "c/foo"), { recursive: true });
    await chmod(join(root, "c/foo"), 0o700);
    // No file may have more than a kB: the first one has less.
    const limited = 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"';
    for (const folder of ["workflows", "a/b", "c"]) {
      const args = ["-c", limited, process.execPath, BIN, "new", "foo", "--in", join(root, folder)];
      const { status, stderr } = spawnSync("sh", args, { encoding: "utf8" });
      expect({ status, stderr }).toEqual({ status: 3, stderr: expect.stringContaining("can't be written (EFBIG)") });
    }
    expect((await readdir(root, { recursive: true })).sort()).toEqual([
      "c",
      "c/foo",
      "workflows",
      "workflows/notes.md",
    ]);
    expect((await run("new", "foo", "--in", join(root, "c"))).code).toBe(0);
    expect((await stat(join(root, "c/foo"))).mode & 0o777).toBe(0o700);
    await mkdir(join(root, "elsewhere"));
    await symlink(join(root, "elsewhere"), join(root, "workflows/linked"));
    expect((await run("new", "linked", "--in", join(root, "workflows"))).code).toBe(0);
    expect(await filesIn(join(root, "elsewhere"))).not.toEqual([]);
  });

  it("writes once if it runs twice at once", async () => {
    const root = join(await temporaryFolder(), "workflows");
    const runs = await Promise.all(["foo", "foo", "bar"].map((name) => run("new", name, "--in", root)));
    expect(runs.filter(({ code }) => code === 0)).toHaveLength(2);
    expect((await readdir(root)).sort()).toEqual(["bar", "foo"]);
    expect(await filesIn(join(root, "foo"))).toHaveLength(6);
  });

  it.each([
    [["Fix", "a", "bug"], /3 names are given[\s\S]*phasegate new "Fix a bug"/],
    [["workflows/foo"], /phasegate new foo --in workflows/],
    [["a\\b c"], /phasegate new "b c" --in a/],
    [["a:b"], /can't be the name[\s\S]*every file system accepts/],
    [["../foo/.."], /can't be the name[\s\S]*every file system accepts/],
    [[""], /can't be the name/],
    [["x", "--phases", "0"], /at least 1/],
    [["x", "--phases", "51"], /at most 50/],
    [["x", "--plan", "--phases", "2"], /cannot be used with/],
    [["x", "--plan", "--routed"], /cannot be used with/],
    [[], /missing required argument 'name'/],
  ])("refuses %j", async (args, message) => {
    const root = await temporaryFolder();
    vi.spyOn(process, "cwd").mockReturnValue(root);
    const { code, stdout, stderr } = await run("new", ...args);
    expect({ code, stdout, files: await readdir(root) }).toEqual({ code: 2, stdout: "", files: [] });
    expect(stderr).toMatch(message);
  });

  it("does not write into another workflow, or into a file", async () => {
    const root = await temporaryFolder();
    await writeFiles(root, { "one/metadata.json": "{}", "two/index.md": "", "two/steps/a.md": "", file: "" });
    for (const name of ["one", "two"]) {
      const { code, stderr } = await run("new", "x", "--in", join(root, name));
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("is a workflow itself") });
    }
    const { code, stderr } = await run("new", "x", "--in", join(root, "file"));
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining("file is not a folder") });
  });
});
