/**
 * Reads commits and finds the newest version of a session. A version is in the pack or in a file of its own. `head`
 * and this process's memory are hints only; the newest version is the last one that exists.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Commit } from "../../ports/storage-adapter.js";
import { RecentMap } from "../../runtime/cache.js";
import type { SessionId } from "../../workflow/names.js";
import { type CommitHeader, PackedLogs, parseCommit, parseHeader } from "./commit-file.js";
import { type Disk, ignore, orMissing, type Publisher, temporaryName } from "./disk.js";
import { asDamage } from "./failures.js";
import type { Background, SessionPlace, StoreLayout } from "./layout.js";

/** A version that was seen on the disk. Versions never change, so this stays true. */
interface KnownVersion {
  readonly version: number;
  readonly hash: string;
}

const MAX_KNOWN = 1024;

/** The newest version that this process has seen of each recently used session. */
export class KnownVersions extends RecentMap<SessionId, KnownVersion> {
  constructor() {
    super(MAX_KNOWN);
  }

  /** Records a version unless a newer one is known. */
  note(id: SessionId, { version, hash }: KnownVersion): void {
    const before = this.get(id);
    if (before !== undefined && (before.version > version || before.hash === hash)) return;
    this.set(id, { version, hash });
  }

  forget(id: SessionId): void {
    this.delete(id);
  }
}

/** Most headers are shorter. A longer one costs a second read. */
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

/** Reads one version of a session, in its current folder unless a place is given. */
type ReadVersion<T> = (id: SessionId, version: number, at?: SessionPlace) => Promise<T | undefined>;

/**
 * Reads single commits. A missing one is undefined; a damaged one throws `TAMPERED`.
 *
 * If a version is both in the pack and in a file, the pack counts: after the file is deleted, a suspended writer can
 * create another file with that name, before it finds that it is too late. A file counts only if the pack did not
 * contain the version after the file had been opened.
 */
export class CommitReader {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #publisher: Publisher;
  readonly #packed: PackedLogs;

  constructor(disk: Disk, layout: StoreLayout, publisher: Publisher) {
    this.#disk = disk;
    this.#layout = layout;
    this.#publisher = publisher;
    this.#packed = new PackedLogs(disk);
  }

  readonly commit: ReadVersion<Commit> = async (id, version, at) => {
    const data = await this.file(id, version, at);
    return data && parseCommit(data, id, version);
  };

