import type { SessionId } from "../../../definition/names.js";
import { isPhasegateError } from "../../../errors.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader, ReadVersion } from "./commit-reader.js";
import type { KnownVersions } from "./known-versions.js";

/** Finds the newest version of a session, from the best hint that there is. */
export class NewestVersion {
  readonly #reader: CommitReader;
  readonly #known: KnownVersions;

  constructor(reader: CommitReader, known: KnownVersions) {
    this.#reader = reader;
    this.#known = known;
  }

  async commit(id: SessionId): Promise<Commit | undefined> {
    const commit = await this.#find(id, this.#reader.commit);
    if (commit === undefined) this.#known.forget(id);
    else this.#known.note(id, commit);
    return commit;
  }

  /** Without the body; and not noted, as a list would flush out what is in use. */
  async header(id: SessionId): Promise<CommitHeader | undefined> {
    return this.#find(id, this.#reader.header);
  }

  // What this process saw last is a better hint than `head`, which is renamed after the answer.
  async #find<T extends CommitHeader>(id: SessionId, read: ReadVersion<T>): Promise<T | undefined> {
    const known = this.#known.get(id)?.version ?? 0;
    if (known > 0 && !(await this.#reader.has(id, known + 1))) {
      const commit = await read(id, known);
      if (commit !== undefined) return commit;
    }
    const hint = await readHint(id, read);
    const latest = await this.#gallop(id, Math.max(known, hint?.version ?? 0));
    if (latest === hint?.version) return hint;
    return latest === 0 ? undefined : read(id, latest);
  }

  // Versions have no gaps: from one that is there, double the step until one isn't, then halve it.
  async #gallop(id: SessionId, from: number): Promise<number> {
    let [low, step] = [from, 1];
    for (; await this.#reader.has(id, low + step); step *= 2) low += step;
    for (let high = low + step; high - low > 1; ) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#reader.has(id, middle)) low = middle;
      else high = middle;
    }
    return low;
  }
}

// A damaged hint is no hint. If the version that it was is damaged too, reading that one says so.
async function readHint<T>(id: SessionId, read: ReadVersion<T>): Promise<T | undefined> {
  try {
    return await read(id);
  } catch (error) {
    if (isPhasegateError(error, "TAMPERED")) return undefined;
    throw error;
  }
}
