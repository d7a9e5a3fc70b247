import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { type CommitHeader, parseCommit, parseHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import { asDamage } from "./fs-failure.js";
import { PackedLogs } from "./packed-log.js";
import type { Publisher } from "./publisher.js";
import type { SessionPlace, StoreLayout } from "./store-layout.js";

/** Most headers are shorter than this; one that isn't costs a second read. */
const HEADER_BYTES = 2048;

/** All of a hint is within these. */
const HINT_BYTES = 256;
/** Stores of the time before the hint was a file of its own have a commit there, which begins in the same way. */
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14})(?:,"folder":"(\d+)")?[,}]/;

/** What `head` says. */
export interface Hint {
  /** The newest version when it was written; 0 if it says none. */
  readonly version: number;
  /** The number of the folder that it was written in: in a copy of that folder, it may be ahead of the log. */
  readonly folder: string | undefined;
}

/** Reads one version of a session, where it is now if no place is given. */
export type ReadVersion<T> = (id: SessionId, version: number, at?: SessionPlace) => Promise<T | undefined>;

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
