import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { copyRepository } from "../support/a-repository.js";
import { aProject, refused } from "./a-project.js";

async function aRepository(options: Parameters<typeof aProject>[1] = {}) {
  const project = await aProject({}, options);
  const git = await copyRepository(project.root);
  const commit = (message: string) => {
    git("add", ".");
    git("commit", "--quiet", "-m", message);
  };
  return { ...project, git, commit };
}

describe("git_clean_since_phase_start", () => {
  it("accepts what was uncommitted, as it was, and nothing else", async () => {
    const { verify, snapshot, write, root, commit } = await aRepository();
    await write("mine.txt", "mine");
    await write("a.md", "changed\n");
    await rm(join(root, "sub/b.md"));
    const before = { snapshot: (await snapshot("git_clean_since_phase_start", {})) ?? null };
    const clean = () => verify("git_clean_since_phase_start", {}, before);
    expect(await clean()).toMatchObject({ ok: true });
    await write("left.txt", "");
    expect(refused(await clean())).toContain("1 uncommitted file: left.txt");
    await rm(join(root, "left.txt"));
    await write("mine.txt", "yours");
    expect(refused(await clean())).toContain("mine.txt");
    commit("all");
    expect(await clean()).toMatchObject({ ok: true });
  });

  it("neither asks for what tools write nor blames it, and sees all else of these names", async () => {
    const { verify, snapshot, write, commit } = await aRepository();
    await write("deep/target/code.rs", "x");
    commit("deep");
    const taken = (await snapshot("git_changed_since_phase_start", {})) ?? null;
    const changed = (value: string[]) => verify("git_changed_since_phase_start", {}, { snapshot: taken, value });
    const clean = () => verify("git_clean", {});
    for (const path of [
      "sub/__pycache__/a.pyc",
      ".pytest_cache/v/x",
      ".coverage",
      "coverage/lcov.info",
      "coverage/a.js",
    ]) {
      await write(path, "x");
    }
    await write(".pytest_cache/.gitignore", "*\n");
    await write("target/CACHEDIR.TAG", "x");
    await write("target/debug/calc", "x");
    expect(await changed([])).toMatchObject({ ok: true });
    expect(await clean()).toMatchObject({ ok: true });
    expect(refused(await changed(["target/debug/calc"]))).toContain("named, but not changed: target/debug/calc");
    // These are no products: they have no mark of the tool, or are committed.
    await write("src/target/new.js", "x");
    await write("lib/coverage/new.js", "x");
    await write("deep/target/new.rs", "x");
    expect(refused(await changed([]))).toContain("deep/target/new.rs, lib/coverage/new.js, src/target/new.js");
    expect(refused(await clean())).toContain("3 uncommitted files");
  });

  it("knows what a command of a check has written, until somebody else changes it", async () => {
    const script = "printf x >> report.xml; mkdir -p src; printf y > src/made.js; printf z >> a.md";
    const { verify, snapshot, write } = await aRepository({ commands: { sh: "/bin/sh" } });
    await write("mine.txt", "mine");
    await write("report.xml", "old");
    const taken = (await snapshot("git_changed_since_phase_start", {})) ?? null;
    const changed = (value: string[]) => verify("git_changed_since_phase_start", {}, { snapshot: taken, value });
    const run = await verify("command", { argv: ["sh", "-c", script] });
    expect(run).toMatchObject({ ok: true, message: expect.stringMatching(/; it wrote report\.xml, src\/made\.js$/) });
    // A committed file counts, whoever has changed it.
    expect(await changed(["a.md"])).toMatchObject({ ok: true });
    expect(await changed(["a.md", "src/made.js"])).toMatchObject({ ok: true });
    expect(refused(await changed([]))).toContain("changed, but not named: a.md (");
    expect(refused(await verify("git_clean", {}))).toContain("2 uncommitted files: a.md, mine.txt");
    await write("src/made.js", "y");
    expect(refused(await changed(["a.md"]))).toContain("changed, but not named: src/made.js (");
    expect(refused(await verify("git_clean", {}))).toContain("src/made.js");
  });

  it("refuses without a snapshot, and without a repository", async () => {
    const { verify, snapshot } = await aProject();
    for (const name of ["git_clean_since_phase_start", "git_changed_since_phase_start"] as const) {
      expect(refused(await verify(name, {}))).toContain("was not recorded");
      const taken = { snapshot: (await snapshot(name, {})) ?? null };
      expect(refused(await verify(name, {}, taken))).toContain("the project is not in a git repository");
    }
  });
});