  /** Returns a commit's file unparsed. */
  readonly file: ReadVersion<Buffer> = (id, version, at = this.#layout.place(id)) =>
    asDamage(this.#file(version, at), id, version);

  async #file(version: number, at: SessionPlace): Promise<Buffer | undefined> {
    const pack = this.pack(at);
    if (this.#packed.isKnown(pack, version)) {
      const data = await this.#packed.read(pack, version);
      if (data !== undefined) return data;
    }
    let packed = 0;
    const countPacked = async () => {
      packed = await this.#packed.count(pack);
    };
    const data = await this.#disk.read(this.path(at, version), countPacked);
    if (data === undefined) await countPacked();
    return version <= packed ? ((await this.#packed.read(pack, version)) ?? data) : data;
  }

  /** Returns a commit without its body, reading no more than necessary. */
  readonly header: ReadVersion<CommitHeader> = async (id, version, at = this.#layout.place(id)) => {
    const data = await asDamage(this.#start(version, at), id, version);
    return data && (parseHeader(data, id, version) ?? this.commit(id, version, at));
  };

  async #start(version: number, at: SessionPlace): Promise<Buffer | undefined> {
    const pack = this.pack(at);
    let data = this.#packed.isKnown(pack, version) ? await this.#packed.read(pack, version, HEADER_BYTES) : undefined;
    if (data === undefined) {
      // The first bytes of a pack are those of its first version.
      data = await this.#disk.readStart(this.path(at, version), HEADER_BYTES);
      if (version > 1 && version <= (await this.packed(at))) {
        data = (await this.#packed.read(pack, version, HEADER_BYTES)) ?? data;
      }
    }
    return data;
  }

  /** Reads `head`. Nothing else in the file is used. */
  async hint({ id, folder }: SessionPlace): Promise<Hint> {
    const start = await asDamage(this.#disk.readStart(join(folder, "head"), HINT_BYTES), id, 0);
    const [, owner, version, place] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
    return { version: owner === id ? Number(version) : 0, folder: place };
  }

  /** Returns the highest version in a session's folder without reading it; 0 if there is none. */
  async highest(at: SessionPlace): Promise<number> {
    const versions = await this.versions(at);
    return Math.max(await this.packed(at), ...versions.slice(-1));
  }

  /** Returns the versions that have a file of their own, in order. Version 1 is the first commit or the pack. */
  async versions({ id, folder }: SessionPlace): Promise<number[]> {
    const versions = (await asDamage(this.#disk.names(folder), id, 0)).map((name) => this.#publisher.versionOf(name));
    return versions.filter((version) => version > 0).sort((one, other) => one - other);
  }

  /** Passes the files of a session's packed versions to `use`, in order. Returns their number. */
  async eachPacked(at: SessionPlace, use: (data: Buffer) => Promise<void>): Promise<number> {
    return asDamage(this.#packed.each(this.pack(at), use), at.id, 1);
  }

  /** Returns how many versions of a session are in the pack. */
  async packed(at: SessionPlace): Promise<number> {
    return asDamage(this.#packed.count(this.pack(at)), at.id, 1);
  }

  /** Returns the extent and identity of the current pack. */
  async packState(at: SessionPlace) {
    return asDamage(this.#packed.extent(this.pack(at)), at.id, 1);
  }

  /** Syncs the versions in a session's folder; returns false if there is no such folder. */
  async sync(id: SessionId): Promise<boolean> {
    return (await orMissing(this.#disk.syncFolder(this.#layout.session(id)).then(() => true))) ?? false;
  }

  async has(id: SessionId, version: number, at = this.#layout.place(id)): Promise<boolean> {
    return (await this.hasFile(at, version)) || version <= (await this.packed(at));
  }

  /** Returns true if a version has a file of its own. */
  async hasFile(at: SessionPlace, version: number): Promise<boolean> {
    return asDamage(this.#disk.exists(this.path(at, version)), at.id, version);
  }

  /** Returns true if the session has a folder. */
  async hasFolder(id: SessionId): Promise<boolean> {
    return this.#disk.exists(this.#layout.session(id));
  }

  path({ folder }: SessionPlace, version: number): string {
    return this.#publisher.path(folder, version);
  }

  /**
   * Returns the path of the pack: it replaces the file of the first version, so that no copy of the folder lacks it.
   */
  pack(at: SessionPlace): string {
    return this.path(at, 1);
  }
}

/** Sessions whose versions are remembered from lists; beyond it, all are forgotten. */
const MAX_LISTED = 4096;

/** Finds the newest version of a session from the best available hint. */
export class NewestVersion {
  readonly #reader: CommitReader;
  readonly #known: KnownVersions;
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  /** The version that a list found last. */
  readonly #listed = new Map<SessionId, number>();

  constructor(disk: Disk, layout: StoreLayout, reader: CommitReader, known: KnownVersions) {
    this.#reader = reader;
    this.#known = known;
    this.#disk = disk;
    this.#layout = layout;
  }

  /**
   * Returns the newest commit, synced to the disk: its writer may have died before its own sync, and a commit that
   * was read must survive a power failure.
   */
  async commit(id: SessionId): Promise<Commit | undefined> {
    const commit = await this.#find(id, this.#reader.commit);
    const isKnown = commit !== undefined && (this.#known.get(id)?.version ?? 0) >= commit.version;
    if (commit === undefined || !(isKnown || (await this.#reader.sync(id)))) {
      this.#known.forget(id);
      return undefined;
    }
    this.#known.note(id, commit);
    return commit;
  }

  /**
   * Returns the newest header. It is not recorded as known: a list would evict the sessions in use, and the commit
   * may not be synced.
   */
  async header(id: SessionId): Promise<CommitHeader | undefined> {
    const header = await this.#find(id, this.#reader.header);
    if (this.#listed.size >= MAX_LISTED) this.#listed.clear();
    if (header !== undefined) this.#listed.set(id, header.version);
    return header;
  }

  /**
   * Returns the version in `head` if it was written in this folder. In a copy, `head` may have been copied later than
   * the folder's names, so a higher version does not mean that commits are missing.
   */
  async hint(id: SessionId): Promise<number> {
    const at = this.#layout.place(id);
    const { version, folder } = await this.#reader.hint(at);
    return folder === undefined || folder === (await this.#disk.fileNumber(at.folder)) ? version : 0;
  }

  // This process's memory is a better hint than `head`, which is written after the answer. Both are only hints: a backup
  // may have been restored, and `head` may be wrong.
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

  /** Returns the newest version, if the given version or a later one exists. */
  async #from<T>(at: SessionPlace, version: number, read: ReadVersion<T>): Promise<T | undefined> {
    if (version === 0) return undefined;
    const { id } = at;
    // The given version is nearly always the newest: read it while checking for the next one.
    const reading = read(id, version, at);
    reading.catch(ignore);
    const last = (await this.#reader.hasFile(at, version + 1)) ? await this.#gallop(at, version + 1) : version;
    // Check the pack last: a version whose file is gone was packed before.
    const packed = await this.#reader.packed(at);
    if (packed > last) return this.#from(at, packed, read);
    return last === version ? reading : read(id, last, at);
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

const MAX_HEADS = 4096;
/** Minimum time between two writes of a head, in milliseconds. */
const PAUSE_MS = 25;

/**
 * Writes each session's `head`, a small file with the newest version. It is written soon after the answer and not
 * synced: readers treat it as a hint and check the versions after it.
 *
 * It is not a hard link to the commit: backup tools that preserve hard links would confuse later contents of the two
 * names. It contains the inode of its folder, which differs in a copy: there it may be ahead of the log.
 */
export class Heads {
  readonly #disk: Disk;
  readonly #reader: CommitReader;
  readonly #background: Background;
  /** The versions to be written. */
  readonly #next = new Map<SessionId, number>();
  readonly #folders = new Map<string, string>();
  /** The time at which the head in a folder was last written. */
  readonly #written = new Map<string, number>();

  constructor(disk: Disk, background: Background, reader: CommitReader) {
    this.#disk = disk;
    this.#reader = reader;
    this.#background = background;
  }

  /** Records a version as the newest in the background. Of several, only the highest is written. */
  point(at: SessionPlace, version: number): void {
    const planned = this.#next.get(at.id);
    this.#next.set(at.id, Math.max(version, planned ?? 0));
    if (planned !== undefined) return;
    this.#background.run(`${at.id} head`, async () => {
      const pause = (this.#written.get(at.folder) ?? Number.NEGATIVE_INFINITY) + PAUSE_MS - performance.now();
      if (pause > 0) await delay(pause);
      await this.#write(at);
    });
  }

  async #write(at: SessionPlace): Promise<void> {
    const { id, folder } = at;
    const version = this.#next.get(id) ?? 0;
    this.#next.delete(id);
    const number = this.#folders.get(folder) ?? (await this.#disk.fileNumber(folder));
    if (number === undefined) return;
    if (this.#folders.size >= MAX_HEADS) this.#folders.clear();
    if (this.#written.size >= MAX_HEADS) this.#written.clear();
    this.#written.set(folder, performance.now());
    this.#folders.set(folder, number);
    // Another process may have written a later version meanwhile. An older one would hide that commits are gone.
    const current = await this.#reader.hint(at);
    if (current.folder === number && current.version >= version) return;
    const staged = join(folder, temporaryName());
    try {
      await this.#disk.write(staged, `{"sessionId":"${id}","version":${version},"folder":"${number}"}\n`);
      await this.#disk.replace(staged, join(folder, "head"));
      // It may have written it between the check and the replacement: its commit is there then.
      if (await this.#reader.hasFile(at, version + 1)) this.point(at, version + 1);
    } catch (error) {
      await this.#disk.drop(staged);
      throw error;
    }
  }
}
