import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync, inflateSync } from "node:zlib";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { copyRepository, initialise } from "../support/a-repository.js";
import { aProject, refused } from "./a-project.js";

const SESSION = { id: "a", workflowType: "w", target: "t", phase: 1 };

async function aRepository() {
  const project = await aProject();
  const git = await copyRepository(project.root);
  const commit = async (path: string, text: string) => {
    await project.write(path, text);
    git("add", ".");
    git("commit", "--quiet", "-m", path);
    return git("rev-parse", "HEAD");
  };
  return { ...project, git, commit };
}

/** The branch `change` has two commits since `main`. A forged parent of `base` makes the first one look like a commit of `main`. */
async function aChange() {
  const repository = await aRepository();
  const { git, commit, verify, snapshot } = repository;
  git("checkout", "--quiet", "-b", "change");
  const evil = await commit("evil.js", "evil\n");
  await commit("good.js", "good\n");
  git("checkout", "--quiet", "main");
  const first = await commit("one.md", "one\n");
  const base = await commit("two.md", "two\n");
  // Git checks the content of the commits that are named, and not that of those before them.
  const main = await commit("three.md", "three\n");
  const params = { base: "main", head: "change" };
  const taken = { snapshot: (await snapshot("git_changes", params)) ?? null };
  const changes = (value: string[]) => verify("git_changes", params, { ...taken, value });
  expect(await changes(["evil.js", "good.js"])).toMatchObject({ ok: true });
  return { ...repository, changes, first, evil, base, main };
}

/** Makes git's cache of the graph say that a commit has another parent. */
async function forgeGraph(git: (...args: string[]) => string, file: string, commit: string, parent: string) {
  git("commit-graph", "write", "--reachable");
  const graph = await readFile(file);
  const chunks = graph[6] ?? 0;
  const offsets = new Map<string, number>();
  for (let index = 0; index < chunks; index += 1) {
    const at = 8 + 12 * index;
    offsets.set(graph.toString("latin1", at, at + 4), Number(graph.readBigUInt64BE(at + 4)));
  }
  const [ids, data] = [offsets.get("OIDL") ?? 0, offsets.get("CDAT") ?? 0];
  const place = (id: string) => (graph.indexOf(Buffer.from(id, "hex"), ids) - ids) / 20;
  graph.writeUInt32BE(place(parent), data + 36 * place(commit) + 20);
  const body = graph.subarray(0, -20);
  await chmod(file, 0o644);
  await writeFile(file, Buffer.concat([body, createHash("sha1").update(body).digest()]));
}

const loose = (root: string, id: string) => join(root, ".git/objects", id.slice(0, 2), id.slice(2));

/** Writes another content under the id of an object that is not packed. */
async function forgeObject(root: string, id: string, change: (text: string) => string) {
  const bytes = inflateSync(await readFile(loose(root, id)));
  const [type, content = ""] = bytes.toString("latin1").split(/ \d+\0/, 2);
  const forged = change(content);
  await rm(loose(root, id));
  await writeFile(loose(root, id), deflateSync(Buffer.from(`${type} ${forged.length}\0${forged}`, "latin1")));
}

