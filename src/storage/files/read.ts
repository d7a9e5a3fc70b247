import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { type CommitHeader, PackedLogs, parseCommit, parseHeader } from "./commit-file.js";
import { type Disk, ignore, orMissing, type Publisher, temporaryName } from "./disk.js";
import { asDamage } from "./failures.js";
import type { Background, SessionPlace, StoreLayout } from "./layout.js";

/** A version that was seen on the disk. Versions never change, so what is known of one stays true. */
interface KnownVersion {
  readonly version: number;
  readonly hash: string;
}

const MAX_KNOWN = 1024;

/** The newest version that this process has seen of each session that it used lately. */
export class KnownVersions {
  readonly #known = new Map<SessionId, KnownVersion>();

  get(id: SessionId): KnownVersion | undefined {
    return this.#known.get(id);
  }

  /** Notes a version, unless a newer one is known. */
  note(id: SessionId, { version, hash }: KnownVersion): void {
    const before = this.#known.get(id);
    this.#known.delete(id);
    this.#known.set(id, before !== undefined && before.version > version ? before : { version, hash });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  forget(id: SessionId): void {
    this.#known.delete(id);
  }
}

/** Most headers are shorter than this; one that isn't costs a second read. */
const HEADER_BYTES = 2048;

/** All of a hint is within these. */
const HINT_BYTES = 256;
/** Stores of the time before the hint was a file of its own have a commit there, which begins in the same way. */
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14})(?:,"folder":"(\d+)")?[,}]/;

/** What `head` says. */
interface Hint {
  /** The newest version when it was written; 0 if it says none. */
  readonly version: number;
  /** The number of the folder that it was written in: in a copy of that folder, it may be ahead of the log. */
  readonly folder: string | undefined;
}

/** Reads one version of a session, where it is now if no place is given. */
type ReadVersion<T> = (id: SessionId, version: number, at?: SessionPlace) => Promise<T | undefined>;

