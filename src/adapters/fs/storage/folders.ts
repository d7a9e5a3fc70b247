import { dirname } from "node:path";
import type { Disk } from "./disk.js";
import { isMissing } from "./fs-failure.js";

const MAX_KNOWN = 4096;
const ATTEMPTS = 3;

/**
 * Folders that are made when first used. Those known to be there, and on the disk, cost nothing afterwards.
 */
export class Folders {
  readonly #disk: Disk;
  readonly #known = new Set<string>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Does something in a folder, which is made if need be, and brings the folder itself to the disk. `transient` is a
   * folder that others may delete while it is empty: it is never taken for known, and is synced after the action, as
   * it can't be deleted with something in it.
   */
  async within<T>(folder: string, action: () => Promise<T>, transient = false): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const known = this.#known.has(folder);
      if (!known) await this.#disk.makeFolder(folder);
      try {
        const result = await action();
        if (!known) await this.#keep(folder, transient);
        return result;
      } catch (error) {
        this.#known.delete(folder);
        if (!isMissing(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #keep(folder: string, transient: boolean): Promise<void> {
    await this.#disk.syncFolder(dirname(folder));
    if (transient) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(folder);
  }
}
