import { chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { COMMITTED_FILES, copyRepository, gitIn, initialise } from "../support/a-repository.js";
import { writeFiles } from "../support/write-files.js";
import { aGate } from "./a-gate.js";

const CLEAN = "evidence_schema: {committed: {type: boolean}}\nverify: git_clean\n";
const COMMITTED = { committed: true };

async function aRepository(gate: string) {
  const made = await aGate({ gate });
  return { ...made, git: await copyRepository(made.project) };
}

describe("a gate that requires that everything is committed", () => {
  it("lets an honest agent through", async () => {
    const { accepts, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it("refuses a changed file, and names it", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    await refuses(COMMITTED, /1 uncommitted file: a\.md; commit or remove it/);
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it.each(["--assume-unchanged", "--skip-worktree"])("refuses a changed file that is hidden by %s", async (flag) => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("a.md", "changed\n");
    git("update-index", flag, "a.md");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /a\.md; commit or remove it/);
    git("update-index", flag.replace("--", "--no-"), "a.md");
    git("commit", "--quiet", "-am", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file that .git/info/exclude hides", async () => {
    const { accepts, refuses, write, git, project } = await aRepository(CLEAN);
    await write("new.md", "new\n");
    await writeFile(join(project, ".git/info/exclude"), "new.md\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /new\.md; commit or remove it/);
    git("add", "--force", "new.md");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file that an uncommitted .gitignore hides", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("new.md", "new\n");
    await write(".gitignore", "new.md\n");
    await refuses(COMMITTED, /\.gitignore; commit or remove it/);
    git("add", ".gitignore");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file that is hidden by a .gitignore that ignores itself", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write("sub/new.md", "new\n");
    await write("sub/.gitignore", "new.md\n.gitignore\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /sub\/\.gitignore; commit or remove it/);
    git("add", "--force", ".");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file that an uncommitted .gitignore hides, above the folder that the gate names", async () => {
    const { accepts, refuses, write, git } = await aRepository(
      CLEAN.replace("git_clean", "{verifier: git_clean, path: sub}"),
    );
    await write("sub/new.js", "evil()\n");
    await write(".gitignore", "sub/new.js\n");
    expect(git("status", "--porcelain", "--", "sub")).toBe("");
    await refuses(COMMITTED, /\.gitignore; commit or remove it.*rules.*commit/);
    git("add", ".gitignore");
    git("commit", "--quiet", "-m", "second");
    await accepts(COMMITTED);
  });

  it("refuses a new file that is hidden by a new folder's .gitignore that ignores everything", async () => {
    const { accepts, refuses, write, git, project } = await aRepository(CLEAN);
    await write("lib/evil.js", "evil()\n");
    await write("lib/.gitignore", "*\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /lib\/\.gitignore; commit or remove it/);
    await rm(join(project, "lib"), { recursive: true });
    await accepts(COMMITTED);
  });

  it("refuses a new file that core.excludesFile hides", async () => {
    const { accepts, refuses, write, git, base, project } = await aRepository(CLEAN);
    await writeFile(join(base, "excludes"), "new.md\n");
    git("config", "core.excludesFile", join(base, "excludes"));
    await write("new.md", "new\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /new\.md; commit or remove it/);
    await rm(join(project, "new.md"));
    await accepts(COMMITTED);
  });

  it("refuses code between $Id and $, which the ident attribute would ignore", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write(".gitattributes", "*.js ident\n");
    await write("sub/c.js", "// $Id$\ngood();\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await write("sub/c.js", "// $Id: \u2028; evil(); // $\ngood();\n");
    expect(git("diff", "--name-only")).toBe("");
    await refuses(COMMITTED, /1 uncommitted file: sub\/c\.js; commit or remove it/);
    await write("sub/c.js", "// $Id$\ngood();\n");
    await accepts(COMMITTED);
  });

  it.each(["*.md ident\n", "*.md text\n", ".gitattributes ident\n"])(
    "refuses an uncommitted .gitattributes, also if new files don't count: %j",
    async (rules) => {
      const gate = CLEAN.replace("git_clean", "{verifier: git_clean, path: sub, untracked: false}");
      const { accepts, refuses, write, project } = await aRepository(gate);
      await write(".gitattributes", rules);
      await refuses(COMMITTED, /1 uncommitted file: \.gitattributes; commit or remove it/);
      await rename(join(project, ".gitattributes"), join(project, "sub/.gitattributes"));
      await refuses(COMMITTED, /1 uncommitted file: sub\/\.gitattributes; commit or remove it/);
      await rm(join(project, "sub/.gitattributes"));
      await accepts(COMMITTED);
    },
  );

  it("refuses line ends that no checkout writes, and accepts those that a checkout writes", async () => {
    const { accepts, refuses, write, git } = await aRepository(CLEAN);
    await write(".gitattributes", "*.sh text\n");
    await write("run.sh", "one\ntwo\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await write("run.sh", "one\r\ntwo\n");
    expect(git("diff", "--name-only")).toBe("");
    await refuses(COMMITTED, /run\.sh; commit or remove it/);
    await write("run.sh", "one\r\ntwo\r\n");
    await accepts(COMMITTED);
  });

  it("refuses a changed file whose new text is put under the old blob's id", async () => {
    const { accepts, refuses, write, git, project } = await aRepository(CLEAN);
    const id = git("rev-parse", "HEAD:a.md");
    const blob = join(project, ".git/objects", id.slice(0, 2), id.slice(2));
    await rm(blob);
    await writeFile(blob, deflateSync(Buffer.from("blob 5\0evil\n")));
    await write("a.md", "evil\n");
    await refuses(COMMITTED, /git could not read the repository/);
    await rm(blob);
    await write("a.md", "a\n");
    git("hash-object", "-w", "a.md");
    await accepts(COMMITTED);
  });

  it("refuses a file that has become executable", async () => {
    const { accepts, refuses, git, project } = await aRepository(CLEAN);
    git("config", "core.fileMode", "false");
    await chmod(join(project, "a.md"), 0o755);
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /a\.md; commit or remove it/);
    await chmod(join(project, "a.md"), 0o644);
    await accepts(COMMITTED);
  });

  it("refuses a link in place of a folder or a file", async () => {
    const { accepts, refuses, base, git, project } = await aRepository(CLEAN);
    await rename(join(project, "sub"), join(base, "elsewhere"));
    await symlink(join(base, "elsewhere"), join(project, "sub"));
    await refuses(COMMITTED, /sub\/b\.md/);
    await rm(join(project, "sub"));
    git("checkout", "--quiet", "sub");
    await rm(join(project, "a.md"));
    await symlink("sub/b.md", join(project, "a.md"));
    git("config", "core.symlinks", "false");
    await refuses(COMMITTED, /a\.md; commit or remove it/);
    await rm(join(project, "a.md"));
    git("checkout", "--quiet", "a.md");
    await accepts(COMMITTED);
  });

  it("refuses a folder that was made a separate repository", async () => {
    const gate = CLEAN.replace("git_clean", "{verifier: git_clean, path: sub}");
    const { accepts, refuses, write, project } = await aRepository(gate);
    await write("sub/b.md", "changed\n");
    await write("sub/new.md", "new\n");
    await initialise(join(project, "sub"));
    await refuses(COMMITTED, /sub\/b\.md/);
    await rm(join(project, "sub/.git"), { recursive: true });
    await rm(join(project, "sub/new.md"));
    await write("sub/b.md", "b\n");
    await accepts(COMMITTED);
  });

  it("refuses a change inside a submodule, even if the repository's configuration ignores it", async () => {
    const { accepts, refuses, write, git, base, project } = await aRepository(CLEAN);
    await writeFiles(join(base, "part"), { "part.js": "good()\n" });
    await initialise(join(base, "part"));
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", join(base, "part"), "part");
    git("config", "-f", ".gitmodules", "submodule.part.ignore", "all");
    git("commit", "--quiet", "-am", "second");
    await write("part/part.js", "evil()\n");
    expect(git("status", "--porcelain")).toBe("");
    await write("part/new.js", "evil()\n");
    await refuses(COMMITTED, /: part\/part\.js, part\/new\.js; commit or remove them/);
    const part = gitIn(join(project, "part"));
    part("add", ".");
    part("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "another commit");
    await refuses(COMMITTED, /: part; commit or remove it/);
    part("reset", "--quiet", "--hard", "HEAD~1");
    await accepts(COMMITTED);
  });

  it("refuses files in the folder of a submodule that is not checked out", async () => {
    const { accepts, refuses, write, git, project } = await aRepository(CLEAN);
    git("update-index", "--add", "--cacheinfo", `160000,${git("rev-parse", "HEAD")},part`);
    git("commit", "--quiet", "-m", "second");
    await write("part/evil.js", "evil()\n");
    expect(git("status", "--porcelain")).toBe("");
    await refuses(COMMITTED, /part can.t be compared: it is a submodule without its repository/);
    await rm(join(project, "part/evil.js"));
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

  it("refuses a project without a repository", async () => {
    const { accepts, refuses, project } = await aGate({ gate: CLEAN, files: COMMITTED_FILES });
    await refuses(COMMITTED, /the project is not in a git repository/);
    await initialise(project);
    await accepts(COMMITTED);
  });
});

const COMMIT =
  "evidence_schema:\n  commit: {type: string, description: id of your commit, verify: git_commit_exists}\n";

describe("a gate that requires a commit", () => {
  it("lets an honest agent through", async () => {
    const { accepts, git } = await aRepository(COMMIT);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses a commit that does not exist", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: "deadbeef".repeat(5) }, /there is no commit deadbeef.* in this repository/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses a commit of another repository", async () => {
    const { accepts, refuses, git, base } = await aRepository(COMMIT);
    await writeFiles(join(base, "other"), COMMITTED_FILES);
    const other = await initialise(join(base, "other"), { message: "of another repository" });
    const foreign = other("rev-parse", "HEAD");
    await refuses({ commit: foreign }, /there is no commit .* in this repository/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses a commit whose text is stored under another id", async () => {
    const { accepts, refuses, git, project } = await aRepository(COMMIT);
    const id = "deadbeef".repeat(5);
    const text = `${git("cat-file", "commit", "HEAD")}\n`;
    await mkdir(join(project, ".git/objects/de"), { recursive: true });
    const object = deflateSync(Buffer.from(`commit ${Buffer.byteLength(text)}\0${text}`));
    await writeFile(join(project, ".git/objects/de", id.slice(2)), object);
    await refuses({ commit: id }, /the object deadbeef.* has other content than its id says/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses the name of a branch, and an option", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: "main" }, /commit.*7 to 64 hexadecimal digits; branches and tags are not accepted/);
    await refuses({ commit: "--upload-pack=touch pwned" }, /7 to 64 hexadecimal digits/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });

  it("refuses the id of a file in place of a commit's", async () => {
    const { accepts, refuses, git } = await aRepository(COMMIT);
    await refuses({ commit: git("rev-parse", "HEAD:a.md") }, /there is no commit/);
    await accepts({ commit: git("rev-parse", "HEAD") });
  });
});
