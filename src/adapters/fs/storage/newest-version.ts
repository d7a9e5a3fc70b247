import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { CommitHeader } from "./commit-file.js";
import type { CommitReader, ReadVersion } from "./commit-reader.js";
import { ignore } from "./file-handles.js";
import type { Generation, Generations } from "./generations.js";
import type { KnownVersions } from "./known-versions.js";

/** So many sessions' versions are kept in mind from lists, until all are forgotten. */
const MAX_LISTED = 4096;

/** What was found in one generation. A sealed one may have a successor. */
interface Found<T> {
  readonly newest: T | undefined;
  readonly isSealed: boolean;
}

/** Finds the newest version of a session, from the best hint that there is. */
export class NewestVersion {
  readonly #reader: CommitReader;
  readonly #known: KnownVersions;
  readonly #generations: Generations;
  /** Which version a list found last. */
  readonly #listed = new Map<SessionId, number>();

  constructor(reader: CommitReader, known: KnownVersions, generations: Generations) {
    this.#reader = reader;
    this.#known = known;
    this.#generations = generations;
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

  /** The version that `head` names, in the generation that is the current one on the disk. */
  async hint(id: SessionId): Promise<number> {
    await this.#generations.haveMoved(this.#generations.current(id));
    return this.#reader.hint(this.#generations.current(id));
  }

  async #find<T extends CommitHeader>(id: SessionId, read: ReadVersion<T>): Promise<T | undefined> {
    for (;;) {
      const at = this.#generations.current(id);
      const { newest, isSealed } = await this.#in(at, read);
      if (newest !== undefined && !isSealed) return newest;
      if (!(await this.#generations.haveMoved(at))) return newest;
    }
  }

  // What this process saw last is a better hint than `head`, which is renamed after the answer. Neither is more than a
  // hint: a backup may have been put back, and anything may have happened to `head`.
  async #in<T extends CommitHeader>(at: Generation, read: ReadVersion<T>): Promise<Found<T>> {
    const { id } = at;
    const seen = Math.max(this.#known.get(id)?.version ?? 0, this.#listed.get(id) ?? 0);
    const next = await this.#from(at, seen, read);
    if (next.newest !== undefined) return next;
    this.#known.forget(id);
    this.#listed.delete(id);
    const hinted = await this.#from(at, await this.#reader.hint(at), read);
    return hinted.newest === undefined ? this.#from(at, await this.#reader.highest(at), read) : hinted;
  }

  /** The newest version, if one that is given, or one after it, is there. */
  async #from<T>(at: Generation, version: number, read: ReadVersion<T>): Promise<Found<T>> {
    if (version === 0) return { newest: undefined, isSealed: false };
    const { id } = at;
    // Nearly always the version that is given is the newest one: it is read while the next one is looked for.
    const reading = read(id, version, at);
    reading.catch(ignore);
    const last = (await this.#reader.has(id, version + 1, at)) ? await this.#gallop(at, version + 1) : version;
    const newest = await (last === version ? reading : read(id, last, at));
    if (newest !== undefined || !(await this.#reader.isSealed(at, last))) return { newest, isSealed: false };
    return { newest: await read(id, last - 1, at), isSealed: true };
  }

  // Versions have no gaps: from one that is there, double the step until one isn't, then halve it.
  async #gallop(at: Generation, from: number): Promise<number> {
    let [low, step] = [from, 1];
    for (; await this.#reader.has(at.id, low + step, at); step *= 2) low += step;
    for (let high = low + step; high - low > 1; ) {
      const middle = Math.floor((low + high) / 2);
      if (await this.#reader.has(at.id, middle, at)) low = middle;
      else high = middle;
    }
    return low;
  }
}
