/**
 * Reads commits and finds the newest version of a session. A version is in the pack or in a file of its own. `head`
 * and this process's memory are hints only; the newest version is the last one that exists.
 */
import { join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import { RecentMap } from "../../workflow/cache.js";
import type { SessionId } from "../../workflow/names.js";
import { type CommitHeader, type Pack, Packs, parseCommit, parseHeader } from "./commit-file.js";
import { type Disk, ignore, ignoreMissing, readAndClose, temporaryName } from "./disk.js";
import { throwDamage } from "./failures.js";
import type { Background, SessionPlace, StoreLayout } from "./layout.js";
import type { Publisher } from "./publish.js";

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

/** How much of a commit's file is read, and how it is parsed; undefined if the bytes do not suffice. */
interface Part<T> {
  readonly bytes: number;
  parse(data: Buffer, id: SessionId, version: number): T | undefined;
}

const COMMIT: Part<Commit> = { bytes: Number.POSITIVE_INFINITY, parse: parseCommit };
/** Most headers are shorter. A longer one costs a second read. */
const HEADER: Part<CommitHeader> = { bytes: 2048, parse: parseHeader };

/** The file of a version. */
interface Found {
  /** Undefined if there is no such version. */
  readonly data: Buffer | undefined;
  /** The number of versions that are in the pack, looked at once the file was open. */
  readonly packed: number;
}

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
  readonly #disk: Disk;
  readonly #publisher: Publisher;
  readonly #packs: Packs;

  constructor(disk: Disk, publisher: Publisher) {
    this.#disk = disk;
    this.#publisher = publisher;
    this.#packs = new Packs(disk);
  }

  /** Returns a commit. */
  async commit(at: SessionPlace, version: number): Promise<Commit | undefined> {
    const { data } = await this.file(at, version);
    return data && parseCommit(data, at.id, version);
  }

  /** Returns a commit without its body, reading no more than necessary. */
  async header(at: SessionPlace, version: number): Promise<CommitHeader | undefined> {
    const { data } = await this.file(at, version, HEADER.bytes);
    return data && (parseHeader(data, at.id, version) ?? this.commit(at, version));
  }

  /** Returns a version's file or its first bytes, unparsed. Looks at the pack after `before`. */
  async file(at: SessionPlace, version: number, bytes?: number, before?: Promise<unknown>): Promise<Found> {
    try {
      const pack = this.#publisher.path(at.folder, 1);
      if (this.#packs.isKnown(pack, version)) {
        await before;
        const found = await this.#packs.read(pack, version, bytes);
        if (found !== undefined) return found;
      }
      const file = await this.#disk.open(this.#publisher.path(at.folder, version));
      const look = () => this.#packs.look(pack).catch((error) => throwDamage(error, at.id, 1));
      const looking = before === undefined ? look() : before.then(look);
      const reading = Promise.resolve(file && readAndClose(file, bytes));
      reading.catch(ignore);
      const { count: packed } = await looking;
      const found = version <= packed ? await this.#packs.read(pack, version, bytes) : undefined;
      // If the version is in the pack, its own file does not count, not even if it can't be read.
      return found ?? { data: await reading, packed };
    } catch (error) {
      return throwDamage(error, at.id, version);
    }
  }

  /** Reads `head`. Nothing else in the file is used. */
  async hint({ id, folder }: SessionPlace): Promise<Hint> {
    try {
      const file = await this.#disk.open(join(folder, "head"));
      const start = file && (await readAndClose(file, HINT_BYTES));
      const [, owner, version, place] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
      return { version: owner === id ? Number(version) : 0, folder: place };
    } catch (error) {
      return throwDamage(error, id, 0);
    }
  }

  /** Returns the highest version in a session's folder without reading it; 0 if there is none. */
  async highest(at: SessionPlace): Promise<number> {
    const versions = await this.versions(at);
    return Math.max((await this.pack(at)).count, ...versions.slice(-1));
  }

  /** Returns the versions that have a file of their own, in order. Version 1 is the first commit or the pack. */
  async versions({ id, folder }: SessionPlace): Promise<number[]> {
    const names = await this.#disk.names(folder).catch((error) => throwDamage(error, id, 0));
    const versions = names.map((name) => this.#publisher.versionOf(name));
    return versions.filter((version) => version > 0).sort((one, other) => one - other);
  }

  /** Returns the state of a session's pack. */
  async pack({ id, folder }: SessionPlace): Promise<Pack> {
    return this.#packs.look(this.#publisher.path(folder, 1)).catch((error) => throwDamage(error, id, 1));
  }

  /** Passes the files of a session's packed versions to `use`, in order. Returns their number. */
  async eachPacked({ id, folder }: SessionPlace, use: (data: Buffer) => Promise<void>): Promise<number> {
    return this.#packs.each(this.#publisher.path(folder, 1), use).catch((error) => throwDamage(error, id, 1));
  }

  /** Syncs the versions in a session's folder; returns false if there is no such folder. */
  async sync({ folder }: SessionPlace): Promise<boolean> {
    const synced = this.#disk.syncFolder(folder).then(() => true);
    return (await synced.catch(ignoreMissing)) ?? false;
  }

  async has(at: SessionPlace, version: number): Promise<boolean> {
    return (await this.hasFile(at, version)) || version <= (await this.pack(at)).count;
  }

  /** Returns true if a version has a file of its own. */
  async hasFile({ id, folder }: SessionPlace, version: number): Promise<boolean> {
    const path = this.#publisher.path(folder, version);
    return this.#disk.exists(path).catch((error) => throwDamage(error, id, version));
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
    const at = this.#layout.place(id);
    const known = this.#known.get(id);
    const seen = Math.max(known?.version ?? 0, this.#listed.get(id) ?? 0);
    const commit = await this.#find(at, seen, COMMIT);
    // What this process knows was synced.
    if (commit !== undefined && commit.hash === known?.hash) return commit;
    if (commit === undefined || !(await this.#reader.sync(at))) {
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
    const seen = Math.max(this.#known.get(id)?.version ?? 0, this.#listed.get(id) ?? 0);
    const header = await this.#find(this.#layout.place(id), seen, HEADER);
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
  async #find<T extends CommitHeader>(at: SessionPlace, seen: number, part: Part<T>): Promise<T | Commit | undefined> {
    const newest = await this.#from(at, seen, part);
    if (newest !== undefined) return newest;
    this.#known.forget(at.id);
    this.#listed.delete(at.id);
    const hinted = await this.#from(at, (await this.#reader.hint(at)).version, part);
    return hinted ?? this.#from(at, await this.#reader.highest(at), part);
  }

  /** Returns the newest version, if the given version or a later one exists. */
  async #from<T>(at: SessionPlace, version: number, part: Part<T>): Promise<T | Commit | undefined> {
    if (version === 0) return undefined;
    // The given version is nearly always the newest: read it while looking for the next one. Look at the pack last: a
    // version whose file is gone was packed before.
    const next = this.#reader.hasFile(at, version + 1);
    const reading = this.#reader.file(at, version, part.bytes, next);
    reading.catch(ignore);
    if (await next) return this.#from(at, await this.#gallop(at, version + 1), part);
    const { data, packed } = await reading;
    if (packed > version) return this.#from(at, packed, part);
    return data && (part.parse(data, at.id, version) ?? this.#from(at, version, COMMIT));
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
/**
 * The time between two writes of a session's head, in milliseconds. To replace one takes as long as the rest of a
 * commit without its syncs. A reader whose head is some versions behind looks for these, which takes microseconds.
 */
const PAUSE_MS = 1000;

/**
 * Writes each session's `head`, a small file with the newest version. It is written up to a second after the
 * answer and not synced: readers treat it as a hint and check the versions after it.
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
      if (pause > 0) await this.#background.pause(pause);
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
