import { link, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { digest } from "../../src/workflow/json.js";
import { answering, run } from "../cli/run-cli.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { initialise } from "../support/a-repository.js";
import { aProject, treeOf } from "./a-project.js";

test("a new project gets workflows, an entry, instructions, an ignored state and the record", async () => {
  const project = await aProject({ "package.json": '{"scripts": {"test": "node --test"}}' });
  const { code, stdout } = await project.init();
  expect(code).toBe(0);
  expect(Object.keys(await project.everything()).sort()).toEqual(
    [
      ...[".git", ".git/HEAD", ".gitignore", ".keep", ".mcp.json", ".phasegate-init.json", "CLAUDE.md", "package.json"],
      ...["workflows", "workflows/bug_fix", "workflows/bug_fix/metadata.json", "workflows/bug_fix/phases"],
      ...["workflows/bug_fix/phases/1", "workflows/bug_fix/phases/1/gate-definition.yaml"],
      ...["workflows/bug_fix/phases/1/phase.md", "workflows/plan_execution", "workflows/plan_execution/metadata.json"],
      ...["workflows/plan_execution/phases", "workflows/plan_execution/phases/1"],
      ...["workflows/plan_execution/phases/1/gate-definition.yaml", "workflows/plan_execution/phases/1/phase.md"],
    ].sort(),
  );
  expect(await project.read(".gitignore")).toBe("# phasegate:begin\n.phasegate/\n# phasegate:end\n");
  expect(await project.read("CLAUDE.md")).toContain("- `bug_fix`: Shows a bug with a test, then fixes it\n");
  // The command that was found is the default of the option that wants one, and the server may run it.
  expect(await project.json("workflows/bug_fix/metadata.json")).toMatchObject({
    options_schema: { properties: { test_command: { default: "npm test" } } },
  });
  expect(await project.read(".mcp.json")).toContain('"--allow-command",\n        "npm test"\n');
  expect(stdout).toContain("Commit what was written, .phasegate-init.json too.");
});

test("packages that git would commit are named before the step that commits", async () => {
  const project = await aProject({ "package.json": "{}" });
  await initialise(project.root);
  await project.write({ "node_modules/phasegate/package.json": "{}" });
  const { stdout } = await project.init();
  expect(stdout).toMatch(/Write node_modules\/ into \.gitignore: .*\n {2}- Commit what was written/);
  await project.write({ ".gitignore": "node_modules/\n" });
  expect((await project.init("--update")).stdout).not.toContain("Write node_modules/");
});

test("the workflows that init writes are valid", async () => {
  const project = await aProject({ "package.json": '{"scripts": {"test": "node --test"}}' });
  await project.init();
  expect(await run("validate", join(project.root, "workflows"))).toMatchObject({ code: 0 });
});

test("--dry-run shows the lines that would change, and changes nothing", async () => {
  const project = await aProject({ ".mcp.json": '{\n  "mcpServers": {\n    "a": {}\n  }\n}\n' });
  const before = await project.everything();
  const { code, stdout } = await project.init("--dry-run");
  expect([code, await project.everything()]).toEqual([0, before]);
  expect(stdout).toContain('    -    "a": {}\n    +    "a": {},\n    +    "phasegate": {\n');
  expect(stdout).toContain("  create  workflows/bug_fix/metadata.json\n");
  expect(stdout).not.toContain("Done");
});

test("init finds the project from any folder in it, also through a link and with blanks in its path", async () => {
  const project = await aProject({ "packages/one/src/a.ts": "", "packages/one/package.json": "{}" });
  const link = join(project.home, "a link");
  await symlink(join(project.root, "packages", "one", "src"), link);
  vi.spyOn(process, "cwd").mockReturnValue(link);
  expect(await run("init", "--starters-from", project.starters)).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain("phasegate");
});

test("without .git the nearest package.json is the project; the user's own folder is none", async () => {
  const project = await aProject({ "package.json": "{}", "src/a.ts": "" });
  await rm(join(project.root, ".git"), { recursive: true });
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(join(project.root, "src"));
  expect(await run("init", "--starters-from", project.starters)).toMatchObject({ code: 0 });
  await mkdir(join(project.home, ".git"));
  await mkdir(join(project.home, "notes"));
  cwd.mockReturnValue(join(project.home, "notes"));
  const { code, stderr } = await run("init", "--starters-from", project.starters);
  expect([code, stderr]).toEqual([3, expect.stringContaining("is in no project")]);
});

test("what somebody has edited is neither renewed nor taken out", async () => {
  const project = await aProject();
  await project.init("--client", "claude");
  const config = JSON.parse(await project.read(".mcp.json"));
  config.mcpServers.phasegate.env = { CI: "1" };
  const edited = `${JSON.stringify(config, null, 4)}\n`;
  const memory = (await project.read("CLAUDE.md")).replace("## Gated work", "## Ours");
  await project.write({
    ".mcp.json": edited,
    "CLAUDE.md": memory,
    "workflows/bug_fix/phases/1/phase.md": "# Ours\n",
    "node_modules/phasegate/package.json": "{}",
  });
  const update = await project.init("--update");
  expect(update).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(".mcp.json was edited since init wrote it"),
  });
  expect([await project.read(".mcp.json"), await project.read("CLAUDE.md")]).toEqual([edited, memory]);
  const remove = await project.init("--remove");
  expect(remove.stdout).toContain("workflows/bug_fix/phases/1/phase.md was edited since init wrote it: it stays");
  expect([await project.read(".mcp.json"), await project.read("CLAUDE.md")]).toEqual([edited, memory]);
  const left = Object.keys(await treeOf(join(project.root, "workflows")));
  expect(left).toEqual(["bug_fix", "bug_fix/phases", "bug_fix/phases/1", "bug_fix/phases/1/phase.md"]);
});

