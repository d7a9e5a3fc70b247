import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader, ReadVersion } from "./commit-reader.js";
import type { Disk } from "./disk.js";
import { ignore } from "./file-handles.js";
import type { KnownVersions } from "./known-versions.js";
import type { SessionPlace, StoreLayout } from "./store-layout.js";

/** So many sessions' versions are kept in mind from lists, until all are forgotten. */
const MAX_LISTED = 4096;

/** Finds the newest version of a session, from the best hint that there is. */
export class NewestVersion {
  readonly #reader: CommitReader;
  readonly #known: KnownVersions;
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  /** Which version a list found last. */
  readonly #listed = new Map<SessionId, number>();

  constructor(disk: Disk, layout: StoreLayout, reader: CommitReader, known: KnownVersions) {
    this.#reader = reader;
    this.#known = known;
    this.#disk = disk;
    this.#layout = layout;
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

  /**
   * The version that `head` names, where the folder is the one that it was written in. In a copy, `head` may be from
   * after the time at which the names in the folder were read: then it says nothing of commits that are gone.
   */
  async hint(id: SessionId): Promise<number> {
    const at = this.#layout.place(id);
    const { version, folder } = await this.#reader.hint(at);
    return folder === undefined || folder === (await this.#disk.fileNumber(at.folder)) ? version : 0;
  }

  // What this process saw last is a better hint than `head`, which is written after the answer. Neither is more than a
  // hint: a backup may have been put back, and anything may have happened to `head`.
  async #find<T extends CommitHeader>(id: SessionId, read: ReadVersion<T>): Promise<T | undefined> {
    const at = this.#layout.place(id);
    const seen = Math.max(this.#known.get(id)?.version ?? 0, this.#listed.get(id) ?? 0);
    const next = await this.#from(at, seen, read);
    if (next !== undefined) return next;
    this.#known.forget(id);
    this.#listed.delete(id);
    const hinted = await this.#from(at, (await this.#reader.hint(at)).version, read);
    return hinted ?? this.#from(at, await this.#reader.highest(at), read);
  }

  /** The newest version, if one that is given, or one after it, is there. */
  async #from<T>(at: SessionPlace, version: number, read: ReadVersion<T>): Promise<T | undefined> {
    if (version === 0) return undefined;
    const { id } = at;
    // Nearly always the version that is given is the newest one: it is read while the next one is looked for.
    const reading = read(id, version, at);
    reading.catch(ignore);
    const last = (await this.#reader.hasFile(at, version + 1)) ? await this.#gallop(at, version + 1) : version;
    // The pack last: what has no file any more was in it before.
    const packed = await this.#reader.packed(at);
    if (packed > last) return this.#from(at, packed, read);
    return last === version ? reading : read(id, last, at);
  }

  // Behind the pack versions have no gaps: from one that is there, double the step until one isn't, then halve it.
  async #gallop(at: SessionPlace, from: number): Promise<number> {
    let [low, step] = [from, 1];
    for (; await this.#reader.hasFile(at, low + step); step *= 2) low += step;
    for (let high = low + step; high - low > 1; ) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#reader.hasFile(at, middle)) low = middle;
      else high = middle;
    }
    return low;
  }
}