describe("what a repository can forge", () => {
  it.each(["commit-graph", "commit-graphs"])("doesn't move the last common commit by objects/info/%s", async (kind) => {
    const { changes, git, root, evil, base } = await aChange();
    const info = join(root, ".git/objects/info");
    await forgeGraph(git, join(info, "commit-graph"), base, evil);
    if (kind === "commit-graphs") {
      const hash = (await readFile(join(info, "commit-graph"))).subarray(-20).toString("hex");
      await mkdir(join(info, "commit-graphs"));
      await rename(join(info, "commit-graph"), join(info, `commit-graphs/graph-${hash}.graph`));
      await writeFile(join(info, "commit-graphs/commit-graph-chain"), `${hash}\n`);
    }
    // git itself believes it: the test would see it.
    expect(git("merge-base", "main", "change")).toBe(evil);
    expect(refused(await changes(["good.js"]))).toContain("1 of 2 changed files are missing: evil.js");
    expect(await changes(["evil.js", "good.js"])).toMatchObject({ ok: true });
  });

  it.each(["grafts", "replace", "shallow"])("doesn't move it by %s", async (kind) => {
    const { changes, git, root, first, evil, base } = await aChange();
    if (kind === "grafts") await writeFile(join(root, ".git/info/grafts"), `${base} ${evil}\n`);
    else if (kind === "shallow") await writeFile(join(root, ".git/shallow"), `${first}\n${evil}\n`);
    else git("replace", "--graft", base, evil);
    if (kind !== "shallow") expect(git("merge-base", "main", "change")).toBe(evil);
    expect(refused(await changes(["good.js"]))).toContain("missing: evil.js");
    expect(await changes(["evil.js", "good.js"])).toMatchObject({ ok: true });
  });

  it("refuses a commit whose content is not that of its id", async () => {
    const { changes, git, root, first, evil, base } = await aChange();
    await forgeObject(root, base, (text) => text.replace(first, evil));
    expect(git("merge-base", "main", "change")).toBe(evil);
    expect(refused(await changes(["good.js"]))).toContain(`the object ${base} of the git repository has other content`);
  });

  it("refuses a folder whose content is not that of its id", async () => {
    const { changes, git, root, verify, commit } = await aChange();
    await commit("deep/a.js", "a\n");
    const before = git("rev-parse", "HEAD:deep");
    const id = git("rev-parse", "HEAD");
    expect(await verify("git_commit_exists", { files: ["deep/a.js"] }, { value: id })).toMatchObject({ ok: true });
    await forgeObject(root, before, (text) => text.replace("a.js", "b.js"));
    expect(git("ls-tree", "-r", "--name-only", "HEAD")).toContain("deep/b.js");
    const message = `the object ${before} of the git repository has other content`;
    expect(refused(await verify("git_commit_exists", { files: ["deep/b.js"] }, { value: id }))).toContain(message);
    expect(refused(await verify("git_clean", {}))).toContain(message);
    expect(await changes(["evil.js", "good.js"])).toMatchObject({ ok: true });
  });

  it("refuses such a folder beside the project, which is a folder of the repository, too", async () => {
    const { git, root, commit } = await aRepository();
    await commit("part/a.js", "a\n");
    const before = await commit("other/x.js", "x\n");
    await commit("other/x.js", "y\n");
    await commit("part/a.js", "b\n");
    const verifiers = await createVerifiers({ projectRoot: join(root, "part") });
    const asked = { params: { base: before, head: "main" }, evidence: {}, session: SESSION };
    const snapshot = (await verifiers.git_changes.snapshot?.(asked)) ?? null;
    const changes = (value: string[]) =>
      verifiers.git_changes.verify({ ...asked, snapshot, value }, { signal: new AbortController().signal });
    expect(await changes(["other/x.js", "part/a.js"])).toMatchObject({ ok: true });
    const [old, now] = [`${before}:other/x.js`, "HEAD:other/x.js"].map((name) =>
      Buffer.from(git("rev-parse", name), "hex").toString("latin1"),
    );
    await forgeObject(root, git("rev-parse", "HEAD:other"), (text) => text.replace(now ?? "", old ?? ""));
    expect(git("diff", "--name-only", before, "HEAD")).toBe("part/a.js");
    expect(refused(await changes(["part/a.js"]))).toContain("has other content");
  });

  it("refuses a tag whose content is not that of its id", async () => {
    const { git, root, verify, first, main } = await aChange();
    git("tag", "-a", "-m", "one", "v1", first);
    expect(refused(await verify("git_tag_exists", { tag: "v1", at_head: true }))).toContain("not at the commit");
    await forgeObject(root, git("rev-parse", "v1"), (text) => text.replace(first, main));
    expect(refused(await verify("git_tag_exists", { tag: "v1", at_head: true }))).toContain("has other content");
  });

  it("refuses objects of another repository", async () => {
    const { git, root, base, verify } = await aRepository();
    await mkdir(join(base, "other"));
    const other = await initialise(await filled(join(base, "other")));
    await mkdir(join(root, ".git/objects/info"), { recursive: true });
    await writeFile(join(root, ".git/objects/info/alternates"), `${join(base, "other/.git/objects")}\n`);
    const id = other("rev-parse", "HEAD");
    expect(git("cat-file", "-t", id)).toBe("commit");
    expect(refused(await verify("git_commit_exists", {}, { value: id }))).toContain("objects/info/alternates");
    expect(refused(await verify("git_clean", {}))).toContain("objects/info/alternates");
  });
});

