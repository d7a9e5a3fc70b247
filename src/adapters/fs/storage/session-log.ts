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
      const batch = await this.#batch(id, next, count);
      yield* batch;
      next += batch.length;
      if (batch.length < count && (await this.#endsBefore(id, next))) return;
    }
  }

  /** The versions from `first` on, up to the first that isn't there. */
  async #batch(id: SessionId, first: number, count: number): Promise<Commit[]> {
    const versions = Array.from({ length: count }, (_, index) => first + index);
    const read = await Promise.all(versions.map((version) => this.#reader.commit(id, version)));
    const missing = read.indexOf(undefined);
    return read.slice(0, missing < 0 ? count : missing).filter((commit) => commit !== undefined);
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