test("--update renews what is as init left it, also where others have changed the file besides", async () => {
  const project = await aProject({ "AGENTS.md": "# Rules\r\n\r\nBe kind.\r\n" });
  await project.init("--client", "claude,codex");
  await project.write({
    "node_modules/phasegate/package.json": "{}",
    "AGENTS.md": `${await project.read("AGENTS.md")}Be brief.\r\n`,
  });
  const later = (await readFile(join(project.starters, "bug_fix/metadata.json"), "utf8")).replace(
    "Shows a bug",
    "Proves a bug",
  );
  await writeFile(join(project.starters, "bug_fix/metadata.json"), later);
  await rm(join(project.starters, "bug_fix/phases/1/gate-definition.yaml"));
  await writeFile(join(project.starters, "bug_fix/phases/1/task-1-look.md"), "# Look\n");

  const added = await project.init();
  expect(added.stdout).toContain(".mcp.json is not what init would write now; `phasegate init --update` renews it");
  expect(await project.init("--update")).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain('"command": "node"');
  expect(await project.read(".codex/config.toml")).toContain('command = "node"');
  expect(await project.read("workflows/bug_fix/metadata.json")).toContain("Proves a bug");
  const phase = Object.keys(await treeOf(join(project.root, "workflows/bug_fix/phases/1")));
  expect(phase.sort()).toEqual(["phase.md", "task-1-look.md"]);
  expect(await project.read("AGENTS.md")).toMatch(
    /^# Rules\r\n\r\nBe kind\.\r\n\r\n<!-- phasegate:begin -->\r\n[\s\S]*Proves a bug/,
  );

  expect(await project.init("--update")).toMatchObject({ stdout: "Nothing to change.\n" });
  expect(await project.init("--remove")).toMatchObject({ code: 0 });
  expect(await project.read("AGENTS.md")).toBe("# Rules\r\n\r\nBe kind.\r\nBe brief.\r\n");
  expect(
    Object.keys(await project.everything()).filter((path) => /workflows|codex|mcp|CLAUDE|phasegate-/.test(path)),
  ).toEqual([]);
});

test("an update of a file that nobody else has changed is taken back to the letter", async () => {
  const text = '{"mcpServers": {"a": {}, },}';
  const project = await aProject({ ".mcp.json": text });
  await project.init();
  await project.write({ "node_modules/phasegate/package.json": "{}" });
  await project.init("--update", "--hooks");
  expect(await project.read(".mcp.json")).toContain('"command": "node"');
  await project.init("--remove");
  expect(await project.read(".mcp.json")).toBe(text);
});

