/**
 * A copy of a project's work tree, in which a command can run while files are put back to an earlier state. Nothing in the
 * project is touched, and nothing of the copy stays.
 */
import { spawn } from "node:child_process";
import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { errnoOf } from "../errors.js";
import { isMissing } from "../sandbox/refusals.js";
import { isInside } from "../sandbox/resolve.js";
import { fileName, inFolder, inTurn, notComparable, statOf } from "./committed-files.js";
import { CheckFailed } from "./define-verifier.js";
import { isProductIn } from "./products.js";

/** A file as it was: its bytes, the target of a link, or nothing. */
export type OldFile =
  | { readonly kind: "missing" }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly isExecutable: boolean };

/** A copy of a work tree. Paths are relative to the work tree. */
export interface ProjectCopy {
  readonly root: string;
  putBack(path: string, old: OldFile): Promise<void>;
  /** Takes a file from the project again. */
  takeAgain(path: string): Promise<void>;
  /** Names a process group, which ends with this process. */
  started(group: number): void;
}

/** Folders of installed packages: the copy gets links to what is in them. */
const PACKAGES = new Set(["node_modules", ".venv", "venv", "vendor"]);

/** Limits of a copy. */
const FILES_MAX = 100_000;
const BYTES_MAX = 2 * 2 ** 30;

/**
 * Copies a work tree, and returns the result of `use`. Of what is not committed, the products of tools are left out, and
 * packages are linked. Throws `CheckFailed` for what can't be copied.
 */
export async function withProjectCopy<T>(
  workTree: string,
  isCommitted: (path: string) => boolean,
  signal: AbortSignal,
  use: (copy: ProjectCopy) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-copy-"));
  const guard = guardOf(folder);
  try {
    // Some tools show the name of the folder, and some derive names from it.
    const root = join(folder, basename(workTree) || "project");
    await mkdir(root);
    const copying: Copying = { workTree, root, isCommitted, signal, files: 0, bytes: 0 };
    await copyFolder(copying, "");
    return await use({
      root,
      putBack: (path, old) => putBack(join(root, path), old),
      async takeAgain(path) {
        await rm(join(root, path), { recursive: true, force: true });
        if ((await statOf(join(workTree, path))) === undefined) return;
        await mkdir(dirname(join(root, path)), { recursive: true });
        await copyEntry(copying, path);
        // Tools compare times in seconds.
        const now = new Date();
        if ((await lstat(join(root, path))).isFile()) await utimes(join(root, path), now, now);
      },
      started: guard.started,
    });
  } finally {
    // A process that has left its group may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    guard.end();
  }
}

/** Removes a folder, and ends what runs in it, when this process ends without being able to. */
function guardOf(folder: string) {
  // Windows has no process groups, and may not have this shell.
  if (process.platform === "win32") return { started: () => undefined, end: () => undefined };
  const script =
    'while read -r group; do last=$group; done; [ -z "$last" ] || kill -s KILL -- "-$last"; rm -rf -- "$0"';
  const child = spawn("/bin/sh", ["-c", script, folder], {
    detached: true,
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a shell the copy is still removed, unless this process is killed.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.unref();
  return {
    started: (group: number) => void child.stdin.write(`${group}\n`),
    end: () => void child.stdin.end("\n"),
  };
}

interface Copying {
  readonly workTree: string;
  readonly root: string;
  /** Checks whether a path is committed, or a folder with a committed file. */
  isCommitted(path: string): boolean;
  readonly signal: AbortSignal;
  files: number;
  bytes: number;
}

/** Returns the names in a folder. Throws `CheckFailed` for one that is not UTF-8. */
async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { encoding: "buffer" })).map(fileName);
}

async function copyFolder(copying: Copying, folder: string): Promise<void> {
  const names = (await namesIn(join(copying.workTree, folder))).filter((name) => name !== ".git");
  await inTurn(names, copying.signal, (name) => copyEntry(copying, inFolder(folder, name)));
}

/** Copies a path. What is gone meanwhile is left out: a command may be running in the project. Throws `CheckFailed`. */
async function copyEntry(copying: Copying, path: string): Promise<void> {
  try {
    await copyWhatIsThere(copying, path);
  } catch (error) {
    if (isMissing(error)) return;
    if (["EACCES", "EPERM"].includes(errnoOf(error) ?? "")) throw notComparable(path, "it can't be read");
    throw error;
  }
}

async function copyWhatIsThere(copying: Copying, path: string): Promise<void> {
  const [from, to] = [join(copying.workTree, path), join(copying.root, path)];
  if (!copying.isCommitted(path) && (await isProductIn(copying.workTree, path))) return;
  const stats = await lstat(from);
  if (stats.isSymbolicLink()) return symlink(await targetIn(copying, path), to);
  if (stats.isDirectory()) {
    await mkdir(to);
    if (PACKAGES.has(basename(path)) && !copying.isCommitted(path)) return linkPackages(copying, path);
    await copyFolder(copying, path);
    return;
  }
  // A socket or a pipe is not part of what a command is about.
  if (!stats.isFile()) return;
  copying.files += 1;
  copying.bytes += stats.size;
  if (copying.files > FILES_MAX || copying.bytes > BYTES_MAX) {
    throw new CheckFailed(`the project can't be copied: it has more than ${FILES_MAX} files or ${BYTES_MAX} bytes`);
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await utimes(to, stats.atime, stats.mtime);
}

/** Returns the target that a link has in the copy: what is in the project leads to the copy, all other to where it led. */
async function targetIn({ workTree, root }: Copying, path: string): Promise<string> {
  const target = await readlink(join(workTree, path));
  const place = resolve(workTree, dirname(path), target);
  if (!isInside(workTree, place)) return place;
  return isAbsolute(target) ? join(root, relative(workTree, place)) : target;
}

/** Links each package of a folder, so that tools may write next to them, as into `node_modules/.cache`. */
async function linkPackages(copying: Copying, folder: string): Promise<void> {
  for (const name of await namesIn(join(copying.workTree, folder))) {
    const path = inFolder(folder, name);
    if (name === ".cache" || (await isProductIn(copying.workTree, path))) continue;
    const [from, to] = [join(copying.workTree, path), join(copying.root, path)];
    // A link may lead to a package of the project itself, which is in the copy.
    if ((await lstat(from)).isSymbolicLink()) await symlink(await targetIn(copying, path), to);
    else if (name.startsWith("@")) {
      await mkdir(to);
      await linkPackages(copying, path);
    } else await symlink(from, to);
  }
}

async function putBack(place: string, old: OldFile): Promise<void> {
  await rm(place, { recursive: true, force: true });
  if (old.kind === "missing") return;
  await mkdir(dirname(place), { recursive: true });
  if (old.kind === "link") return symlink(old.target, place);
  await writeFile(place, old.bytes);
  await chmod(place, old.isExecutable ? 0o755 : 0o644);
}
