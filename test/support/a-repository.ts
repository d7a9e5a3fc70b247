/**
 * Git repositories of one commit, made by git itself. Where many tests begin with the same one, git makes it once, and each
 * test gets a copy of its files: three processes for each would take longer than what most tests do.
 */
import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFiles } from "./write-files.js";

/** Runs git in a folder, with no configuration but the folder's own. */
export function gitIn(folder: string) {
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
  return (...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

/** An author, and no process after each commit that looks whether there is something to tidy up. */
const CONFIGURATION = "[user]\n\temail = a@example.org\n\tname = A\n[maintenance]\n\tauto = false\n";

/** Makes a repository of a folder and commits what is in it. */
export async function initialise(folder: string, { message = "first", format = "sha1" } = {}) {
  const git = gitIn(folder);
  git("init", "--quiet", `--object-format=${format}`, "--initial-branch=main");
  await appendFile(join(folder, ".git/config"), CONFIGURATION);
  git("add", ".");
  git("commit", "--quiet", "-m", message);
  return git;
}

/** The files that the copied repositories have committed. */
export const COMMITTED_FILES = { "a.md": "a\n", "sub/b.md": "b\n" };

const originals = new Map<string, Promise<Record<string, Buffer>>>();

/** Makes an empty folder a repository that has committed `COMMITTED_FILES`. */
export async function copyRepository(folder: string, format = "sha1") {
  const original = originals.get(format) ?? originalFiles(format);
  originals.set(format, original);
  await writeFiles(folder, await original);
  return gitIn(folder);
}

/** Returns the files of a new repository, without git's samples of hooks. */
async function originalFiles(format: string): Promise<Record<string, Buffer>> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-repository-"));
  try {
    await writeFiles(folder, COMMITTED_FILES);
    await initialise(folder, { format });
    const files: Record<string, Buffer> = {};
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith(".sample")) continue;
      const path = join(entry.parentPath, entry.name);
      files[path.slice(folder.length + 1)] = await readFile(path);
    }
    return files;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