test("what is missing is added again; a file that was taken out of a workflow is not", async () => {
  const project = await aProject();
  await project.init();
  await rm(join(project.root, ".mcp.json"));
  await rm(join(project.root, "workflows/bug_fix/phases/1/phase.md"));
  for (const flags of [[], ["--update"]]) {
    expect(await project.init(...flags)).toMatchObject({ code: 0 });
    expect(await project.read(".mcp.json")).toContain("phasegate");
    await expect(project.read("workflows/bug_fix/phases/1/phase.md")).rejects.toThrow("ENOENT");
  }
});

test("a configuration that was taken away, and is written again by init, is taken away again", async () => {
  const project = await aProject({ ".mcp.json": "{}\n" });
  await project.init();
  await rm(join(project.root, ".mcp.json"));
  await project.init();
  await project.init("--remove");
  await expect(project.read(".mcp.json")).rejects.toThrow("ENOENT");
});

test("another checkout, with other line ends and without the configuration outside of the project, is the same", async () => {
  const project = await aProject({ "CLAUDE.md": "# Rules\n" });
  await project.init("--client", "claude,windsurf");
  const outside = join(project.home, ".codeium");
  await rm(outside, { recursive: true });
  const paths = ["CLAUDE.md", ".mcp.json", "workflows/bug_fix/metadata.json", "workflows/bug_fix/phases/1/phase.md"];
  for (const path of paths) await project.write({ [path]: (await project.read(path)).replaceAll("\n", "\r\n") });
  expect(await project.init()).toMatchObject({ stdout: "Nothing to change.\n" });
  expect(await project.init("--update")).toMatchObject({ stdout: "Nothing to change.\n" });
  await expect(readFile(outside)).rejects.toThrow("ENOENT");
  expect(await project.init("--remove")).toMatchObject({ code: 0, stdout: expect.not.stringContaining("edited") });
  expect(Object.keys(await project.everything()).sort()).toEqual([".git", ".git/HEAD", ".keep", "CLAUDE.md"]);
  expect(await project.read("CLAUDE.md")).toBe("# Rules\r\n");
});

test("more clients, workflows and hooks can be added later", async () => {
  const project = await aProject();
  const before = await project.everything();
  await project.init("--client", "claude", "--starters", "bug_fix");
  await project.init("--client", "cursor,gemini", "--starters", "plan_execution", "--hooks");
  expect(await project.json(".cursor/hooks.json")).toMatchObject({ version: 1, hooks: { stop: [{ loop_limit: 1 }] } });
  expect(await project.json(".gemini/settings.json")).toMatchObject({ mcpServers: {}, hooks: { AfterAgent: [{}] } });
  expect(await project.json(".claude/settings.json")).toMatchObject({ hooks: { Stop: [{}] } });
  expect(await project.read("workflows/plan_execution/phases/1/phase.md")).toContain("Do it.");
  await project.init("--update", "--no-hooks");
  await expect(project.read(".cursor/hooks.json")).rejects.toThrow("ENOENT");
  expect(await project.json(".gemini/settings.json")).toEqual({ mcpServers: { phasegate: expect.anything() } });
  await project.init("--remove");
  expect(await project.everything()).toEqual(before);
});

test("without starters of its own the project has those of the package, or the workflows that it has", async () => {
  const project = await aProject();
  expect(await project.init("--starters", "none")).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain('"--starters"');
  await project.write({ "workflows/own/metadata.json": "{}" });
  await project.init("--update");
  expect(await project.read(".mcp.json")).not.toContain('"--starters"');
  await project.init("--remove");
  expect(Object.keys(await treeOf(join(project.root, "workflows")))).toEqual(["own", "own/metadata.json"]);
});

test("a folder of a workflow that was there before is not touched", async () => {
  const project = await aProject({ "workflows/bug_fix/metadata.json": "{}" });
  const { code, stdout } = await project.init();
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("workflows/bug_fix was there before, and stays as it is"),
  ]);
  expect(await project.read("workflows/bug_fix/metadata.json")).toBe("{}");
  await project.init("--remove");
  expect(Object.keys(await treeOf(join(project.root, "workflows")))).toEqual(["bug_fix", "bug_fix/metadata.json"]);
});

