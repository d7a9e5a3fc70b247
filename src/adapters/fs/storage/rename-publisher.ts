import { join } from "node:path";
import type { Disk } from "./disk.js";
import { isMissing } from "./fs-failure.js";
import { type Publisher, temporaryName } from "./publisher.js";

/**
 * For file systems without hard links: a staged folder that holds the commit is renamed to its version, which fails
 * if there is one, as a folder that isn't empty can't be replaced.
 */
export class RenamePublisher implements Publisher {
  readonly way = "rename";
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  path(folder: string, version: number): string {
    return join(folder, String(version), "commit.json");
  }

  versionOf(name: string): number {
    return /^[1-9]\d{0,14}$/.test(name) ? Number(name) : 0;
  }

  async stage(folder: string, data: string | Uint8Array): Promise<string> {
    const staged = join(folder, temporaryName());
    await this.#disk.makeFolder(staged);
    try {
      await this.#disk.writeNew(join(staged, "commit.json"), data);
      await this.#disk.syncFolder(staged);
    } catch (error) {
      await this.discard(staged);
      throw error;
    }
    return staged;
  }

  async publish(folder: string, staged: string, version: number): Promise<boolean> {
    try {
      await this.#disk.fs.rename(staged, join(folder, String(version)));
      return true;
    } catch (error) {
      // Which error it is for a folder that is taken differs; what is there doesn't.
      if (isMissing(error) || (await this.#disk.exists(this.path(folder, version)))) return false;
      throw error;
    }
  }

  async tidy(): Promise<void> {}

  async remove(folder: string, version: number): Promise<void> {
    await this.#disk.dropFolder(join(folder, String(version)));
  }

  async discard(staged: string): Promise<void> {
    await this.#disk.dropFolder(staged);
  }
}
