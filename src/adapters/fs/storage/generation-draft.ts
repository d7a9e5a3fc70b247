import { join } from "node:path";
import { parseCommit } from "./commit-file.js";
import { tampered } from "./fs-failure.js";
import type { Generation } from "./generations.js";
import { packedLogPath, writePackedLog } from "./packed-log.js";
import { payloadFolder } from "./payload-files.js";
import { TEMPORARY, temporaryName } from "./publisher.js";
import { encodeSeal } from "./seal.js";
import type { StoreParts } from "./store-parts.js";

/** A compaction came too late: its folder went away, as the session was compacted by somebody else, or removed. */
export class FolderGone extends Error {}

/** The next generation of a session while it is being made, in a folder inside the current one. */
export class GenerationDraft {
  readonly #parts: StoreParts;
  readonly #at: Generation;
  readonly #folder: string;

  constructor(parts: StoreParts, at: Generation) {
    this.#parts = parts;
    this.#at = at;
    this.#folder = join(at.folder, temporaryName());
  }

  /** Writes the versions up to one, and all that come until the generation is sealed. */
  async write(version: number): Promise<void> {
    await this.#parts.disk.makeFolder(this.#folder);
    await this.checkPlace();
    await writePackedLog(this.#parts.disk, this.#folder, async (add) => {
      let [next, hash] = [1, ""];
      const take = async (data: Buffer) => {
        const commit = parseCommit(data, this.#at.id, next);
        if (commit.previousHash !== hash) throw tampered(this.#at.id, next, "it does not follow the one before it");
        [next, hash] = [next + 1, commit.hash];
        await add(data);
      };
      await this.#parts.reader.eachPacked(this.#at, take);
      while (next <= version) await take(await this.#read(next));
      await this.#seal(next, take);
    });
    // Were the seal lost with the power, and the next generation not, there would be two that are appended to.
    await this.#parts.disk.syncFolder(this.#at.folder);
  }

  /** Brings it to the disk, with what stands beside the commits, and gives it its number; or somebody else did. */
  async publish(): Promise<void> {
    const { disk, folders, generations, layout } = this.#parts;
    const { id, number } = this.#at;
    await this.#takePayloads();
    await disk.syncFolder(this.#folder);
    await folders.within(layout.compactedShelf(id), () => disk.makeFolder(layout.generations(id)));
    await disk.syncFolder(layout.compactedShelf(id));
    const next = generations.at(id, number + 1);
    try {
      await disk.replace(this.#folder, next.folder);
    } catch (error) {
      if (!(await disk.exists(packedLogPath(next.folder)))) throw error;
    }
    await disk.syncFolder(layout.generations(id));
  }

  /**
   * Looks that the folder which something was just staged in is the generation's own, and not one that a late
   * beginning has made under its name: what is staged can't be published out of any other.
   */
  async checkPlace(): Promise<void> {
    const { disk, reader } = this.#parts;
    const { folder, number } = this.#at;
    const isThere = await disk.exists(number === 0 ? reader.path(this.#at, 1) : packedLogPath(folder));
    if (!isThere) throw new FolderGone();
  }

  async discard(): Promise<void> {
    await this.#parts.disk.dropFolder(this.#folder);
  }

  async #read(version: number): Promise<Buffer> {
    const data = await this.#parts.reader.file(this.#at.id, version, this.#at);
    return data ?? this.#missing(version);
  }

  async #missing(version: number): Promise<never> {
    await this.checkPlace();
    throw tampered(this.#at.id, version, "it is missing, though later versions are there");
  }

  /**
   * Sees to it that nothing is appended any more; takes what comes until then. The seal is staged once, and tried at one
   * version after the other: to stage it anew for each takes as long as a commit, and writers that never rest would
   * never be caught up with.
   */
  async #seal(next: number, take: (data: Buffer) => Promise<void>): Promise<void> {
    const { publisher, reader } = this.#parts;
    const { id, folder } = this.#at;
    const staged = await publisher.stage(folder, encodeSeal(id, next));
    try {
      await this.checkPlace();
      for (let version = next; !(await publisher.publish(folder, staged, version)); version++) {
        const data = await reader.file(id, version, this.#at);
        if (data !== undefined) await take(data);
        else if (await reader.isSealed(this.#at, version)) return;
        else await this.#missing(version);
      }
    } finally {
      await publisher.discard(staged);
    }
  }

  async #takePayloads(): Promise<void> {
    const { disk, publisher } = this.#parts;
    const [from, to] = [payloadFolder(this.#at), payloadFolder({ folder: this.#folder })];
    const names = (await disk.names(from)).filter((name) => !name.startsWith(TEMPORARY));
    if (names.length === 0) return;
    await disk.makeFolder(to);
    for (const name of names) await publisher.duplicate(join(from, name), join(to, name));
    await disk.syncFolder(to);
  }
}
