import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyPlan } from "../../src/setup/project.js";
import { RECORD_PATH } from "../../src/setup/record.js";
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

test("a folder that can't be made takes back the folders and files before it", async () => {
  const project = await aProject({ "a.md": "one\n", workflows: "a file\n" });
  const before = await project.everything();
  const changes = [{ path: "workflows/a.md", after: "x" }];
  await expect(applyPlan(project, { ...EMPTY, make: [".x", "workflows"], changes })).rejects.toThrow(
    "nothing was changed",
  );
  expect(await project.everything()).toEqual(before);
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
  expect(await project.init("--remove")).toMatchObject({ code: 0 });
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
