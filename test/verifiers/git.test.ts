import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { copyRepository } from "../support/a-repository.js";
import { aProject, refused } from "./a-project.js";

/** A project that is a repository with one commit. */
async function aRepository(format?: string) {
  const project = await aProject();
  const git = await copyRepository(project.root, format);
  return { ...project, git, clean: (params = {}) => project.verify("git_clean", params) };
}

describe("git_clean", () => {
  it.each(["sha1", "sha256"])("takes a work tree that is as the last commit has it (%s)", async (format) => {
    const { clean, git, write } = await aRepository(format);
    expect(await clean()).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^no uncommitted files; caches/),
      exit: 0,
    });
    git("pack-refs", "--all");
    git("gc", "--quiet");
    expect(await clean()).toMatchObject({ ok: true });
    await write("a.md", "changed\n");
    expect(refused(await clean())).toContain("1 uncommitted file: a.md; commit or remove it");
    git("checkout", "--quiet", "--detach");
    git("commit", "--quiet", "-am", "second");
    expect(await clean()).toMatchObject({ ok: true });
  });

  it("sees changed, deleted, staged and new files, and leaves ignored ones out", async () => {
    const { clean, git, root, write } = await aRepository();
    await rm(join(root, "a.md"));
    expect(refused(await clean())).toContain("a.md");
    git("checkout", "a.md");
    await write("new.md", "new");
    expect(refused(await clean())).toContain("new.md");
    expect(await clean({ untracked: false })).toMatchObject({ ok: true });
    git("add", "new.md");
    expect(refused(await clean())).toContain("new.md");
    await write(".gitignore", "*.log\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await write("x.log", "log");
    expect(await clean()).toMatchObject({ ok: true });
    for (let index = 0; index < 9; index += 1) await write(`n${index}`, "n");
    expect(refused(await clean())).toContain("and 4 more");
  });

  it("looks at one folder where the gate says so", async () => {
    const { clean, write } = await aRepository();
    await write("sub/b.md", "changed");
    expect(refused(await clean({ path: "sub" }))).toContain("sub/b.md");
    await write("sub/b.md", "b\n");
    await write("a.md", "changed");
    expect(await clean({ path: "sub" })).toMatchObject({ ok: true });
    expect(refused(await clean({ path: "../" }))).toContain("refused");
    expect(refused(await clean({ path: "none" }))).toContain("there is no");
  });

  it("runs no command from the repository's configuration", async () => {
    const { clean, git, root, write, base } = await aRepository();
    const marker = join(base, "ran");
    const script = join(root, ".git", "evil");
    await writeFile(script, `#!/bin/sh\ntouch ${marker}\ncat\n`);
    await chmod(script, 0o755);
    await mkdir(join(root, ".git/hooks"), { recursive: true });
    for (const hook of ["post-index-change", "post-checkout", "fsmonitor-watchman", "reference-transaction"]) {
      await writeFile(join(root, ".git/hooks", hook), `#!/bin/sh\ntouch ${marker}\n`);
      await chmod(join(root, ".git/hooks", hook), 0o755);
    }
    for (const name of ["core.fsmonitor", "filter.x.clean", "filter.x.process", "core.pager", "diff.external"]) {
      git("config", name, script);
    }
    git("config", "core.sshCommand", script);
    git("config", "diff.x.textconv", script);
    git("config", "alias.status", `!${script}`);
    await writeFile(join(root, ".git/info/attributes"), "* filter=x diff=x\n");
    await write(".gitattributes", "* filter=x diff=x\n");
    await write("a.md", "changed\n");
    // git itself does run them: the test would see it.
    git("status");
    expect(existsSync(marker)).toBe(true);
    await rm(marker);
    expect(refused(await clean())).toContain("a.md");
    expect(existsSync(marker)).toBe(false);
  });

  it("takes what a checkout writes: line ends, marks of ident, and encodings that the commit's attributes name", async () => {
    const { clean, git, root, write } = await aRepository();
    await write(
      ".gitattributes",
      "* text=auto eol=crlf\n*.c ident\n*.txt working-tree-encoding=UTF-16LE-BOM\n*.bin -text\n",
    );
    await write("x.c", "// $Id$\nx;\n");
    await writeFile(join(root, "x.txt"), Buffer.from("\ufeffz\u00fc\r\n", "utf16le"));
    await writeFile(join(root, "x.bin"), Buffer.from([0, 13, 10, 10, 255]));
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    expect(await clean()).toMatchObject({ ok: true });
    git("rm", "--quiet", "-r", ".");
    git("reset", "--quiet", "--hard");
    expect(await readFile(join(root, "x.c"), "utf8")).toMatch(/^\/\/ \$Id: [0-9a-f]{40} \$\r\nx;\r\n$/);
    expect(await readFile(join(root, "a.md"), "utf8")).toBe("a\r\n");
    expect(await clean()).toMatchObject({ ok: true });
    expect(await clean({ path: "sub", untracked: false })).toMatchObject({ ok: true });
    // An edit that is committed leaves the mark of the blob before: git never writes it anew by itself.
    await write("x.c", (await readFile(join(root, "x.c"), "utf8")).replace("x;", "y;"));
    git("commit", "--quiet", "-am", "third");
    expect(await clean()).toMatchObject({ ok: true });
    await writeFile(join(root, "x.bin"), Buffer.from([0, 13, 10, 13, 10, 255]));
    expect(refused(await clean())).toContain(": x.bin;");
  });

  it("takes names of all kinds, and links as they are committed", async () => {
    const { clean, git, root, write } = await aRepository();
    for (const name of ["a b", "*", ":(glob)x", "\u00e9", "-x", "new\nline", 'quo"te']) await write(name, "x\n");
    await symlink("a.md", join(root, "link"));
    await chmod(join(root, "a b"), 0o755);
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    expect(await clean()).toMatchObject({ ok: true });
    await rm(join(root, "link"));
    await symlink("a b", join(root, "link"));
    expect(refused(await clean())).toContain("1 uncommitted file: link;");
  });

  it("looks into a repository in an ignored folder, where the gate names that", async () => {
    const { clean, git, root, write } = await aRepository();
    await write(".gitignore", "own/\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    await write("own/x.md", "x");
    const own = ["-C", join(root, "own"), "-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(...own, "init", "--quiet");
    git(...own, "add", ".");
    git(...own, "commit", "--quiet", "-m", "own");
    expect(await clean({ path: "own" })).toMatchObject({ ok: true });
    await write("own/x.md", "changed");
    expect(refused(await clean({ path: "own" }))).toContain("x.md");
    expect(await clean()).toMatchObject({ ok: true });
  });

  it("isn't talked into looking elsewhere, or past a changed file", async () => {
    const { clean, git, write, base, root } = await aRepository();
    await write("a.md", "changed\n");
    git("update-index", "--assume-unchanged", "a.md");
    expect(git("status", "--porcelain")).toBe("");
    expect(refused(await clean())).toContain("a.md");
    git("update-index", "--no-assume-unchanged", "a.md");
    git("update-index", "--skip-worktree", "a.md");
    expect(git("status", "--porcelain")).toBe("");
    expect(refused(await clean())).toContain("a.md");
    git("update-index", "--no-skip-worktree", "a.md");
    git("checkout", "a.md");
    await write("hidden.md", "new");
    await writeFile(join(root, ".git/info/exclude"), "hidden.md\n");
    expect(git("status", "--porcelain")).toBe("");
    expect(refused(await clean())).toContain("hidden.md");
    await mkdir(join(base, "copy"));
    execFileSync("git", ["clone", "--quiet", root, join(base, "copy")], { stdio: "ignore" });
    git("config", "core.worktree", join(base, "copy"));
    expect(refused(await clean())).toContain("hidden.md");
  });

  it("finds the repository of a linked work tree, and of a folder below", async () => {
    const { git, root, base } = await aRepository();
    git("worktree", "add", "--quiet", join(base, "linked"));
    for (const projectRoot of [join(base, "linked"), join(root, "sub")]) {
      const { git_clean } = await createVerifiers({ projectRoot });
      const session = { id: "a", workflowType: "w", target: "t", phase: 1 };
      const ask = () =>
        git_clean.verify({ params: {}, evidence: {}, session }, { signal: new AbortController().signal });
      expect(await ask()).toMatchObject({ ok: true });
      await writeFile(join(projectRoot, "b.md"), "changed");
      expect(await ask()).toMatchObject({ ok: false });
      await rm(join(projectRoot, "b.md"));
      execFileSync("git", ["checkout", "--quiet", "."], { cwd: projectRoot });
    }
  });

  it("says what keeps it from looking", async () => {
    const { clean, root, write } = await aRepository();
    const bare = await aProject();
    expect(refused(await bare.verify("git_clean", {}))).toContain("not in a git repository");
    for (const head of ["", "ref: refs/heads/none", "ref: refs/../../a.md", "ref: /etc/passwd", "nonsense"]) {
      await writeFile(join(root, ".git/HEAD"), head);
      expect(refused(await clean())).toContain("no commit that can be read");
    }
    await writeFile(join(root, ".git/HEAD"), "0".repeat(40));
    expect(refused(await clean())).toContain("could not read the repository");
    await rm(join(root, ".git"), { recursive: true });
    await write(".git", "nonsense");
    expect(refused(await clean())).toContain("not in a git repository");
  });

  it("is refused at load where the host has no git", async () => {
    const { root } = await aProject();
    const before = process.env.PATH;
    process.env.PATH = "";
    const verifiers = await createVerifiers({ projectRoot: root });
    process.env.PATH = before;
    await expect(verifiers.git_clean.check?.({})).rejects.toThrow("this host has no git");
    await expect(verifiers.git_commit_exists.check?.({})).rejects.toThrow("this host has no git");
  });
});

describe("git_commit_exists", () => {
  it("takes the id of a commit, whole or shortened", async () => {
    const { git, verify, check } = await aRepository();
    const id = git("rev-parse", "HEAD");
    for (const value of [id, id.slice(0, 7), id.toUpperCase()]) {
      expect(await verify("git_commit_exists", {}, { value })).toMatchObject({
        ok: true,
        message: `${id} is a commit`,
      });
    }
    expect(await verify("git_commit_exists", { commit: id })).toMatchObject({ ok: true });
    await check("git_commit_exists", { commit: "{evidence.commit}", files: ["{evidence.file}"] });
    await expect(check("git_commit_exists", { files: ["../a"] })).rejects.toThrow("../a");
    await expect(check("git_commit_exists", { commit: "HEAD" })).rejects.toThrow("7 to 64 hexadecimal digits");
  });

  it("takes only the commit that is checked out, and one with the files, if that is asked for", async () => {
    const { git, verify, write } = await aRepository();
    const first = git("rev-parse", "HEAD");
    await write("later.md", "later");
    await write("ignored.log", "log");
    await write(".gitignore", "*.log\n");
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    const second = git("rev-parse", "HEAD");
    const verified = (params: object, value: string) => verify("git_commit_exists", { ...params }, { value });
    expect(refused(await verified({ at_head: true }, first))).toContain(
      `${first} is not the commit that is checked out, ${second}`,
    );
    expect(
      await verified({ at_head: true, files: ["a.md", "later.md", "sub/b.md"] }, second.slice(0, 9)),
    ).toMatchObject({
      ok: true,
      message: `${second} has a.md, later.md, sub/b.md`,
    });
    expect(refused(await verified({ files: ["a.md", "later.md"] }, first))).toContain(
      `${first} has no later.md; commit this file, and send the id of the commit that has it`,
    );
    const none = "0".repeat(40);
    expect(refused(await verified({ files: ["a.md"] }, none))).toContain(
      `a.md was not looked up: there is no commit ${none} in this repository`,
    );
    expect(refused(await verified({ files: ["a.md"] }, "main"))).toContain(
      "a.md was not looked up: a commit id has 7 to 64 hexadecimal digits",
    );
    expect(refused(await verified({ files: ["ignored.log"] }, second))).toContain("has no ignored.log");
    expect(refused(await verified({ files: ["*.md"] }, second))).toContain("has no *.md");
  });

  it("doesn't take one that isn't there, nor a tree, a file or a tag", async () => {
    const { git, verify } = await aRepository();
    git("tag", "-a", "v1", "-m", "v1");
    const others = [git("rev-parse", "HEAD^{tree}"), git("rev-parse", "HEAD:a.md"), git("rev-parse", "v1")];
    for (const value of ["deadbeef", "0".repeat(40), ...others]) {
      expect(refused(await verify("git_commit_exists", {}, { value }))).toContain("there is no commit");
    }
  });

  it.each(["HEAD", "main", "v1", "--upload-pack=x", "-h", "HEAD~1", "abc", "deadbeef..main", "@", "", 5, null, ["a"]])(
    "doesn't take %j for an id",
    async (value) => {
      const { verify } = await aRepository();
      expect(refused(await verify("git_commit_exists", {}, { value }))).toContain("hexadecimal digits");
    },
  );

  it("fetches nothing, even if the repository has a promisor remote", async () => {
    const { base, git, root, verify } = await aRepository();
    const script = join(root, ".git", "evil");
    await writeFile(script, `#!/bin/sh\ntouch ${join(base, "ran")}\n`);
    await chmod(script, 0o755);
    git("config", "core.repositoryFormatVersion", "1");
    git("config", "extensions.partialClone", "origin");
    git("config", "remote.origin.promisor", "true");
    git("config", "remote.origin.url", root);
    git("config", "remote.origin.uploadpack", script);
    expect(refused(await verify("git_commit_exists", {}, { value: "1".repeat(40) }))).toContain("no commit");
    expect(existsSync(join(base, "ran"))).toBe(false);
    expect(() => git("cat-file", "-e", "1".repeat(40))).toThrow();
    expect(existsSync(join(base, "ran"))).toBe(true);
  });

  it("finds no repository where there is none", async () => {
    const { verify } = await aProject();
    expect(refused(await verify("git_commit_exists", {}, { value: "deadbeef" }))).toContain("not in a git repository");
  });
});
