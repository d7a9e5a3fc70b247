/**
 * Reads commits and finds the newest version of a session. A version is in the pack or in a file of its own. `head`
 * and this process's memory are hints only; the newest version is the last one that exists.
 */
import { join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import { RecentMap } from "../../workflow/cache.js";
import type { SessionId } from "../../workflow/names.js";
import { type CommitHeader, type Pack, Packs, parseCommit, parseHeader } from "./commit-file.js";
import { temporaryIn } from "./disk.js";
import { ignoreMissing, throwDamage } from "./failures.js";
import type { Base, SessionPlace } from "./layout.js";

/** The file of a version. */
interface Found {
  /** Undefined if there is no such version. */
  readonly data: Buffer | undefined;
  /** The number of versions that are in the pack, looked at once the file was open. */
  readonly packed: number;
}

/** Most headers are shorter. A longer one costs a second read. In bytes. */
const HEADER_BYTES = 2048;

/** The maximum size of a hint. */
const HINT_BYTES = 256;
/** Older stores have a hard link to the newest commit in the place of the hint. It begins in the same way. */
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14})(?:,"folder":"(\d+)")?[,}]/;

/** The content of `head`. */
interface Hint {
  /** The newest version at the time of writing; 0 if there is none. */
  readonly version: number;
  /** Inode of the folder in which it was written: in a copy of that folder, the hint may be ahead of the log. */
  readonly folder: string | undefined;
}

/**
 * Reads single commits. A missing one is undefined; a damaged one throws `TAMPERED`.
 *
 * If a version is both in the pack and in a file, the pack counts: after the file is deleted, a suspended writer can
 * create another file with that name, before it finds that it is too late. A file counts only if the pack did not
 * contain the version after the file had been opened.
 */
export class CommitReader {
  readonly #base: Base;
  readonly #packs: Packs;

  constructor(base: Base) {
    this.#base = base;
    this.#packs = new Packs(base.disk);
  }

  /** Returns a commit. */
  async commit(at: SessionPlace, version: number): Promise<Commit | undefined> {
    const { data } = await this.file(at, version);
    return data && parseCommit(data, at.id, version);
  }

  /** Returns a commit without its body, reading no more than necessary. */
  async header(at: SessionPlace, version: number): Promise<CommitHeader | undefined> {
    const { data } = await this.file(at, version, HEADER_BYTES);
    return data && this.headerIn(data, at, version);
  }

  /** Returns the header in the first bytes of a version's file. */
  async headerIn(start: Buffer, at: SessionPlace, version: number): Promise<CommitHeader | undefined> {
    return parseHeader(start, at.id, version) ?? this.commit(at, version);
  }

  /** Returns a version's file or its first bytes, unparsed. */
  async file(at: SessionPlace, version: number, bytes?: number): Promise<Found> {
    try {
      const pack = this.#base.publisher.path(at.folder, 1);
      if (this.#packs.isKnown(pack, version)) {
        const found = await this.#packs.read(pack, version, bytes);
        if (found !== undefined) return found;
      }
      const [own] = await Promise.allSettled([
        this.#base.disk.read(this.#base.publisher.path(at.folder, version), bytes),
      ]);
      const { count: packed } = await this.pack(at);
      const found = version <= packed ? await this.#packs.read(pack, version, bytes) : undefined;
      if (found !== undefined) return found;
      // If the version is in the pack, its own file does not count, not even if it can't be read.
      if (own.status === "rejected") throw own.reason;
      return { data: own.value, packed };
    } catch (error) {
      return throwDamage(error, at.id, version);
    }
  }

  /** Reads `head`. Nothing else in the file is used. */
  async hint({ id, folder }: SessionPlace): Promise<Hint> {
    const start = await this.#base.disk
      .read(join(folder, "head"), HINT_BYTES)
      .catch((error) => throwDamage(error, id, 0));
    const [, owner, version, place] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
    return { version: owner === id ? Number(version) : 0, folder: place };
  }

