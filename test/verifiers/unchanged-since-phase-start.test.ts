import { link, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import type { JsonObject } from "phasegate";
import { describe, expect, it } from "vitest";
import { isNamedBy } from "../../src/verifiers/named-files.js";
import { type Ask, aProject, refused } from "./a-project.js";

const NAME = "unchanged_since_phase_start";

/** Creates a project at the start of a phase, and a function that runs the verifier. */
async function aPhase(files: Readonly<Record<string, string>>, params: JsonObject) {
  const project = await aProject(files);
  const snapshot = (await project.snapshot(NAME, params)) ?? null;
  const ask = (more: Ask = {}) => project.verify(NAME, params, { snapshot, ...more });
  return { ...project, before: snapshot, ask };
}

/** Returns a text with the differences applied that a result shows for its file. */
function patched(text: string, output: readonly string[], path: string): string {
  const lines: (string | undefined)[] = text.split("\n");
  const added = new Map<number, string[]>();
  const from = output.indexOf(`${path} was changed`) + 1;
  let at = 0;
  let first = 0;
  for (const shown of output.slice(from)) {
    if (/ was (changed|added|deleted)/.test(shown)) break;
    if (shown.startsWith("@")) [at, first] = [Number(shown.slice(7)) - 1, Number(shown.slice(7)) - 1];
    else if (shown.startsWith("-")) {
      expect(lines[at]).toBe(shown.slice(2));
      lines[at] = undefined;
      at += 1;
    } else added.set(first, [...(added.get(first) ?? []), shown.slice(2)]);
  }
  const all = [...lines, undefined].flatMap((line, index) => [
    ...(added.get(index) ?? []),
    ...(line === undefined ? [] : [line]),
  ]);
  return all.join("\n");
}

const TEST = "import { add } from './add.mjs';\n\nassert.equal(add(1, 2), 3);\nassert.equal(add(2, 2), 4);\n";

describe("unchanged_since_phase_start", () => {
  it("accepts files that are as they were, also if they were touched or written again", async () => {
    const { root, write, ask } = await aPhase({ "test/a.mjs": TEST, "b.md": "" }, { paths: ["test", "b.md"] });
    await utimes(join(root, "test/a.mjs"), 1, 1);
    await write("test/a.mjs", TEST);
    expect(await ask()).toEqual({
      ok: true,
      message: "2 files are unchanged since this phase was entered: test/a.mjs, b.md",
      ran: "test, b.md",
      digest: expect.stringMatching(/^[\da-f]{64}$/),
    });
  });

  it("does not compare what tools write, and compares all else of these names", async () => {
    const files = { "test/a.mjs": TEST, "test/target/b.mjs": "" };
    const { write, ask } = await aPhase(files, { paths: ["test", "**/*.mjs"] });
    for (const path of ["test/__pycache__/a.pyc", "coverage/clover.xml", "coverage/a.mjs", ".venv/a.mjs"]) {
      await write(path, "x");
    }
    expect(await ask()).toMatchObject({ ok: true, message: expect.stringContaining("2 files are unchanged") });
    await write("lib/coverage/a.mjs", "x");
    expect(refused(await ask())).toContain("lib/coverage/a.mjs was added");
    // A file that was compared before can't be hidden.
    await write("test/target/CACHEDIR.TAG", "x");
    expect(refused(await ask())).toContain("test/target/b.mjs was deleted");
    const named = await aPhase({ "coverage/clover.xml": "x" }, { path: "coverage" });
    await named.write("coverage/clover.xml", "y");
    expect(refused(await named.ask())).toContain("coverage/clover.xml was changed");
  });

  it("refuses a weakened file, and shows the lines that differ", async () => {
    const { write, ask } = await aPhase({ "test/a.mjs": TEST }, { path: "test/a.mjs" });
    await write("test/a.mjs", TEST.replace("assert.equal(add(1, 2), 3);\n", "// TODO\n").replace(", 4", ", 5"));
    expect(await ask()).toMatchObject({
      ok: false,
      message: "test/a.mjs was changed since this phase was entered; undo these changes",
      output: [
        "test/a.mjs was changed",
        "@ line 3",
        "- assert.equal(add(1, 2), 3);",
        "- assert.equal(add(2, 2), 4);",
        "+ // TODO",
        "+ assert.equal(add(2, 2), 5);",
      ],
    });
  });

  it("shows the runs of a change that is in several places", async () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
    const { write, ask } = await aPhase({ "a.txt": lines.join("\n") }, { path: "a.txt" });
    const changed = lines.filter((line) => line !== "line 3").map((line) => (line === "line 20" ? "LINE 20" : line));
    await write("a.txt", [...changed, "line 31"].join("\n"));
    const { output = [] } = await ask();
    expect(output.slice(1)).toEqual([
      ...["@ line 3", "- line 3"],
      ...["@ line 20", "- line 20", "+ LINE 20"],
      ...["@ line 31", "+ line 31"],
    ]);
  });

  it("limits the lines that are shown, of one file and of all", async () => {
    const files = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [`t/${name}`, "x\n".repeat(100)]));
    const { write, ask } = await aPhase(files, { path: "t" });
    for (const path of Object.keys(files)) await write(path, `${"y".repeat(500)}\n`.repeat(100));
    const { message, output = [] } = await ask();
    expect(message).toContain("t/e was changed, 1 more since");
    expect(output.length).toBeLessThanOrEqual(45);
    expect(output).toContain("… 181 more lines");
    expect(output.at(-1)).toMatch(/^… \d more files$/);
    for (const line of output) expect(line.length).toBeLessThanOrEqual(200);
  });

  it("compares files that differ in everything without comparing each pair of lines", async () => {
    const many = (word: string) => Array.from({ length: 3000 }, (_, index) => `${word} ${index}`).join("\n");
    const { write, ask } = await aPhase({ "a.txt": many("old") }, { path: "a.txt" });
    await write("a.txt", many("new"));
    expect((await ask()).output?.slice(0, 3)).toEqual(["a.txt was changed", "@ line 1", "- old 0"]);
  });

  it.each([
    ["binary", "\0binary"],
    ["not UTF-8", Buffer.from([0xff, 0xfe])],
    ["long", "x".repeat(70_000)],
  ])("compares the digests of a file that is %s, and says so", async (_, content) => {
    const project = await aProject();
    await writeFile(join(project.root, "f"), content);
    const snapshot = (await project.snapshot(NAME, { path: "f" })) ?? null;
    expect(JSON.stringify(snapshot).length).toBeLessThan(300);
    expect(await project.verify(NAME, { path: "f" }, { snapshot })).toMatchObject({ ok: true });
    await writeFile(join(project.root, "f"), "short");
    const { output = [] } = await project.verify(NAME, { path: "f" }, { snapshot });
    expect(output[1]).toMatch(/^SHA-256 [\da-f]{16} is now [\da-f]{16}; the lines are not shown/);
  });

  it("keeps a bounded part of the texts", async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`t/${index}`, "y".repeat(60_000)]));
    const { before, ask } = await aPhase(files, { path: "t" });
    expect(JSON.stringify(before).length).toBeLessThan(600_000);
    expect(await ask()).toMatchObject({ ok: true, message: expect.stringContaining("30 files are unchanged") });
  });

  it("counts new, deleted, renamed and emptied files", async () => {
    const { root, write, ask } = await aPhase({ "t/a": "a", "t/b": "b", "t/c": "c" }, { path: "t" });
    await write("t/new", "");
    expect(refused(await ask())).toContain("t/new was added since");
    await rm(join(root, "t/new"));
    await rename(join(root, "t/a"), join(root, "t/z"));
    await write("t/b", "");
    await rm(join(root, "t/c"));
    expect(refused(await ask())).toBe(
      "t/a was deleted, t/b was changed, t/c was deleted, t/z was added since this phase was entered; undo these changes",
    );
  });

  it("takes globs, and leaves out what `except` names", async () => {
    const files = {
      "test/a.test.mjs": "a",
      "test/deep/b.test.mjs": "b",
      "test/.c.test.mjs": "c",
      "test/help.mjs": "h",
    };
    const params = { paths: ["test/**/*.test.mjs"], except: ["test/deep/*_cache.test.mjs", "test/tmp"] };
    const { write, root, ask } = await aPhase(files, params);
    await write("test/help.mjs", "other");
    await write("test/deep/x_cache.test.mjs", "new");
    await write("test/tmp/y.test.mjs", "new");
    expect(await ask()).toMatchObject({ ok: true, message: expect.stringContaining("3 files are unchanged") });
    await write("test/.c.test.mjs", "other");
    expect(refused(await ask())).toContain("test/.c.test.mjs was changed");
    await write("test/.c.test.mjs", "c");
    await write("test/new/d.test.mjs", "d");
    await rm(join(root, "test/deep/b.test.mjs"));
    expect(refused(await ask())).toContain("test/deep/b.test.mjs was deleted, test/new/d.test.mjs was added");
  });

  it("refuses exactly what differs, and its lines lead from the old text to the new one", async () => {
    const { root, write, snapshot, verify } = await aProject();
    const line = fc.constantFrom("a", "b", "c", "");
    const text = fc.array(line, { minLength: 1, maxLength: 7 }).map((lines) => lines.join("\n"));
    const files = fc.dictionary(fc.constantFrom("one", "two", "d/three"), text, { minKeys: 1, noNullPrototype: true });
    const put = async (all: Readonly<Record<string, string>>) => {
      await rm(join(root, "t"), { recursive: true, force: true });
      for (const [path, content] of Object.entries(all)) await write(`t/${path}`, content);
    };
    await fc.assert(
      fc.asyncProperty(files, fc.oneof(files, fc.constant(undefined)), async (before, changed) => {
        const now = changed ?? before;
        await put(before);
        const taken = (await snapshot(NAME, { path: "t" })) ?? null;
        await put(now);
        const { ok, output = [] } = await verify(NAME, { path: "t" }, { snapshot: taken });
        const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])];
        const differing = paths.filter((path) => before[path] !== now[path]);
        expect(ok).toBe(differing.length === 0);
        for (const path of differing) {
          const [was, is] = [before[path], now[path]];
          if (was !== undefined && is !== undefined) expect(patched(was, output, `t/${path}`)).toBe(is);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("refuses to compare nothing, and names a path that doesn't exist", async () => {
    const none = await aPhase({ "a.md": "a" }, { paths: ["tset", "*.txt"] });
    expect(refused(await none.ask())).toContain("there is nothing to compare: tset, *.txt named no file then");
    const one = await aPhase({ "a.md": "a" }, { paths: ["a.md", ".npmrc", "*.cfg"] });
    expect((await one.ask()).message).toContain(
      "1 file is unchanged since this phase was entered: a.md; .npmrc does not exist; *.cfg names nothing",
    );
    await one.write(".npmrc", "x");
    expect(refused(await one.ask())).toContain(".npmrc was added");
    const allowed = await aPhase({ "a.md": "a" }, { paths: ["*.cfg"], allow_none: true });
    expect((await allowed.ask()).message).toBe(
      "no such file was there, and none was added since this phase was entered; *.cfg names nothing",
    );
  });

  it("compares a link with its file, and refuses a file that became a link", async () => {
    const project = await aProject({ "data/x": "x", "data/y": "y", "t/a": "a" });
    await symlink("../data/x", join(project.root, "t/link"));
    const snapshot = (await project.snapshot(NAME, { path: "t" })) ?? null;
    const ask = () => project.verify(NAME, { path: "t" }, { snapshot });
    expect(await ask()).toMatchObject({ ok: true });
    await project.write("data/x", "other");
    expect(refused(await ask())).toContain("t/link was changed");
    await project.write("data/x", "x");
    await rm(join(project.root, "t/link"));
    await symlink("../data/y", join(project.root, "t/link"));
    expect(refused(await ask())).toContain("t/link was changed");
    await rm(join(project.root, "t/link"));
    await symlink("../data/x", join(project.root, "t/link"));
    await rename(join(project.root, "t/a"), join(project.root, "data/a"));
    await symlink("../data/a", join(project.root, "t/a"));
    expect(refused(await ask())).toContain("t/a was replaced by a link");
  });

  it.each([
    ["a link to a folder", "../data"],
    ["a link that leads out", "../../outside"],
    ["a link that leads nowhere", "nowhere"],
  ])("refuses %s, unless `except` names it", async (_, target) => {
    const project = await aProject({ "data/x": "x", "t/a": "a" });
    await writeFile(join(project.base, "outside"), "o");
    await symlink(target, join(project.root, "t/link"));
    const ask = async (params: JsonObject) =>
      project.verify(NAME, params, { snapshot: (await project.snapshot(NAME, params)) ?? null });
    expect(refused(await ask({ path: "t" }))).toContain("t/link can't be compared");
    expect(await ask({ path: "t", except: ["t/link"] })).toMatchObject({ ok: true });
  });

  it("follows a folder's link that the gate itself names", async () => {
    const project = await aProject({ "data/x": "x" });
    await symlink("data", join(project.root, "t"));
    const snapshot = (await project.snapshot(NAME, { path: "t" })) ?? null;
    const ask = () => project.verify(NAME, { path: "t" }, { snapshot });
    expect(await ask()).toMatchObject({ ok: true });
    await project.write("data/x", "other");
    expect(refused(await ask())).toContain("t/x was changed");
  });

  it("refuses a file in place of which there is something else", async () => {
    const { root, ask } = await aPhase({ "t/a": "a" }, { path: "t/a" });
    await rm(join(root, "t/a"));
    await mkdir(join(root, "t/a"));
    expect(refused(await ask())).toContain("t/a was deleted");
  });

  it("does not read .git and node_modules, but sees a new one", async () => {
    const { write, ask } = await aPhase({ "t/a": "a", "t/.git/x": "x" }, { path: "t" });
    await write("t/.git/x", "y");
    expect(await ask()).toMatchObject({ ok: true });
    await write("t/node_modules/assert/index.js", "export default () => {};");
    expect(refused(await ask())).toContain("t/node_modules was added");
  });

  it("does not count a hard link as a change", async () => {
    const { root, ask } = await aPhase({ "t/a": "a" }, { path: "t" });
    await link(join(root, "t/a"), join(root, "other"));
    expect(await ask()).toMatchObject({ ok: true });
  });

  it("never passes on a start that could not be recorded, which an agent may have caused", async () => {
    const project = await aProject({ "t/a": "a" });
    await writeFile(join(project.root, "t/huge"), "");
    await truncate(join(project.root, "t/huge"), 65 * 2 ** 20);
    const snapshot = (await project.snapshot(NAME, { path: "t" })) ?? null;
    await rm(join(project.root, "t/huge"));
    expect(refused(await project.verify(NAME, { path: "t" }, { snapshot }))).toMatch(
      /the files could not be recorded: .*roll back to it, or start a new session/,
    );
  });

  it("says what it compares with", async () => {
    const { ask, verify, before } = await aPhase({ a: "a" }, { path: "a", since: { phase: 1 } });
    expect((await ask()).message).toBe("1 file is unchanged since phase 1 was passed: a");
    const late = await ask({ snapshotTakenAt: "2026-03-04T05:06:07.000Z" });
    expect(late.message).toBe(
      "1 file is unchanged since phase 1 was passed (recorded late, at 2026-03-04T05:06:07.000Z: earlier changes are not seen): a",
    );
    expect(refused(await verify(NAME, { path: "a" }, { snapshot: "?" }))).toContain("no snapshot was recorded");
    expect(before).toEqual({ files: [{ path: "a", kind: "file", digest: expect.any(String), text: "a" }] });
  });

  it.each<[JsonObject, string]>([
    [{}, "give either path or paths"],
    [{ path: "a", paths: ["b"] }, "give either path or paths"],
    [{ path: "../a" }, "it leaves its root"],
    [{ path: "a", except: ["/b"] }, "it is absolute"],
    [{ path: "{evidence.file}" }, "there is no evidence when the phase begins"],
    [{ path: "a", since: 1 }, "expected object"],
    [{ path: "a", since: { phase: "1" } }, "since.phase"],
    [{ path: "a", within: "b" }, "there is no such parameter"],
  ])("refuses the params %j", async (params, words) => {
    const { check } = await aProject();
    await expect(check(NAME, params)).rejects.toThrow(words);
  });
});

describe("a glob", () => {
  it.each([
    ["*.mjs", ["a.mjs", ".mjs"], ["a.mjs.txt", "d/a.mjs"]],
    ["a?c", ["abc"], ["ac", "a/c", "abbc"]],
    ["**/*.ts", ["a.ts", "d/a.ts", "d/e/a.ts"], ["a.js"]],
    ["src/**", ["src/a", "src/d/a"], ["srcs/a", "a"]],
    ["src/**/x/*", ["src/x/a", "src/d/x/a", "src/x/x/a"], ["src/x", "src/d/a"]],
    ["d/[id].ts", ["d/[id].ts"], ["d/i.ts"]],
    ["d", ["d", "d/a"], ["da"]],
  ])("%s names the right files", (glob, named, others) => {
    expect(named.filter((path) => !isNamedBy(glob, path))).toEqual([]);
    expect(others.filter((path) => isNamedBy(glob, path))).toEqual([]);
  });

  it("names what the same regular expression matches, and takes no time that grows with its stars", () => {
    const segment = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), minLength: 1, maxLength: 5 });
    const globs = fc.array(fc.oneof(segment, fc.constant("**")), { minLength: 1, maxLength: 4 });
    const paths = fc.array(fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(globs, paths, (parts, names) => {
        fc.pre(/[*?]/.test(parts.join("/")));
        const source = parts.map((part) =>
          part === "**" ? "(?:[^/]+/)*" : `${part.replaceAll("*", "[^/]*").replaceAll("?", "[^/]")}/`,
        );
        expect(isNamedBy(parts.join("/"), names.join("/"))).toBe(
          new RegExp(`^${source.join("")}$`).test(`${names.join("/")}/`),
        );
      }),
      { numRuns: 2000 },
    );
    const begun = performance.now();
    expect(isNamedBy(`${"*a".repeat(100)}b`, "a".repeat(255))).toBe(false);
    expect(performance.now() - begun).toBeLessThan(200);
  });
});
