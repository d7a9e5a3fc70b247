import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { type CommitHeader, parseCommit, parseHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import type { Publisher } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";

/** Most headers are shorter than this; one that isn't costs a second read. */
const HEADER_BYTES = 2048;

/** Reads one version of a session, or, without a version, what `head` points to. */
export type ReadVersion<T> = (id: SessionId, version?: number) => Promise<T | undefined>;

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

  async has(id: SessionId, version: number): Promise<boolean> {
    return this.#disk.exists(this.#path(id, version));
  }

  /** Whether there is anything of a session. */
  async hasFolder(id: SessionId): Promise<boolean> {
    return this.#disk.exists(this.#layout.session(id));
  }

  #path(id: SessionId, version: number | undefined): string {
    const folder = this.#layout.session(id);
    return version === undefined ? join(folder, "head") : this.#publisher.path(folder, version);
  }
}
