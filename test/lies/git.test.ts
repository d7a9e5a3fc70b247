import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aGate, writeFiles } from "./a-gate.js";

/** Runs git in a folder, with no configuration but the folder's own. */
function gitIn(folder: string) {
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
  return (...args: string[]) => execFileSync("git", args, { cwd: folder, env, encoding: "utf8" }).trim();
}

/** Makes a repository of a folder, with one commit. */
function initialise(folder: string, message = "first") {
  const git = gitIn(folder);
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.email", "a@example.org");
  git("config", "user.name", "A");
  git("add", ".");
  git("commit", "--quiet", "-m", message);
  return git;
}

const files = { "a.md": "a\n", "sub/b.md": "b\n" };
const CLEAN = "evidence_schema: {committed: {type: boolean}}\nverify: git_clean\n";
const COMMITTED = { committed: true };

async function aRepository(gate: string) {
  const made = await aGate({ gate, files });
  return { ...made, git: initialise(made.project) };
}

describe("a gate that wants everything to be committed", () => {
  it("lets an honest agent through", async () => {
    const { accepts, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it("refuses a changed file, and names it", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    await refuses(COMMITTED, /1 files are not as the last commit has them: a\.md; commit them, or take them away/);
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it.each(["--assume-unchanged", "--skip-worktree"])("refuses a changed file behind %s", async (flag) => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    git("update-index", flag, "a.md");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /a\.md; commit them/);
    git("update-index", flag.replace("--", "--no-"), "a.md");
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file behind .git/info/exclude", async () => {
    const { accepts, refuses, write, git, project } = await aRepository(CLEAN);
    await write("new.md", "new\n");
    await writeFile(join(project, ".git/info/exclude"), "new.md\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /new\.md; commit them/);
    git("add", "--force", "new.md");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file behind a .gitignore that nobody has committed", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("new.md", "new\n");
    await write(".gitignore", "new.md\n");
    await refuses(COMMITTED, /\.gitignore; commit them/);
    git("add", ".gitignore");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file behind a .gitignore that ignores itself", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("sub/new.md", "new\n");
    await write("sub/.gitignore", "new.md\n.gitignore\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /sub\/\.gitignore; commit them/);
    git("add", "--force", ".");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("lets an honest agent through among many ignored files, and folders with a .gitignore of their own", async () => {
    const { accepts, write, git } = await aRepository(CLEAN);
    await write(".gitignore", "cache/\n*.log\n");
    await write("cache/.gitignore", "*\n");
    await write("cache/x", "x");
    for (let index = 0; index < 50; index += 1) await write(`sub/${index}.log`, "x");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a project that is in no repository", async () => {
    const { accepts, refuses, project } = await aGate({ gate: CLEAN, files });
    await refuses(COMMITTED, /the project lies in no git repository/);
    initialise(project);
    await accepts(COMMITTED);
  });
});

const COMMIT =
  "evidence_schema:\n  commit: {type: string, description: id of your commit, verify: git_commit_exists}\n";

describe("a gate that wants a commit", () => {
  it("lets an honest agent through", async () => {
    const { accepts, git } = await aRepository(COMMIT);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses one that does not exist", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: "deadbeef".repeat(5) }, /there is no commit deadbeef.* in this repository/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses one of another repository", async () => {
    const { accepts, refuses, git, base } = await aRepository(COMMIT);
    await writeFiles(join(base, "other"), files);
    const foreign = initialise(join(base, "other"), "of another repository")("rev-parse", "HEAD");
    await refuses({ commit: foreign }, /there is no commit .* in this repository/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses the name of a branch, and an option", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: "main" }, /commit.*7 to 64 hexadecimal digits; no branch and no tag/);
    await refuses({ commit: "--upload-pack=touch pwned" }, /7 to 64 hexadecimal digits/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses a file's id for a commit's", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: git("rev-parse", "HEAD:a.md") }, /there is no commit/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });
});
