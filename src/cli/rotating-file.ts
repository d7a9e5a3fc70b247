/** The log files of a server, which are renamed when they are full. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Logger } from "pino";
import { errnoOf } from "../errors.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** `kept` is the number of old files, at least 1. `NAME.1` is the newest of them. */
const ROTATION = { maxBytes: 10 * 1024 * 1024, kept: 5 };

/**
 * A log file that is renamed when it is full. Lines are written synchronously, so that none is lost when the process is
 * killed. Two processes must not share a file.
 */
export class RotatingFile {
  readonly #path: string;
  readonly #stderr: Pick<Logger, "warn" | "error">;
  readonly #rotation: typeof ROTATION;
  #file: number;
  #bytes: number;
  #isFailing = false;

  /** Creates the file, readable by its owner only, and its folder. Throws the errors of the file system. */
  constructor(path: string, stderr: Pick<Logger, "warn" | "error">, rotation = ROTATION) {
    this.#path = path;
    this.#stderr = stderr;
    this.#rotation = rotation;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  /**
   * Drops a line that can't be written: a full disk must not turn a call that was carried out into a failure. stderr tells when
   * this begins and when it ends.
   */
  write(line: string): void {
    const file = this.#path;
    try {
      this.#append(line);
      if (this.#isFailing) this.#stderr.warn({ file }, "the log file is written again; some lines are missing");
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) this.#stderr.error({ err, file }, "the log file can't be written");
      this.#isFailing = true;
    }
  }

  #append(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#rotation.maxBytes) this.#rotate();
    writeSync(this.#file, line);
    this.#bytes += bytes;
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    // It is gone if only the last step failed before: moving the others again would delete the oldest for nothing.
    for (let number = existsSync(this.#path) ? this.#rotation.kept : 0; number > 0; number -= 1) {
      moveIfThere(number === 1 ? this.#path : `${this.#path}.${number - 1}`, `${this.#path}.${number}`);
    }
    const full = this.#file;
    this.#file = open(this.#path);
    this.#bytes = 0;
    // Last: after a failure, the number of a closed file could belong to another one, which would be closed next.
    closeSync(full);
  }
}

function open(path: string): number {
  // A device behind a link is meant; a file there may be anybody's.
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (isLink && statSync(path, { throwIfNoEntry: false })?.isFile() !== false) {
    const message = `the log file ${path} is a link, through which nothing is written`;
    throw new CommandFailure(message, EXIT.environment, "Delete the link, or name the file where it leads.");
  }
  // The same as "a", except that opening a FIFO does not wait for a reader.
  const { O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