test("a read-only file is left alone, and so is a file with several names", async () => {
  const project = await aProject({ ".mcp.json": "{}\n", "CLAUDE.md": "# Rules\n" });
  await project.protect(".mcp.json");
  await link(join(project.root, "CLAUDE.md"), join(project.home, "rules.md"));
  const { code, stdout } = await project.init();
  expect([code, await project.read(".mcp.json"), await project.read("CLAUDE.md")]).toEqual([1, "{}\n", "# Rules\n"]);
  expect(stdout).toContain("not changed: .mcp.json: it is read-only\n  add this by hand:\n");
  expect(stdout).toContain("not changed: CLAUDE.md: it has several names (hard links)\n");
  // Once it is there, there is nothing to complain about.
  const byHand = /\.mcp\.json: it is read-only\n {2}add this by hand:\n((?: {4}.*\n)+)/.exec(stdout)?.[1] ?? "";
  await rm(join(project.root, ".mcp.json"));
  await project.write({ ".mcp.json": byHand });
  await project.protect(".mcp.json");
  expect((await project.init()).stdout).not.toContain(".mcp.json");
});

test("nothing is written through a link; of two names of one file, one is enough", async () => {
  const project = await aProject({ "AGENTS.md": "# Rules\n", "shared/mcp.json": "{}\n" });
  await symlink("AGENTS.md", join(project.root, "CLAUDE.md"));
  await symlink("shared/mcp.json", join(project.root, ".mcp.json"));
  await writeFile(join(project.home, "ignored"), "");
  await symlink(join(project.home, "ignored"), join(project.root, ".gitignore"));
  await symlink("nothing", join(project.root, "GEMINI.md")); // to a file that does not exist
  const before = await project.everything();
  const { code, stdout } = await project.init("--client", "claude,gemini,codex");
  expect(code).toBe(1);
  expect(stdout).toMatch(/not changed: \.gitignore: the path \S+ is refused/);
  expect(stdout).toContain("not changed: GEMINI.md: the path");
  expect(stdout).toContain(
    "not changed: .mcp.json: it is a link, and nothing is written through one\n  add this by hand:",
  );
  expect((await project.read("AGENTS.md")).split("phasegate:begin").length).toBe(2);
  expect(await project.read("shared/mcp.json")).toBe("{}\n");
  await project.init("--remove");
  expect(await project.everything()).toEqual(before);
});

test("instructions that include AGENTS.md need no block of their own", async () => {
  const project = await aProject({ "AGENTS.md": "# Rules\n", "CLAUDE.md": "@AGENTS.md\n" });
  await project.init();
  expect(await project.read("AGENTS.md")).toContain("phasegate:begin");
  expect(await project.read("CLAUDE.md")).toBe("@AGENTS.md\n");
});

test("a block whose marks are damaged is left alone", async () => {
  const project = await aProject({ "CLAUDE.md": "<!-- phasegate:begin -->\nours\n" });
  const { code, stdout } = await project.init();
  expect([code, await project.read("CLAUDE.md")]).toEqual([1, "<!-- phasegate:begin -->\nours\n"]);
  expect(stdout).toContain("don't enclose one block");
});

test("a state that is ignored already needs no block", async () => {
  const project = await aProject({ ".gitignore": "dist\n/.phasegate\n" });
  await project.init();
  expect(await project.read(".gitignore")).toBe("dist\n/.phasegate\n");
});

test("a file that is no UTF-8 is left alone", async () => {
  const project = await aProject({
    ".mcp.json": new Uint8Array(Buffer.from("{}", "utf16le")),
    "CLAUDE.md": new Uint8Array([0xff, 0xfe]),
  });
  const { code, stdout } = await project.init();
  expect([code, stdout]).toEqual([1, expect.stringContaining("is not UTF-8 text")]);
});

