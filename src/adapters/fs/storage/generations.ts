import type { SessionId } from "../../../definition/names.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import type { StoreLayout } from "./store-layout.js";

/** Where a session's commits lie: a compaction puts them into the next generation's folder. */
export interface Generation {
  readonly id: SessionId;
  /** 0 until the session is compacted for the first time. */
  readonly number: number;
  readonly folder: string;
}

const MAX_KNOWN = 4096;

/**
 * Which generation of each session is the current one, as far as this process has seen. Most sessions are never
 * compacted, so the first generation is taken for the current one until nothing is found there, or its seal.
 */
export class Generations {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  /** Of compacted sessions only. */
  readonly #known = new Map<SessionId, number>();

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  current(id: SessionId): Generation {
    return this.at(id, this.#known.get(id) ?? 0);
  }

  at(id: SessionId, number: number): Generation {
    return { id, number, folder: this.#layout.generation(id, number) };
  }

  /** Looks on the disk, and says whether the current generation is another one than that. */
  async haveMoved({ id, number }: Generation): Promise<boolean> {
    const newest = Math.max(0, ...(await this.numbers(id)));
    if (newest !== (this.#known.get(id) ?? 0)) await this.#note(id, newest);
    return newest !== number;
  }

  /** Which generations after the first one are there. */
  async numbers(id: SessionId): Promise<number[]> {
    const names = await this.#disk.names(this.#layout.generations(id));
    return names.filter((name) => /^[1-9]\d{0,8}$/.test(name)).map(Number);
  }

  // Who made the generation may have died before its name was on the disk; what is appended to it must not be lost.
  async #note(id: SessionId, number: number): Promise<void> {
    this.#known.delete(id);
    if (number === 0) return;
    await orMissing(this.#disk.syncFolder(this.#layout.generations(id)));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(id, number);
  }
}
