import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { type CommitHeader, parseCommit, parseHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import { tampered } from "./fs-failure.js";
import type { Generation, Generations } from "./generations.js";
import { PackedLogs } from "./packed-log.js";
import type { Publisher } from "./publisher.js";
import { isSeal, SEAL_BYTES } from "./seal.js";

/** Most headers are shorter than this; one that isn't costs a second read. */
const HEADER_BYTES = 2048;

/** The id and the version, which come first, are within these. */
const HINT_BYTES = 256;
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14}),/;

/** Reads one version of a session, where it is now if no generation is given. */
export type ReadVersion<T> = (id: SessionId, version: number, at?: Generation) => Promise<T | undefined>;

/** Reads single commits. What isn't there is undefined, and so is a seal; what is damaged throws `TAMPERED`. */
export class CommitReader {
  readonly #disk: Disk;
  readonly #generations: Generations;
  readonly #publisher: Publisher;
  readonly #packed: PackedLogs;

  constructor(disk: Disk, generations: Generations, publisher: Publisher) {
    this.#disk = disk;
    this.#generations = generations;
    this.#publisher = publisher;
    this.#packed = new PackedLogs(disk);
  }

  readonly commit: ReadVersion<Commit> = async (id, version, at) => {
    const data = await this.file(id, version, at);
    return data && parseCommit(data, id, version);
  };

  /** A commit's file as it is. */
  readonly file: ReadVersion<Buffer> = async (id, version, at = this.#generations.current(id)) => {
    const data = (await this.#unpack(at, version)) ?? (await this.#disk.read(this.path(at, version)));
    return data !== undefined && isSeal(data) ? undefined : data;
  };

  /** A commit without its body, of which no more is read than need be. */
  readonly header: ReadVersion<CommitHeader> = async (id, version, at = this.#generations.current(id)) => {
    const packed = await this.#unpack(at, version, HEADER_BYTES);
    const data = packed ?? (await this.#disk.readStart(this.path(at, version), HEADER_BYTES));
    if (data === undefined || isSeal(data)) return undefined;
    return parseHeader(data, id, version) ?? this.commit(id, version, at);
  };

  /** The version that `head` names; 0 if it names none. Nothing else that it holds is believed. */
  async hint({ id, folder }: Generation): Promise<number> {
    const start = await this.#disk.readStart(join(folder, "head"), HINT_BYTES);
    const [, owner, version] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
    return owner === id ? Number(version) : 0;
  }

  /** The highest version that lies in a generation's folder; 0 if there is none. Versions are not looked into. */
  async highest({ id, number, folder }: Generation): Promise<number> {
    const names = await this.#disk.names(folder);
    const packed = await this.packed({ id, number, folder });
    // A generation appears whole and goes away whole.
    if (number > 0 && packed === 0 && names.length > 0 && (await this.#disk.exists(folder))) {
      throw tampered(id, 1, "the file of the compacted versions is missing, or cut short");
    }
    return names.reduce((highest, name) => Math.max(highest, this.#publisher.versionOf(name)), packed);
  }

  /** The files of a generation's packed versions, in their order. */
  async eachPacked({ number, folder }: Generation, use: (data: Buffer) => Promise<void>): Promise<void> {
    if (number > 0) await this.#packed.each(folder, use);
  }

  /** How many versions of a generation lie in one file. */
  async packed({ number, folder }: Generation): Promise<number> {
    return number === 0 ? 0 : ((await this.#packed.count(folder)) ?? 0);
  }

  /** Brings the versions in a session's folder to the disk; false if there is no such folder. */
  async settle(id: SessionId): Promise<boolean> {
    for (;;) {
      const at = this.#generations.current(id);
      if (await orMissing(this.#disk.syncFolder(at.folder).then(() => true))) return true;
      if (!(await this.#generations.haveMoved(at))) return false;
    }
  }

  async has(id: SessionId, version: number, at = this.#generations.current(id)): Promise<boolean> {
    return version <= (await this.packed(at)) || this.#disk.exists(this.path(at, version));
  }

  /** Whether there is anything of a session. */
  async hasFolder(id: SessionId): Promise<boolean> {
    for (;;) {
      const at = this.#generations.current(id);
      if (await this.#disk.exists(at.folder)) return true;
      if (!(await this.#generations.haveMoved(at))) return false;
    }
  }

  /** Whether a compaction has taken a version's place, so that nothing is appended to that generation any more. */
  async isSealed(at: Generation, version: number): Promise<boolean> {
    const start = await this.#disk.readStart(this.path(at, version), SEAL_BYTES);
    return start !== undefined && isSeal(start);
  }

  path({ folder }: Generation, version: number): string {
    return this.#publisher.path(folder, version);
  }

  async #unpack(at: Generation, version: number, most?: number): Promise<Buffer | undefined> {
    return at.number === 0 ? undefined : this.#packed.read(at.folder, version, most);
  }
}