test("a record that can't be read stops everything", async () => {
  const project = await aProject();
  await project.init();
  const record = await project.read(".phasegate-init.json");
  for (const [text, why] of [
    [record.slice(1), "it is not JSON"],
    [record.replace('"format": 1', '"format": 2'), "format: "],
  ] as const) {
    await project.write({ ".phasegate-init.json": text });
    expect(await project.init("--remove")).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  }
  await rename(join(project.root, ".phasegate-init.json"), join(project.home, "record"));
  for (const flag of ["--remove", "--update"]) {
    expect(await project.init(flag)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is no .phasegate-init.json"),
    });
  }
});

test("a record never leads init to files that it did not write", async () => {
  const project = await aProject({ "notes.md": "mine\n" });
  await project.init();
  const record = JSON.parse(await project.read(".phasegate-init.json"));
  const ofNotes = digest("mine\n");
  for (const path of ["../home/precious", "~/precious", "/etc/passwd", "C:\\precious", ".git/hooks/pre-commit"]) {
    const pieces = [...record.pieces, { path, kind: "file", digest: ofNotes }];
    await project.write({ ".phasegate-init.json": JSON.stringify({ ...record, pieces }) });
    expect(await project.init("--remove")).toMatchObject({ code: 1, stderr: expect.stringContaining("never writes") });
  }
  for (const folder of ["../home", "~/../x", "~", "~/empty", ".git/hooks", "src"]) {
    await project.write({ ".phasegate-init.json": JSON.stringify({ ...record, folders: [folder] }) });
    expect(await project.init("--remove")).toMatchObject({ code: 1, stderr: expect.stringContaining("never makes") });
  }
  const pieces = [...record.pieces, { path: "notes.md", kind: "file", digest: digest("theirs\n") }];
  await project.write({ ".phasegate-init.json": JSON.stringify({ ...record, pieces }) });
  expect(await project.init("--remove", "--trust")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("never writes"),
  });
  expect(await project.read("notes.md")).toBe("mine\n");
});

test.each([
  [["--client", "emacs"], "Unknown: emacs. There are claude, cursor"],
  [["--starters", "nothing"], "there is no starter nothing"],
  [["--test-command", "npm test | tee log"], "Gates run it without a shell"],
  [["--update", "--remove"], "cannot be used with option"],
  [["--client", "claude,"], "Join the names by ','"],
])("%j is refused as wrong usage", async (flags, message) => {
  const project = await aProject();
  expect(await project.init(...flags)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
});

const DOWN = "\u001b[B";

test("on a terminal it asks for what was not given, and writes after a yes", async () => {
  const project = await aProject({ "Cargo.toml": "[package]\n" });
  const args = ["init", "--project", project.root, "--starters-from", project.starters];
  const before = await project.everything();
  // Of the clients, claude is unchecked and cursor checked; of the workflows, the second one is unchecked.
  const [clients, starters] = [` ${DOWN} `, `${DOWN} `];
  const no = await answering(args, [clients, starters, "", "y", "n"]);
  expect([no.code, no.left, await project.everything()]).toEqual([1, [], before]);
  expect(no.text).toContain("> [x] claude  Claude Code\n  [ ] cursor  Cursor\n");
  expect(no.text).toContain("  [ ] claude  Claude Code\n> [x] cursor  Cursor\n");
  expect(no.text).toContain("Command that checks the project, or none [cargo test]: ");

  const yes = await answering(args, [clients, starters, "cargo test | cat", "cargo test --all", "y", ""]);
  expect([yes.code, yes.left]).toEqual([0, []]);
  expect(yes.text).toContain("Write this? [Y/n] ");
  expect(yes.text).toMatch(/Then say to your agent: Use phasegate's workflow bug_fix to …\n$/);
  expect(await project.json("workflows/bug_fix/metadata.json")).toMatchObject({
    options_schema: { properties: { test_command: { default: "cargo test --all" } } },
  });
  expect(await project.read(".cursor/hooks.json")).toContain("hook stop --client cursor");
  await expect(project.read("workflows/plan_execution/metadata.json")).rejects.toThrow("ENOENT");
});

test("it asks for the command until there is one, or none; the end of the input changes nothing", async () => {
  const project = await aProject();
  const args = ["init", "--project", project.root, "--starters-from", project.starters];
  const before = await project.everything();
  const asked = await answering(args, ["", "", "", "", "none", "n", "n"]);
  expect([asked.code, asked.left]).toEqual([1, []]);
  expect(asked.text.match(/Command that checks the project, or none: /g)).toHaveLength(3);
  expect(asked.text).toContain("Write a program and its arguments, such as npm test");
  for (const answers of [["\u0003"], ["", "\u0003"]]) {
    const ended = await answering(args, answers);
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the input has ended: nothing was changed"),
    });
  }
  expect(await project.everything()).toEqual(before);
});

