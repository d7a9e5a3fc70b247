import type { SessionId } from "../../../definition/names.js";

/** A version that was seen on the disk. Versions never change, so what is known of one stays true. */
export interface KnownVersion {
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
