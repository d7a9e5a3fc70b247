import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** When a file is put aside, and how many are kept. */
export interface Rotation {
  /** Bytes. */
  readonly maxBytes: number;
  /** At least 1: files beside the one that is written: `NAME.1` is the newest of them. */
  readonly kept: number;
}

const ROTATION: Rotation = { maxBytes: 10 * 1024 * 1024, kept: 5 };

/**
 * A file that lines are added to, put aside when it is full. Written at once: what stands in it when a process is killed
 * is what was logged. Two processes must not share one.
 */
export class RotatingFile {
  readonly #path: string;
  readonly #rotation: Rotation;
  #file: number;
  #bytes: number;

  /** Makes the file, readable by its owner alone, and its folder. Throws what the file system throws. */
  constructor(path: string, rotation: Rotation = ROTATION) {
    this.#path = path;
    this.#rotation = rotation;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#rotation.maxBytes) this.#rotate();
    writeSync(this.#file, line);
    this.#bytes += bytes;
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    closeSync(this.#file);
    for (let number = this.#rotation.kept; number > 0; number -= 1) {
      moveIfThere(number === 1 ? this.#path : `${this.#path}.${number - 1}`, `${this.#path}.${number}`);
    }
    this.#file = open(this.#path);
    this.#bytes = 0;
  }
}

function open(path: string): number {
  // As "a", but it doesn't wait for somebody who reads a FIFO.
  const { O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0o600);
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
