/**
 * Carries a plan out: everything is checked before anything is written, each file is replaced as a whole, and if one can't
 * be written, those before it get back what they had.
 */
import { constants } from "node:fs";
import { access, chmod, mkdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf, PhasegateError } from "../errors.js";
import type { FileChange, SetupPlan } from "./plan.js";
import { locationOf, type Roots } from "./project.js";
import { RECORD_PATH } from "./record.js";

/**
 * Writes what a plan changes.
 * @throws {PhasegateError} `STORAGE_FAILED` if a file has changed since it was read, or can't be written. Then nothing is
 * changed.
 */
export async function applyPlan(roots: Roots, { changes, pending, make, unmake }: SetupPlan): Promise<void> {
  for (const change of changes) await check(roots, change);
  const undo: (() => Promise<unknown>)[] = [];
  const record = changes.find(({ path }) => path === RECORD_PATH);
  try {
    if (pending !== undefined && record !== undefined) {
      await write(roots, RECORD_PATH, pending);
      undo.push(() => write(roots, RECORD_PATH, record.before));
    }
    for (const folder of make) {
      const path = absolute(roots, folder);
      await mkdir(path);
      undo.push(() => rmdir(path));
    }
    for (const change of changes) {
      await write(roots, change.path, change.after);
      if (change !== record || pending === undefined) undo.push(() => write(roots, change.path, change.before));
    }
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error instanceof PhasegateError
      ? error
      : failed("a file or folder can't be changed", errnoOf(error) ?? "unknown", error);
  }
  for (const folder of unmake) await removeIfEmpty(absolute(roots, folder));
}

async function check(roots: Roots, { path, before }: FileChange): Promise<void> {
  const file = absolute(roots, path);
  const now = await readFile(file).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw failed(`${path} can't be read`, errnoOf(error) ?? "unknown", error);
  });
  const isSame = before === undefined ? now === undefined : now?.equals(Buffer.from(before)) === true;
  if (!isSame) throw failed(`${path} has changed since it was read`, "changed");
  const folder = await nearest(dirname(before === undefined ? file : await realpath(file)));
  await access(folder, constants.W_OK).catch((error: unknown) => {
    throw failed(`the folder of ${path} can't be written to`, errnoOf(error) ?? "unknown", error);
  });
}

async function write(roots: Roots, path: string, text: string | undefined): Promise<void> {
  const file = absolute(roots, path);
  if (text === undefined) return rm(file);
  // A link stays a link.
  const real = await realpath(file).catch(() => file);
  const mode = await stat(real).then(
    (found) => found.mode & 0o7777,
    () => undefined,
  );
  const temporary = `${real}.phasegate.tmp`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    if (mode !== undefined) await chmod(temporary, mode);
    await rename(temporary, real);
  } catch (error) {
    const cause = errnoOf(error) ?? "unknown";
    const left = `If no other init is running, delete ${path}.phasegate.tmp, which an interrupted one has left, and run it again.`;
    if (cause === "EEXIST") throw failed(`${path} can't be written`, cause, error, left);
    await rm(temporary, { force: true });
    throw failed(`${path} can't be written`, cause, error);
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errnoOf(error) ?? "")) throw error;
  });
}

async function nearest(folder: string): Promise<string> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  return isThere || dirname(folder) === folder ? folder : nearest(dirname(folder));
}

function absolute(roots: Roots, name: string): string {
  const { base, path } = locationOf(roots, name);
  return join(base, path);
}

function failed(
  message: string,
  cause: string,
  error?: unknown,
  remedy = "Correct that, and run phasegate init again.",
) {
  return new PhasegateError("STORAGE_FAILED", `${message} (${cause}): nothing was changed`, {
    remedy,
    details: { operation: "init", cause },
    cause: error,
  });
}
