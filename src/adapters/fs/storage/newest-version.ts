import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader, ReadVersion } from "./commit-reader.js";
import type { KnownVersions } from "./known-versions.js";

/** So many sessions' versions are kept in mind from lists, until all are forgotten. */
const MAX_LISTED = 4096;

/** Finds the newest version of a session, from the best hint that there is. */
export class NewestVersion {
  readonly #reader: CommitReader;
  readonly #known: KnownVersions;
  /** Which version a list found last. */
  readonly #listed = new Map<SessionId, number>();

  constructor(reader: CommitReader, known: KnownVersions) {
    this.#reader = reader;
    this.#known = known;
  }

  /**
   * The newest commit, which is on the disk: who wrote it may have died before it was, and what was read once must not
   * be gone after a loss of power.
   */
  async commit(id: SessionId): Promise<Commit | undefined> {
    const commit = await this.#find(id, this.#reader.commit);
    const isKnown = commit !== undefined && (this.#known.get(id)?.version ?? 0) >= commit.version;
    if (commit === undefined || !(isKnown || (await this.#reader.settle(id)))) {
      this.#known.forget(id);
      return undefined;
    }
    this.#known.note(id, commit);
    return commit;
  }

  /** Without the body; and not noted as known, as a list would flush out what is in use, and it may not be settled. */
  async header(id: SessionId): Promise<CommitHeader | undefined> {
    const header = await this.#find(id, this.#reader.header);
    if (this.#listed.size >= MAX_LISTED) this.#listed.clear();
    if (header !== undefined) this.#listed.set(id, header.version);
    return header;
  }

  // What this process saw last is a better hint than `head`, which is renamed after the answer. Neither is more than a
  // hint: a backup may have been put back, and anything may have happened to `head`.
  async #find<T extends CommitHeader>(id: SessionId, read: ReadVersion<T>): Promise<T | undefined> {
    const seen = Math.max(this.#known.get(id)?.version ?? 0, this.#listed.get(id) ?? 0);
    const next = await this.#from(id, seen, read);
    if (next !== undefined) return next;
    this.#known.forget(id);
    this.#listed.delete(id);
    const hinted = await this.#from(id, await this.#reader.hint(id), read);
    return hinted ?? this.#from(id, await this.#reader.highest(id), read);
  }

  /** The newest version, if one that is given, or one after it, is there. */
  async #from<T>(id: SessionId, version: number, read: ReadVersion<T>): Promise<T | undefined> {
    if (version === 0) return undefined;
    return read(id, (await this.#reader.has(id, version + 1)) ? await this.#gallop(id, version + 1) : version);
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
