import { join } from "node:path";
import { type Disk, type Publisher, temporaryName } from "./disk.js";
import { errnoOf, isMissing, outcomeUnknown } from "./failures.js";
/**
 * A staged file is linked to its version; then the temporary name goes away. A file with two names is not for long:
 * tools that keep hard links would take what one of them stands for later for what the other one stands for.
 */
export class LinkPublisher implements Publisher {
  readonly way = "link";
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  path(folder: string, version: number): string {
    return join(folder, `${version}.json`);
  }

  versionOf(name: string): number {
    return Number(/^([1-9]\d{0,14})\.json$/.exec(name)?.[1] ?? 0);
  }

  async stage(folder: string, data: string | Uint8Array): Promise<string> {
    const staged = join(folder, temporaryName());
    await this.#disk.writeNew(staged, data);
    return staged;
  }

  async publish(folder: string, staged: string, version: number): Promise<boolean> {
    try {
      await this.#disk.fs.link(staged, this.path(folder, version));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      if (await this.#isSame(staged, this.path(folder, version))) return true;
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    }
  }

  // On a network file system the answer to a link can be lost: the call fails, or is repeated and finds its own. What
  // lies there tells, and not how many links there are: someone else may make a copy by links.
  async #isSame(staged: string, published: string): Promise<boolean> {
    try {
      const [own, taken] = await Promise.all([staged, published].map((path) => this.#disk.identity(path)));
      return taken !== undefined && own === taken;
    } catch (error) {
      throw outcomeUnknown(error);
    }
  }

  async tidy(staged: string): Promise<void> {
    await this.#disk.drop(staged);
  }

  async remove(folder: string, version: number): Promise<void> {
    await this.#disk.drop(this.path(folder, version));
  }

  async discard(staged: string): Promise<void> {
    await this.#disk.drop(staged);
  }
}

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