async function filled(folder: string): Promise<string> {
  await writeFile(join(folder, "other.md"), "other\n");
  return folder;
}

/** Records the state of a project's files, and returns the check of what has changed since. */
async function since({ snapshot, verify }: Pick<Awaited<ReturnType<typeof aProject>>, "snapshot" | "verify">) {
  const name = "git_changed_since_phase_start";
  const taken = { snapshot: (await snapshot(name, {})) ?? null };
  return (value?: string[]) => verify(name, {}, { ...taken, ...(value === undefined ? {} : { value }) });
}

describe("what can't be read never counts as unchanged", () => {
  it("sees each change in a nested repository", async () => {
    const repository = await aRepository();
    const { root, write } = repository;
    await write("nested/x.js", "x\n");
    const nested = await initialise(join(root, "nested"));
    await write("empty/y.js", "y\n");
    await initialise(join(root, "empty")).then((git) => git("update-ref", "-d", "HEAD"));
    const changed = await since(repository);
    expect(await changed()).toMatchObject({ ok: true });
    await write("nested/x.js", "evil\n");
    expect(refused(await changed())).toContain("changed: nested/x.js");
    expect(await changed(["nested/x.js"])).toMatchObject({ ok: true });
    nested("commit", "--quiet", "-am", "second");
    expect(refused(await changed())).toContain("changed: nested");
    nested("reset", "--quiet", "--hard", "HEAD~1");
    expect(await changed()).toMatchObject({ ok: true });
    await write("empty/y.js", "evil\n");
    expect(refused(await changed())).toContain("changed: empty/y.js");
  });

  it("sees each change in a submodule, also in one that is at another commit", async () => {
    const repository = await aRepository();
    const { root, write, git } = repository;
    await write("module/x.js", "x\n");
    const module = await initialise(join(root, "module"));
    git("add", "module");
    git("commit", "--quiet", "-m", "module");
    await write("module/x.js", "two\n");
    module("commit", "--quiet", "-am", "second");
    const changed = await since(repository);
    expect(await changed()).toMatchObject({ ok: true });
    await write("module/x.js", "evil\n");
    expect(refused(await changed())).toContain("changed: module/x.js");
    module("commit", "--quiet", "-am", "third");
    expect(refused(await changed())).toContain("changed: module");
    await rm(join(root, "module/.git"), { recursive: true });
    expect(refused(await changed())).toContain("module can't be compared");
  });

  it("names a file whose name is not UTF-8", async () => {
    const repository = await aRepository();
    const { root, git, verify } = repository;
    const place = Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])]);
    await writeFile(place, "x");
    const changed = await since(repository);
    const message = "caf\\xe9 can't be compared: its name is not UTF-8; rename it";
    expect(refused(await changed())).toContain(message);
    expect(refused(await verify("git_clean", {}))).toContain(message);
    git("add", ".");
    git("commit", "--quiet", "-m", "second");
    // As it was committed it needs no name.
    const later = await since(repository);
    expect(await later()).toMatchObject({ ok: true });
    expect(await verify("git_clean", {})).toMatchObject({ ok: true });
    await writeFile(place, "evil");
    expect(refused(await later())).toContain(message);
  });

  it("names a folder that can't be listed", async ({ skip }) => {
    skip(process.getuid?.() === 0, "root may read every folder");
    const repository = await aRepository();
    await repository.write("shut/x.js", "x\n");
    await chmod(join(repository.root, "shut"), 0);
    const changed = await since(repository);
    expect(refused(await changed())).toContain("shut");
    await chmod(join(repository.root, "shut"), 0o755);
  });

  it("names what is no file", async () => {
    const repository = await aRepository();
    const { root, write } = repository;
    await rm(join(root, "a.md"));
    await symlink("loop", join(root, "loop"));
    const changed = await since(repository);
    expect(await changed()).toMatchObject({ ok: true });
    const { execFileSync } = await import("node:child_process");
    execFileSync("mkfifo", [join(root, "a.md")]);
    expect(refused(await changed())).toContain("a.md can't be compared: it is no file");
    await rm(join(root, "a.md"));
    await write("a.md/inside.md", "x\n");
    expect(refused(await changed())).toContain("changed: a.md");
  });
});
