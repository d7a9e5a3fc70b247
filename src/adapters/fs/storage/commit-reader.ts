import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { type CommitHeader, parseCommit, parseHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import { isMissing } from "./fs-failure.js";
import type { Publisher } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";

/** Most headers are shorter than this; one that isn't costs a second read. */
const HEADER_BYTES = 2048;

/** The id and the version, which come first, are within these. */
const HINT_BYTES = 256;
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14}),/;

/** Reads one version of a session. */
export type ReadVersion<T> = (id: SessionId, version: number) => Promise<T | undefined>;

/** Reads single commits. What isn't there is undefined; what is damaged throws `TAMPERED`. */
export class CommitReader {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #publisher: Publisher;

  constructor(disk: Disk, layout: StoreLayout, publisher: Publisher) {
    this.#disk = disk;
    this.#layout = layout;
    this.#publisher = publisher;
  }

  readonly commit: ReadVersion<Commit> = async (id, version) => {
    const data = await this.#disk.read(this.#path(id, version));
    return data && parseCommit(data, id, version);
  };

  /** A commit without its body, of which no more is read than need be. */
  readonly header: ReadVersion<CommitHeader> = async (id, version) => {
    const start = await this.#disk.readStart(this.#path(id, version), HEADER_BYTES);
    return start && (parseHeader(start, id, version) ?? this.commit(id, version));
  };

  /** The version that `head` names; 0 if it names none. Nothing else that it holds is believed. */
  async hint(id: SessionId): Promise<number> {
    const start = await this.#disk.readStart(join(this.#layout.session(id), "head"), HINT_BYTES);
    const [, owner, version] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
    return owner === id ? Number(version) : 0;
  }

  /** The highest version that lies in the session's folder; 0 if there is none. Versions are not looked into. */
  async highest(id: SessionId): Promise<number> {
    const names = await this.#disk.names(this.#layout.session(id));
    return names.reduce((highest, name) => Math.max(highest, this.#publisher.versionOf(name)), 0);
  }

  /** Brings the versions in a session's folder to the disk; false if there is no such folder. */
  async settle(id: SessionId): Promise<boolean> {
    try {
      await this.#disk.syncFolder(this.#layout.session(id));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  async has(id: SessionId, version: number): Promise<boolean> {
    return this.#disk.exists(this.#path(id, version));
  }

  /** Whether there is anything of a session. */
  async hasFolder(id: SessionId): Promise<boolean> {
    return this.#disk.exists(this.#layout.session(id));
  }

  #path(id: SessionId, version: number): string {
    return this.#publisher.path(this.#layout.session(id), version);
  }
}
