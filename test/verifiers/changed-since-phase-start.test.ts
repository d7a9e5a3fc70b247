import { chmod, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "phasegate";
import { describe, expect, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { aProject, refused } from "./a-project.js";

const NAME = "changed_since_phase_start";

/** Creates a project at the start of a phase, and a function that runs the verifier. */
async function aPhase(files: Readonly<Record<string, string>>, params: JsonObject) {
  const project = await aProject(files);
  const snapshot = await project.snapshot(NAME, params);
  if (snapshot === undefined) throw new Error("it takes no snapshot");
  const ask = (value?: JsonValue) =>
    project.verify(NAME, params, { snapshot, ...(value === undefined ? {} : { value }) });
  return { ...project, ask };
}

describe("changed_since_phase_start", () => {
  it("accepts a changed file, and a created one", async () => {
    const { write, ask } = await aPhase({ "a.md": "old" }, { paths: ["a.md", "b.md"] });
    await write("a.md", "new");
    await write("b.md", "b");
    expect(await ask()).toEqual({ ok: true, message: "a.md changed, b.md created", ran: "a.md, b.md" });
  });

  it("refuses a file that was only touched, or changed and changed back", async () => {
    const { root, write, ask } = await aPhase({ "a.md": "same" }, { path: "a.md" });
    await utimes(join(root, "a.md"), 1, 1);
    await chmod(join(root, "a.md"), 0o755);
    expect(refused(await ask())).toBe("a.md has not changed since this phase was entered");
    await write("a.md", "other");
    await write("a.md", "same");
    expect(refused(await ask())).toContain("has not changed");
    await rename(join(root, "a.md"), join(root, "x"));
    await write("a.md", "same");
    expect(refused(await ask())).toContain("has not changed");
  });

  it("refuses content of any earlier start of the phase, and a file deleted since one of them", async () => {
    const params = { paths: ["a.md", "b.md"], allow_deleted: true };
    const { root, write, snapshot, verify } = await aProject({ "a.md": "original" });
    const first = (await snapshot(NAME, params)) ?? null;
    await write("a.md", "junk");
    await write("b.md", "junk too");
    const second = (await snapshot(NAME, params)) ?? null;
    const ask = () => verify(NAME, params, { snapshot: second, earlierSnapshots: [first] });
    await write("a.md", "original");
    await rm(join(root, "b.md"));
    const entered =
      "has no new content since this phase was entered: it was restored to its state at an earlier start of this phase";
    expect(refused(await ask())).toBe(`a.md ${entered}; b.md ${entered}`);
    await write("b.md", "original");
    expect(refused(await ask())).toContain(
      "b.md has no new content since this phase was entered: another file had this content",
    );
    await write("a.md", "better");
    await write("b.md", "better too");
    expect(await ask()).toMatchObject({ ok: true, message: "a.md changed, b.md changed" });
    await write("a.md", "original");
    expect(refused(await verify(NAME, params, { snapshot: second, earlierSnapshots: ["?"] }))).toContain(
      "no snapshot was recorded",
    );
  });

  it("checks each path", async () => {
    const { write, ask } = await aPhase({ "a.md": "a", "b.md": "b" }, { paths: ["a.md", "./b.md"] });
    await write("a.md", "new");
    expect(refused(await ask())).toBe("b.md has not changed since this phase was entered");
  });

  it("refuses a deleted or emptied file, unless the author allows it", async () => {
    const { root, write, ask, verify, snapshot } = await aPhase({ "a.md": "a" }, { path: "a.md" });
    const before = await snapshot(NAME, { path: "a.md" });
    const allowed = () => verify(NAME, { path: "a.md", allow_deleted: true }, { snapshot: before ?? null });
    await write("a.md", "");
    expect(refused(await ask())).toContain("was only deleted or emptied");
    expect(await allowed()).toMatchObject({ ok: true, message: "a.md deleted" });
    await rm(join(root, "a.md"));
    expect(refused(await ask())).toContain("was only deleted or emptied");
    expect(await allowed()).toMatchObject({ ok: true });
  });

  it("refuses a new empty file, and a file that never existed", async () => {
    const { write, ask } = await aPhase({}, { path: "new.md" });
    expect(refused(await ask())).toContain("has not changed");
    await write("new.md", "");
    expect(refused(await ask())).toContain("has not changed");
    await write("new.md", "words");
    expect(await ask()).toMatchObject({ ok: true, message: "new.md created" });
  });

  it("checks whole folders, hidden files too, but not .git and node_modules", async () => {
    const files = { "src/a.ts": "a", "src/.hidden": "h", "src/.git/x": "x", "src/node_modules/y": "y" };
    const { write, ask } = await aPhase(files, { path: "src" });
    await write("src/.git/x", "new");
    await write("src/node_modules/y", "new");
    expect(refused(await ask())).toContain("src has not changed");
    await write("src/.hidden", "new");
    expect(await ask()).toMatchObject({ ok: true, message: "src/.hidden changed" });
    for (let index = 0; index < 7; index += 1) await write(`src/n${index}`, "n");
    expect((await ask()).message).toContain("3 more");
  });

  it("accepts files of the evidence inside the folder of the gate", async () => {
    const { write, ask } = await aPhase({ "src/a.ts": "a", "src/b.ts": "b", "out.ts": "o" }, { within: "src" });
    await write("src/a.ts", "new");
    await write("out.ts", "new");
    expect(await ask("src/a.ts")).toMatchObject({ ok: true, ran: "src/a.ts" });
    expect(await ask(["./src/a.ts"])).toMatchObject({ ok: true });
    expect(refused(await ask(["src/a.ts", "src/b.ts"]))).toContain("src/b.ts has not changed");
    expect(refused(await ask("out.ts"))).toContain("is not in src");
    expect(refused(await ask("src/../out.ts"))).toContain("refused");
    expect(refused(await ask("src"))).toContain("src has not changed");
    expect(refused(await ask("."))).toContain("is not in src");
    expect(refused(await ask())).toContain("must be a path, or a list of paths");
    expect(refused(await ask([]))).toContain("empty");
  });

  it("refuses an old file under a new name", async () => {
    const { root, base, ask } = await aPhase({ "src/a.ts": "a", "lib/b.ts": "b" }, { within: "." });
    await symlink("a.ts", join(root, "src/link.ts"));
    await symlink("../lib", join(root, "src/alias"));
    await mkdir(join(base, "out"));
    await writeFile(join(base, "out/c.ts"), "c");
    await symlink("../../out", join(root, "src/out"));
    for (const path of ["src/link.ts", "src/alias/b.ts", "src/out/c.ts"]) {
      expect(refused(await ask(path))).toContain(`${path} has not changed`);
    }
  });

  it("does not follow a link that replaced a folder", async () => {
    const { root, ask } = await aPhase({ "lib/a.ts": "a" }, { path: "src/a.ts" });
    await symlink("lib", join(root, "src"));
    expect(refused(await ask())).toContain("src is a symbolic link");
  });

  it("fails if no snapshot was recorded", async () => {
    const { verify } = await aProject({ a: "a" });
    expect(refused(await verify(NAME, { path: "a" }))).toContain("no snapshot was recorded");
    expect(refused(await verify(NAME, { path: "a" }, { snapshot: { a: "x" } }))).toContain("no snapshot was recorded");
  });

  it("refuses files above the hashing limit", async () => {
    const { root, write, snapshot } = await aProject();
    await write("huge", "x");
    await truncate(join(root, "huge"), 2 ** 40);
    await expect(snapshot(NAME, { path: "huge" })).rejects.toMatchObject({ code: "TOO_LARGE" });
    await writeFiles(root, Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`many/${index}`, "x"])));
    expect(await snapshot(NAME, { path: "many" })).toHaveLength(2000);
    await write("many/one-more", "x");
    await expect(snapshot(NAME, { path: "many" })).rejects.toThrow("more than 2000 files");
  });

  it.each([
    [{}, "one of path, paths, and within"],
    [{ path: "a", within: "b" }, "one of path, paths, and within"],
    [{ path: "{evidence.file}" }, "there is no evidence when the phase begins"],
    [{ path: "../a" }, "refused"],
    [{ paths: [] }, "paths"],
  ])("refuses %j when the definition is loaded", async (params, message) => {
    const { check } = await aProject();
    await expect(check(NAME, params)).rejects.toThrow(message);
  });

  it("accepts the placeholders of a session", async () => {
    const { check } = await aProject();
    await check(NAME, { path: "{target_file}" });
    await check(NAME, { within: "specs/{session_id}" });
  });
});