describe("git_changed_since_phase_start", () => {
  it("knows what has changed, committed or not", async () => {
    const { verify, snapshot, write, commit, git } = await aRepository();
    await write("mine.txt", "mine");
    const before = { snapshot: (await snapshot("git_changed_since_phase_start", {})) ?? null };
    const changed = (value?: string[]) =>
      verify(
        "git_changed_since_phase_start",
        { since: "start" },
        { ...before, ...(value === undefined ? {} : { value }) },
      );
    expect(await changed()).toMatchObject({ ok: true, message: "no file has changed (since the session was started)" });
    await write("a.md", "other\n");
    commit("other");
    await write("new.md", "new\n");
    expect(refused(await changed())).toContain("changed: a.md, new.md");
    expect(await changed(["a.md", "new.md"])).toMatchObject({ ok: true });
    // Rules compare paths as texts.
    expect(refused(await changed(["a.md", "./new.md"]))).toContain("write new.md in place of ./new.md");
    const apart = (except: string[]) => verify("git_changed_since_phase_start", { since: "start", except }, before);
    const may = "changed, as they may: a.md, new.md (since the session was started)";
    expect(await apart(["a.md", "n*.md"])).toMatchObject({ ok: true, message: may });
    expect(refused(await apart(["n*.md"]))).toContain("changed: a.md (");
    expect(refused(await changed(["a.md"]))).toContain("changed, but not named: new.md");
    expect(refused(await changed(["a.md", "new.md", "c.md"]))).toContain("named, but not changed: c.md");
    // What was uncommitted before has changed once its content has, and not when it is committed.
    await write("mine.txt", "yours");
    expect(refused(await changed(["a.md", "new.md"]))).toContain("mine.txt");
    git("reset", "--quiet", "--hard", "HEAD~1");
    expect(refused(await changed())).toContain("changed: mine.txt, new.md");
  });
});

describe("git_tag_exists", () => {
  it("finds tags of both kinds, also packed ones, and where they lead", async () => {
    const { verify, git, write, commit } = await aRepository();
    expect(refused(await verify("git_tag_exists", {}, { value: "v1" }))).toContain("there is no tag v1");
    git("tag", "v1");
    git("tag", "-a", "-m", "two", "v2");
    git("pack-refs", "--all");
    for (const tag of ["v1", "v2"]) {
      expect(await verify("git_tag_exists", { tag, at_head: true })).toMatchObject({ ok: true });
    }
    await write("c.md", "c\n");
    commit("third");
    expect(await verify("git_tag_exists", { tag: "v2" })).toMatchObject({ ok: true });
    expect(refused(await verify("git_tag_exists", { tag: "v2", at_head: true }))).toContain("not at the commit");
    expect(refused(await verify("git_tag_exists", { tag: "main" }))).toContain("there is no tag main");
    expect(refused(await verify("git_tag_exists", { tag: "../heads/main" }))).toContain("is not the name of a tag");
    git("tag", "tree", "HEAD^{tree}");
    expect(refused(await verify("git_tag_exists", { tag: "tree" }))).toContain("leads to no commit");
  });
});

describe("git_changes", () => {
  it("compares with the last common commit, and wants every file", async () => {
    const { verify, snapshot, git, write, commit, check } = await aRepository();
    git("checkout", "--quiet", "-b", "change");
    await write("new.md", "new\n");
    commit("new");
    git("checkout", "--quiet", "main");
    await write("a.md", "meanwhile\n");
    commit("meanwhile");
    const taken = { snapshot: (await snapshot("git_changes", { base: "main", head: "change" })) ?? null };
    const changes = (value: string[]) => verify("git_changes", { base: "main", head: "change" }, { ...taken, value });
    expect(await changes(["new.md"])).toMatchObject({ ok: true, message: "all 1 changed files are named" });
    expect(refused(await changes([]))).toContain("1 of 1 changed files are missing: new.md");
    expect(refused(await changes(["new.md", "a.md"]))).toContain("not changed: a.md");
    expect(refused(await verify("git_changes", { base: "main" }, { value: [] }))).toContain("were not recorded");
    await expect(snapshot("git_changes", { base: "none" })).rejects.toThrow("there is no tag, branch or commit none");
    await expect(check("git_changes", { base: "--exec=x" })).rejects.toThrow(
      "is not the name of a tag, a branch or a commit",
    );
    await expect(check("git_changes", { base: "a..b" })).rejects.toThrow("is not the name of");
  });
});
