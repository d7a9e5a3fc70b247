import { type Stats, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { PhasegateError } from "../../errors.js";
import { fileMoved, storageFailed } from "./sqlite-failure.js";

/** A file by its name, and which one it was when the database was opened. */
interface Known {
  readonly name: string;
  readonly stats: Stats;
}

/**
 * The files of an open database. SQLite writes to what it has opened, wherever that is moved to, and also once it is
 * deleted: commits would be acknowledged that nobody finds under the database's name. So each write asks whether the names
 * still lead to the same files, which takes some microseconds.
 */
export class OpenFile {
  readonly #main: Known;
  readonly #log: Known | undefined;

  private constructor(main: Known, log: Known | undefined) {
    this.#main = main;
    this.#log = log;
  }

  /** Looks which files a database has open, under the name that it was opened by; undefined for one in memory. */
  static of(database: DatabaseSync, opened?: Known): OpenFile | undefined {
    const { file } = database.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
    if (typeof file !== "string" || file === "") return undefined;
    const main = knownFile(opened?.name ?? file);
    // Without a name there is nothing to lead anywhere, as with a file system of the host's own.
    if (main === undefined && opened === undefined) return undefined;
    if (main === undefined || (opened !== undefined && !isSame(main.stats, opened.stats))) throw movedWhileOpened();
    return new OpenFile(main, knownFile(`${file}-wal`));
  }

  /** Throws `STORAGE_FAILED` if the database's name leads to another file, or to none. Nothing was written then. */
  requireHere(operation: string): void {
    if (!isThere(this.#main)) throw fileMoved(operation, this.#main.name, false);
  }

  /** The same of all files, after something was written: with `outcome: "unknown"`. */
  requireWritten(operation: string): void {
    const gone = [this.#main, this.#log].find((file) => file !== undefined && !isThere(file));
    if (gone !== undefined) throw fileMoved(operation, gone.name, true);
  }
}

/** A file as it is now; undefined if there is none of that name. */
export function knownFile(name: string): Known | undefined {
  const stats = statSync(name, { throwIfNoEntry: false });
  return stats && { name, stats };
}

function isThere({ name, stats }: Known): boolean {
  const now = statSync(name, { throwIfNoEntry: false });
  return now !== undefined && isSame(now, stats);
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

function movedWhileOpened(): PhasegateError {
  return storageFailed("open", "its file was moved or replaced while it was opened", "Open it again.");
}
