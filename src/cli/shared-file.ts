/**
 * A small file that commands change while servers read it. A writer holds a claim on it, so that two processes never write at
 * once; the file is replaced as a whole. A process that reads it sees a change with its next look.
 */
import { randomBytes } from "node:crypto";
import {
  type BigIntStats,
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { errnoOf, isPhasegateError } from "../errors.js";
import { renameIfSame, temporaryName, whileClaimed } from "../sandbox/replace.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { unreadable } from "./options.js";

/**
 * Returns a function that reads a file: it returns the same value until the file changes. When the file can't be read any
 * more, that is reported once, and the value that was read last is kept.
 *
 * @throws {CommandFailure} when it could never be read. So does what `parse` throws.
 */
export function lastReadable<T>(
  file: string,
  what: string,
  parse: (text: string) => T,
): (report: (error: unknown) => void) => T {
  let current: { readonly key: string; readonly value: T } | undefined;
  return (report) => {
    const key = keyOf(file);
    if (current?.key === key) return current.value;
    try {
      current = { key, value: parse(readText(file, what)) };
    } catch (error) {
      if (current === undefined) throw error;
      current = { ...current, key };
      report(error);
    }
    return current.value;
  };
}

/** Runs a step that changes a file while no other process does. */
export async function changeFile<T>(file: string, step: () => T): Promise<T> {
  try {
    const done = await whileClaimed(file, () => ({ value: step() }));
    if (done === undefined) throw new Error("a claim that nobody wanted");
    return done.value;
  } catch (error) {
    if (error instanceof CommandFailure || isPhasegateError(error)) throw error;
    const hint = "Name a file in a folder that you may write to.";
    throw new CommandFailure(`${file} can't be written`, EXIT.environment, hint, { cause: error });
  }
}

/** Returns the path of a file with links followed: when it is replaced, a link stays a link. */
export function followed(file: string, what: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    return errnoOf(error) === "ENOENT" ? file : unreadable(file, what, error);
  }
}

/** Reads a file; `missing` is the text of one that is not there. */
export function readText(file: string, what: string, missing?: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return missing !== undefined && errnoOf(error) === "ENOENT" ? missing : unreadable(file, what, error);
  }
}

/** Replaces a file that still has the text `before`; it keeps its owner, and its mode unless one is given. */
export function writeFile(file: string, text: string, before: string, mode?: number): void {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  const temporary = temporaryName(file, randomBytes(6).toString("hex"));
  try {
    sync(temporary, "wx", (handle) => {
      writeFileSync(handle, text);
      if (stats !== undefined) makeLike(handle, stats, mode);
    });
    if (stats === undefined) renameSync(temporary, file);
    else if (!renameIfSame(temporary, file, Buffer.from(before))) {
      throw new CommandFailure(`${file} was changed meanwhile`, EXIT.problems, "Try again.");
    }
  } finally {
    rmSync(temporary, { force: true });
  }
  // Windows has no call for it and does it by itself.
  if (process.platform !== "win32") sync(dirname(file), "r");
}

/** Opens a file or a folder, and has it on the disk before it is closed. */
function sync(path: string, flags: string, step: (handle: number) => void = () => undefined): void {
  const handle = openSync(path, flags, 0o600);
  try {
    step(handle);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function makeLike(handle: number, { uid, gid, mode }: BigIntStats, fixed: number | undefined): void {
  fchmodSync(handle, fixed ?? Number(mode) & 0o7777);
  try {
    fchownSync(handle, Number(uid), Number(gid));
  } catch (error) {
    // Only root may change the owner.
    if (errnoOf(error) !== "EPERM") throw error;
  }
}

/** Returns what changes with each new version of a file; `""` if it can't be looked at: reading it then says why. */
function keyOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return "";
  }
}
