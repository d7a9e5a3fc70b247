import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { storageFailed } from "./sqlite-failure.js";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** What SQLite puts beside a database's file. */
const BESIDE = ["-journal", "-wal", "-shm"];

/**
 * Makes the file of a database that is new, and its folder, both for their owner alone: SQLite gives the files that it
 * puts beside it the same mode. One that is there is left as it is.
 */
export async function makeDatabaseFile(file: string): Promise<void> {
  const folder = dirname(file);
  const first = mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  refuseOdd(file);
  if (createEmpty(file)) await syncFolder(folder);
  if (first === undefined) return;
  for (let made = folder; made.length >= resolve(first).length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Refuses a file that isn't there, which SQLite would make. */
export function requireDatabaseFile(file: string): void {
  refuseOdd(file);
  if (existsSync(file)) return;
  throw storageFailed("open", "there is no such file", "Correct its name, or open it with migrate: true to make it.");
}

// To close any handle on a database's file takes away the locks that this process holds on it. So one is opened only
// for a file that nobody has yet, and closed in the same turn of the event loop.
function createEmpty(file: string): boolean {
  try {
    closeSync(openSync(file, "wx", FILE_MODE));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** SQLite would wait for ever for the other end of a FIFO that lies in the place of one of its files. */
function refuseOdd(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw storageFailed("open", "it is a folder", "Name a file: a folder is what FileStorage wants.");
  }
  for (const name of [file, ...BESIDE.map((ending) => `${file}${ending}`)]) {
    if (statSync(name, { throwIfNoEntry: false })?.isFile() === false) {
      const cause = `${basename(name)} is not a regular file`;
      throw storageFailed("open", cause, `Remove ${basename(name)}, and find out who made it.`);
    }
  }
}

/** Brings a folder's entries to the disk; Windows can't, and does it by itself. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
