import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SessionId } from "../../../definition/names.js";
import type { Background } from "./background.js";
import type { Disk } from "./disk.js";
import { temporaryName } from "./publisher.js";
import type { SessionPlace } from "./store-layout.js";

const MAX_KNOWN = 4096;
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
    if (this.#folders.size >= MAX_KNOWN) this.#folders.clear();
    if (this.#written.size >= MAX_KNOWN) this.#written.clear();
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