  /** Returns the highest version in a session's folder without reading it; 0 if there is none. */
  async highest(at: SessionPlace): Promise<number> {
    const versions = await this.versions(at);
    return Math.max((await this.pack(at)).count, ...versions.slice(-1));
  }

  /** Returns the versions that have a file of their own, in order. Version 1 is the first commit or the pack. */
  async versions({ id, folder }: SessionPlace): Promise<number[]> {
    const names = await this.#base.disk.names(folder).catch((error) => throwDamage(error, id, 0));
    const versions = names.map((name) => this.#base.publisher.versionOf(name));
    return versions.filter((version) => version > 0).sort((one, other) => one - other);
  }

  /** Returns the state of a session's pack. */
  async pack(at: SessionPlace): Promise<Pack> {
    return this.#packs.look(this.#base.publisher.path(at.folder, 1)).catch((error) => throwDamage(error, at.id, 1));
  }

  /** Passes the files of a session's packed versions to `use`, in order. Returns their number. */
  async eachPacked(at: SessionPlace, use: (data: Buffer) => Promise<void>): Promise<number> {
    return this.#packs
      .each(this.#base.publisher.path(at.folder, 1), use)
      .catch((error) => throwDamage(error, at.id, 1));
  }

  /** Syncs the versions in a session's folder; returns false if there is no such folder. */
  async sync({ folder }: SessionPlace): Promise<boolean> {
    const synced = this.#base.disk.syncFolder(folder).then(() => true);
    return (await synced.catch(ignoreMissing)) ?? false;
  }

  async has(at: SessionPlace, version: number): Promise<boolean> {
    return (await this.hasFile(at, version)) || version <= (await this.pack(at)).count;
  }

  /** Returns true if a version has a file of its own. */
  async hasFile(at: SessionPlace, version: number): Promise<boolean> {
    return this.#base.disk
      .exists(this.#base.publisher.path(at.folder, version))
      .catch((error) => throwDamage(error, at.id, version));
  }
}

/** A version that was seen on the disk. Versions never change, so this stays true unless a backup is restored. */
interface Known {
  readonly version: number;
  /** Its hash, if it is synced: lists sync nothing. */
  readonly hash: string | undefined;
}

/** How many sessions' newest versions are kept: with one, a read looks at two files and not at three, and syncs nothing. */
const MAX_KNOWN = 4096;

/** Finds the newest version of a session from the best available hint. */
export class NewestVersion {
  readonly #base: Base;
  readonly #reader: CommitReader;
  readonly #known = new RecentMap<SessionId, Known>(MAX_KNOWN);

  constructor(base: Base, reader: CommitReader) {
    this.#base = base;
    this.#reader = reader;
  }

  /** Returns the newest version that this process has seen. */
  known(id: SessionId): Known | undefined {
    return this.#known.get(id);
  }

  /** Records a version unless a newer one is known. */
  note(id: SessionId, version: number, hash?: string): void {
    const before = this.#known.get(id);
    if (before === undefined || before.version < version || (before.version === version && hash !== undefined)) {
      this.#known.set(id, { version, hash });
    }
  }

  forget(id: SessionId): void {
    this.#known.delete(id);
  }

  /**
   * Returns the newest commit, synced to the disk: its writer may have died before its own sync, and a commit that
   * was read must survive a power failure.
   */
  async commit(id: SessionId): Promise<Commit | undefined> {
    const at = this.#base.layout.place(id);
    const known = this.#known.get(id);
    const found = await this.#find(at);
    const commit = found && parseCommit(found.data, id, found.version);
    // What this process knows was synced.
    if (commit !== undefined && commit.hash === known?.hash) return commit;
    if (commit === undefined || !(await this.#reader.sync(at))) {
      this.forget(id);
      return undefined;
    }
    this.note(id, commit.version, commit.hash);
    return commit;
  }

  /** Returns the newest header. The commit may not be synced. */
  async header(id: SessionId): Promise<CommitHeader | undefined> {
    const at = this.#base.layout.place(id);
    const found = await this.#find(at, HEADER_BYTES);
    if (found === undefined) return undefined;
    this.note(id, found.version);
    return this.#reader.headerIn(found.data, at, found.version);
  }

  /**
   * Returns the version in `head` if it was written in this folder. In a copy, `head` may have been copied later than
   * the folder's names, so a higher version does not mean that commits are missing.
   */
  async hint(id: SessionId): Promise<number> {
    const at = this.#base.layout.place(id);
    const { version, folder } = await this.#reader.hint(at);
    return folder === undefined || folder === (await this.#base.disk.identity(at.folder))?.number ? version : 0;
  }

  // This process's memory is a better hint than `head`, which is written after the answer. Both are only hints: a backup
  // may have been restored, and `head` may be wrong.
  async #find(at: SessionPlace, bytes?: number) {
    const newest = await this.#from(at, this.#known.get(at.id)?.version ?? 0, bytes);
    if (newest !== undefined) return newest;
    this.forget(at.id);
    const hinted = await this.#from(at, (await this.#reader.hint(at)).version, bytes);
    return hinted ?? this.#from(at, await this.#reader.highest(at), bytes);
  }

  /** Returns the newest version, if the given version or a later one exists. The given one nearly always is the newest. */
  async #from(
    at: SessionPlace,
    version: number,
    bytes?: number,
  ): Promise<{ readonly version: number; readonly data: Buffer } | undefined> {
    if (version === 0) return undefined;
    if (await this.#reader.hasFile(at, version + 1)) return this.#from(at, await this.#gallop(at, version + 1), bytes);
    // The pack is looked at last: a version whose file is gone was packed before.
    const { data, packed } = await this.#reader.file(at, version, bytes);
    if (packed > version) return this.#from(at, packed, bytes);
    return data && { version, data };
  }

  // After the pack, versions have no gaps: search with doubling steps, then by bisection.
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

/**
 * The time between a commit and the write of its session's head, in milliseconds. To replace a head takes as long as the rest
 * of a commit without its syncs. A reader whose head is some versions behind looks for these, which takes microseconds.
 */
const PAUSE_MS = 1000;

/**
 * Writes each session's `head`, a small file with the newest version. It is written a second after the answer and not
 * synced: readers treat it as a hint and check the versions after it.
 *
 * It is not a hard link to the commit: backup tools that preserve hard links would confuse later contents of the two
 * names. It contains the inode of its folder, which differs in a copy: there it may be ahead of the log.
 */
export class Heads {
  readonly #base: Base;
  readonly #reader: CommitReader;
  /** The versions to be written. */
  readonly #next = new Map<SessionId, number>();

  constructor(base: Base, reader: CommitReader) {
    this.#base = base;
    this.#reader = reader;
  }

  /** Records a version as the newest in the background. Of several, only the highest is written. */
  point(at: SessionPlace, version: number): void {
    const planned = this.#next.get(at.id);
    this.#next.set(at.id, Math.max(version, planned ?? 0));
    if (planned !== undefined) return;
    this.#base.background.run(`${at.id} head`, async () => {
      await this.#base.background.pause(PAUSE_MS);
      await this.#write(at);
    });
  }

  async #write(at: SessionPlace): Promise<void> {
    const { id, folder } = at;
    const { disk } = this.#base;
    const version = this.#next.get(id) ?? 0;
    this.#next.delete(id);
    const number = (await disk.identity(folder))?.number;
    // Another process may have written a later version meanwhile. An older one would hide that commits are gone.
    const current = await this.#reader.hint(at);
    if (number === undefined || (current.folder === number && current.version >= version)) return;
    const staged = temporaryIn(folder);
    try {
      await disk.write(staged, `{"sessionId":"${id}","version":${version},"folder":"${number}"}\n`);
      await disk.replace(staged, join(folder, "head"));
      // It may have written it between the check and the replacement: its commit is there then.
      if (await this.#reader.hasFile(at, version + 1)) this.point(at, version + 1);
    } catch (error) {
      await disk.drop(staged);
      throw error;
    }
  }
}