test("with --yes nothing is asked on a terminal", async () => {
  const project = await aProject();
  const args = ["init", "--project", project.root, "--starters-from", project.starters, "--yes"];
  expect(await answering(args, [])).toMatchObject({ code: 0 });
  expect(await project.read(".mcp.json")).toContain("phasegate");
});

test("a folder that is no project at all is refused", async () => {
  const folder = await temporaryFolder();
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  vi.stubEnv("HOME", folder);
  expect(await run("init")).toMatchObject({ code: 3 });
});

test("in a package of a monorepo the server is started from where phasegate is installed", async () => {
  const manifest = '{"devDependencies": {"phasegate": "*"}}';
  const project = await aProject({
    "node_modules/phasegate/package.json": "{}",
    "node_modules/@modelcontextprotocol/server/package.json": "{}",
    "packages/app/package.json": manifest,
  });
  const app = join(project.root, "packages/app");
  const { code, stdout } = await run("init", "--project", app, "--starters-from", project.starters);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining("Install the MCP SDK")]);
  expect(await project.json("packages/app/.mcp.json")).toMatchObject({
    mcpServers: { phasegate: { args: expect.arrayContaining(["../../node_modules/phasegate/dist/cli/main.js"]) } },
  });
});

test("a package of a monorepo that depends on phasegate is the project, and starts its own copy", async () => {
  const project = await aProject({
    "pnpm-lock.yaml": "",
    "packages/app/package.json": '{"dependencies": {"phasegate": "workspace:*"}, "scripts": {"test": "node --test"}}',
    "packages/app/node_modules/phasegate/package.json": "{}",
    "packages/app/node_modules/@modelcontextprotocol/server/package.json": "{}",
    "packages/app/src/a.ts": "",
    "packages/other/package.json": "{}",
  });
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(join(project.root, "packages/app/src"));
  expect(await run("init", "--client", "claude", "--starters-from", project.starters)).toMatchObject({ code: 0 });
  expect(await project.json("packages/app/.mcp.json")).toMatchObject({
    mcpServers: {
      phasegate: { args: expect.arrayContaining(["node_modules/phasegate/dist/cli/main.js", "pnpm test"]) },
    },
  });
  cwd.mockReturnValue(join(project.root, "packages/other"));
  expect((await run("init", "--client", "claude", "--starters-from", project.starters)).stdout).toContain(
    `Changes in ${project.root}:`,
  );
});

test("what an interrupted run has begun is completed by the next one, and taken back as a whole", async () => {
  const project = await aProject({ ".mcp.json": "{}\n", "CLAUDE.md": "# Rules\n" });
  const before = await project.everything();
  await project.init();
  // As a process leaves it that ends between two files.
  const record = await project.read(".phasegate-init.json");
  await project.write({ ".phasegate-init.json": record.replace('"format": 1,', '"format": 1,\n  "pending": true,') });
  await project.write({ ".mcp.json": "{}\n" });
  for (const path of ["workflows/plan_execution/phases", ".gitignore"])
    await rm(join(project.root, path), { recursive: true });
  expect(await project.init()).toMatchObject({ code: 0, stdout: expect.not.stringContaining("was there before") });
  expect(await project.read("workflows/plan_execution/phases/1/phase.md")).toContain("Do it.");
  expect(await project.read(".mcp.json")).toContain("phasegate");
  expect(await project.read(".phasegate-init.json")).not.toContain("pending");
  expect(await project.init("--remove")).toMatchObject({ code: 0 });
  expect(await project.everything()).toEqual(before);
});