/**
 * Reads single commits. What isn't there is undefined; what is damaged throws `TAMPERED`.
 *
 * A version is in the pack, or in a file of its own. Where it is in both, the pack counts: once the file is deleted, a
 * writer that slept can make another one of that name, before it finds that it came too late. So that a file of its own
 * counts it is enough that the pack did not have the version when the file had been opened.
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

  /** A commit's file as it is. */
  readonly file: ReadVersion<Buffer> = (id, version, at = this.#layout.place(id)) =>
    asDamage(this.#file(version, at), id, version);

  async #file(version: number, at: SessionPlace): Promise<Buffer | undefined> {
    const pack = this.pack(at);
    if (this.#packed.isKnown(pack, version)) {
      const data = await this.#packed.read(pack, version);
      if (data !== undefined) return data;
    }
    let packed = 0;
    const look = async () => {
      packed = await this.#packed.count(pack);
    };
    const data = await this.#disk.read(this.path(at, version), look);
    if (data === undefined) await look();
    return version <= packed ? ((await this.#packed.read(pack, version)) ?? data) : data;
  }

  /** A commit without its body, of which no more is read than need be. */
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

  /** What `head` says. Nothing else that it holds is believed. */
  async hint({ id, folder }: SessionPlace): Promise<Hint> {
    const start = await asDamage(this.#disk.readStart(join(folder, "head"), HINT_BYTES), id, 0);
    const [, owner, version, place] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
    return { version: owner === id ? Number(version) : 0, folder: place };
  }

  /** The highest version that lies in a session's folder; 0 if there is none. Versions are not looked into. */
  async highest(at: SessionPlace): Promise<number> {
    const versions = await this.versions(at);
    return Math.max(await this.packed(at), ...versions.slice(-1));
  }

  /** The versions that have a file of their own, in their order. The first one is there, or the pack. */
  async versions({ id, folder }: SessionPlace): Promise<number[]> {
    const versions = (await asDamage(this.#disk.names(folder), id, 0)).map((name) => this.#publisher.versionOf(name));
    return versions.filter((version) => version > 0).sort((one, other) => one - other);
  }

  /** The files of a session's packed versions, in their order; gives how many there are. */
  async eachPacked(at: SessionPlace, use: (data: Buffer) => Promise<void>): Promise<number> {
    return asDamage(this.#packed.each(this.pack(at), use), at.id, 1);
  }

  /** How many versions of a session lie in one file. */
  async packed(at: SessionPlace): Promise<number> {
    return asDamage(this.#packed.count(this.pack(at)), at.id, 1);
  }

  /** Which pack is there, by what tells it from any other. */
  async packState(at: SessionPlace) {
    return asDamage(this.#packed.extent(this.pack(at)), at.id, 1);
  }

  /** Brings the versions in a session's folder to the disk; false if there is no such folder. */
  async settle(id: SessionId): Promise<boolean> {
    return (await orMissing(this.#disk.syncFolder(this.#layout.session(id)).then(() => true))) ?? false;
  }

  async has(id: SessionId, version: number, at = this.#layout.place(id)): Promise<boolean> {
    return (await this.hasFile(at, version)) || version <= (await this.packed(at));
  }

  /** Whether a version has a file of its own. */
  async hasFile(at: SessionPlace, version: number): Promise<boolean> {
    return asDamage(this.#disk.exists(this.path(at, version)), at.id, version);
  }

  /** Whether there is anything of a session. */
  async hasFolder(id: SessionId): Promise<boolean> {
    return this.#disk.exists(this.#layout.session(id));
  }

  path({ folder }: SessionPlace, version: number): string {
    return this.#publisher.path(folder, version);
  }

  /** Where the pack is, if there is one: in the place of the first version, so that no copy of the folder lacks it. */
  pack(at: SessionPlace): string {
    return this.path(at, 1);
  }
}

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

const MAX_HEADS = 4096;
/** Of commits that follow each other faster than this, one head is written. */
const PAUSE_MS = 25;

/**
 * Writes each session's `head`, a small file that names the newest version. It is written soon after the answer and not
 * brought to the disk: a reader takes it for a hint, and looks at the versions after the one that it names.
 *
 * It is a file of its own, and no second name of the commit: tools that keep hard links would store under one name what
 * the other one stands for later. And it names the folder that it was written in, which is another one in a copy: there
 * it may be ahead of the log.
 */
export class Heads {
  readonly #disk: Disk;
  readonly #background: Background;
  /** What is to be written of each session. */
  readonly #next = new Map<SessionId, number>();
  readonly #folders = new Map<string, string>();
  /** When the head in a folder was written last. */
  readonly #written = new Map<string, number>();

  constructor(disk: Disk, background: Background) {
    this.#disk = disk;
    this.#background = background;
  }

  /** Names a version as the newest one; nobody waits for it, and of several only the last one is written. */
  point(at: SessionPlace, version: number): void {
    const isPlanned = this.#next.has(at.id);
    this.#next.set(at.id, version);
    if (isPlanned) return;
    this.#background.run(`${at.id} head`, async () => {
      const pause = (this.#written.get(at.folder) ?? Number.NEGATIVE_INFINITY) + PAUSE_MS - performance.now();
      if (pause > 0) await delay(pause);
      await this.#write(at);
    });
  }

  async #write({ id, folder }: SessionPlace): Promise<void> {
    const version = this.#next.get(id);
    this.#next.delete(id);
    const number = this.#folders.get(folder) ?? (await this.#disk.fileNumber(folder));
    if (number === undefined) return;
    if (this.#folders.size >= MAX_HEADS) this.#folders.clear();
    if (this.#written.size >= MAX_HEADS) this.#written.clear();
    this.#written.set(folder, performance.now());
    this.#folders.set(folder, number);
    const staged = join(folder, temporaryName());
    try {
      await this.#disk.write(staged, `{"sessionId":"${id}","version":${version},"folder":"${number}"}\n`);
      await this.#disk.replace(staged, join(folder, "head"));
    } catch (error) {
      await this.#disk.drop(staged);
      throw error;
    }
  }
}
