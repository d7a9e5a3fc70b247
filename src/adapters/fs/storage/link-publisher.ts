import { join } from "node:path";
import type { Disk } from "./disk.js";
import { errnoOf, isMissing } from "./fs-failure.js";
import { type Publisher, temporaryName } from "./publisher.js";

/** A staged file is linked to its version; then the temporary name itself becomes the hint. */
export class LinkPublisher implements Publisher {
  readonly way = "link";
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  path(folder: string, version: number): string {
    return join(folder, `${version}.json`);
  }

  async stage(folder: string, text: string): Promise<string> {
    const staged = join(folder, temporaryName());
    await this.#disk.writeNew(staged, text);
    return staged;
  }

  async publish(folder: string, staged: string, version: number): Promise<boolean> {
    try {
      await this.#disk.fs.link(staged, this.path(folder, version));
      return true;
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return this.#isLinked(staged);
      if (isMissing(error)) return false;
      throw error;
    }
  }

  // On a network file system the answer to a link can be lost, and the repeated call then finds its own.
  async #isLinked(staged: string): Promise<boolean> {
    return (await this.#disk.fs.stat(staged)).nlink > 1;
  }

  async point(folder: string, staged: string): Promise<void> {
    await this.#disk.replace(staged, join(folder, "head"));
  }

  async discard(staged: string): Promise<void> {
    await this.#disk.drop(staged);
  }
}
