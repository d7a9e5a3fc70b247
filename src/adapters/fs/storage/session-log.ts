import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { CommitReader } from "./commit-reader.js";
import { tampered } from "./fs-failure.js";
import type { NewestVersion } from "./newest-version.js";

const READ_AHEAD = 8;

/** Reads the commits of a session in order, a few ahead of the caller. */
export class SessionLog {
  readonly #reader: CommitReader;
  readonly #newest: NewestVersion;

  constructor(reader: CommitReader, newest: NewestVersion) {
    this.#reader = reader;
    this.#newest = newest;
  }

  async *read(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    for (let next = after + 1; next <= after + limit; ) {
      const count = Math.min(READ_AHEAD, after + limit + 1 - next);
      const versions = Array.from({ length: count }, (_, index) => next + index);
      // What can't be read fails when it is its turn: those before it are given first.
      for (const read of await Promise.allSettled(versions.map((version) => this.#reader.commit(id, version)))) {
        if (read.status === "rejected") throw read.reason;
        if (read.value === undefined) {
          if (await this.#endsBefore(id, next)) return;
          break;
        }
        yield read.value;
        next++;
      }
    }
  }

  // A version that isn't there is the log's end, unless it came in the meantime, or was taken away by hand.
  async #endsBefore(id: SessionId, version: number): Promise<boolean> {
    const newest = await this.#newest.header(id);
    if (newest === undefined || newest.version < version) return true;
    if (await this.#reader.has(id, version)) return false;
    if (!(await this.#reader.hasFolder(id))) return true;
    throw tampered(id, version, "it is missing, though later versions are there");
  }
}
