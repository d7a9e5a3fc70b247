/**
 * Publishing gives a staged commit its version, by a hard link or, on file systems without them, by a folder rename.
 * `format.json` records the method, because it decides the path of a version.
 */
import { join, sep } from "node:path";
import { errnoOf, PhasegateError } from "../../errors.js";
import { type Disk, temporaryName } from "./disk.js";
import { isMissing, oddityOf, outcomeUnknown, storageFailed } from "./failures.js";
import type { StoreLayout } from "./layout.js";

/**
 * Gives a commit its version: complete, synced, and only if the version is free. A commit is staged in the session's
 * own folder, so a writer that was overtaken by a removal finds its folder gone.
 */
export interface Publisher {
  /** The system call that publishes. */
  readonly way: "link" | "rename";
  /** Returns the path of a version. The pack is at that of version 1: it replaces this file, so no copy lacks it. */
  path(folder: string, version: number): string;
  /** Returns the version to which a name in a session's folder belongs; 0 if it is not a version's. */
  versionOf(name: string): number;
  /** Writes a commit to a temp file and returns its path. */
  stage(folder: string, data: string | Uint8Array): Promise<string>;
  /**
   * Gives a staged commit its version. Returns false if the version is taken or the folder is gone. Any error except
   * `outcomeUnknown` means that the commit was not published.
   */
  publish(folder: string, staged: string, version: number): Promise<boolean>;
  /** Deletes a version's file because the version is in the pack or lost a race. */
  remove(folder: string, version: number): Promise<void>;
  /** Deletes what staging has left, whether the commit was published or not. */
  discard(staged: string): Promise<void>;
}

/**
 * Links a staged file to its version, then deletes the temp name. The two names exist only briefly: backup tools that
 * preserve hard links would otherwise confuse later contents of the two names.
 */
export class LinkPublisher implements Publisher {
  readonly way = "link";
  readonly #disk: Disk;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  path(folder: string, version: number): string {
    // Lists call this several times for each session, and `join` takes as long as a look at the disk.
    return `${folder}${sep}${version}.json`;
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

  // On a network file system the answer to a link can be lost: the call fails, or its retry finds its own link. The inode
  // tells. The link count does not: a copy made by hard links changes it.
  async #isSame(staged: string, published: string): Promise<boolean> {
    try {
      const [own, taken] = await Promise.all([staged, published].map((path) => this.#disk.identity(path)));
      return taken !== undefined && own === taken;
    } catch (error) {
      throw outcomeUnknown(error);
    }
  }

  remove(folder: string, version: number): Promise<void> {
    return this.#disk.drop(this.path(folder, version));
  }

  discard(staged: string): Promise<void> {
    return this.#disk.drop(staged);
  }
}

/**
 * For file systems without hard links: a staged folder that contains the commit is renamed to its version. The rename
 * fails if the version exists, since a folder that is not empty cannot be replaced.
 */
class RenamePublisher implements Publisher {
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
      if (isMissing(error)) return false;
      // The error for an existing folder depends on the system, so check for the file.
      if (!(await this.#isThere(this.path(folder, version)))) throw error;
      if (await this.#isThere(staged)) return false;
      // The folder was renamed, and only the answer was lost; or it was deleted before, and another one has the version.
      throw outcomeUnknown(error);
    }
  }

  async #isThere(path: string): Promise<boolean> {
    return this.#disk.exists(path).catch((error) => {
      throw outcomeUnknown(error);
    });
  }

  remove(folder: string, version: number): Promise<void> {
    return this.#disk.dropFolder(join(folder, String(version)));
  }

  discard(staged: string): Promise<void> {
    return this.#disk.dropFolder(staged);
  }
}

const FORMAT = 1;
const NO_LINKS: ReadonlySet<string | undefined> = new Set([
  "EPERM",
  "EACCES",
  "EINVAL",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);

/** What `format.json` says about a store. */
interface OpenedFormat {
  readonly publisher: Publisher;
  /** True if the folder is not the one in which `format.json` was written: the store was copied. */
  readonly isCopy: boolean;
}

/**
 * Returns how commits are published in this store: as `format.json` says or, in a new store, by hard links if the
 * file system has them. The choice is permanent, since it decides the path of a version.
 */
export async function openFormat(disk: Disk, layout: StoreLayout): Promise<OpenedFormat> {
  const format = await readFormat(disk, layout);
  const publisher = await choosePublisher(disk, layout, format?.publish);
  const isNew = format === undefined && (await disk.names(layout.top("sessions"))).length === 0;
  if (isNew) await writeFormat(disk, layout, publisher);
  return { publisher, isCopy: !isNew && format?.folder !== (await disk.fileNumber(layout.root)) };
}

async function choosePublisher(disk: Disk, layout: StoreLayout, chosen: Publisher["way"] | undefined) {
  if (chosen === "rename") return new RenamePublisher(disk);
  const links = await hasLinks(disk, layout.top("trash"));
  if (chosen === "link" && !links) throw noWay("The store was made with hard links, and this file system has none");
  if (chosen === undefined && !links) await checkRename(disk, layout.top("trash"));
  return links ? new LinkPublisher(disk) : new RenamePublisher(disk);
}

/** The content of `format.json`: the publishing method, and the inode of the folder in which it was written. */
interface Format {
  readonly publish: Publisher["way"];
  readonly folder: unknown;
}

async function readFormat(disk: Disk, layout: StoreLayout): Promise<Format | undefined> {
  const data = await disk.read(layout.format()).catch(orDamaged);
  if (data === undefined) return undefined;
  const { format, publish, folder } = parse(data.toString("utf8"));
  if (format > FORMAT) throw tooNew(format);
  if (format === FORMAT && (publish === "link" || publish === "rename")) return { publish, folder };
  throw damaged();
}

/** Reports a path that is not a readable file, such as a link to a device, as damage. */
function orDamaged(error: unknown): never {
  throw oddityOf(error) === undefined ? error : damaged();
}

function damaged(): PhasegateError {
  return storageFailed("open", "format.json is damaged", "Restore format.json from a backup of the session folder.");
}

function parse(text: string): { format: number; publish: unknown; folder: unknown } {
  try {
    const { format, publish, folder } = JSON.parse(text);
    return { format: Number(format), publish, folder };
  } catch {
    return { format: 0, publish: undefined, folder: undefined };
  }
}

/** Writes `format.json`. Processes that start at the same time write the same content. */
export async function writeFormat(disk: Disk, layout: StoreLayout, { way }: Publisher): Promise<void> {
  const staged = join(layout.root, temporaryName());
  const folder = await disk.fileNumber(layout.root);
  await disk.writeNew(staged, `${JSON.stringify({ format: FORMAT, publish: way, folder })}\n`);
  await disk.replace(staged, layout.format());
  await disk.syncFolder(layout.root);
}

/**
 * Refuses a store with sessions that versions before 0.1.0 compacted into a folder of their own, which this version
 * does not read.
 */
export async function refuseOldLayout(disk: Disk, layout: StoreLayout): Promise<void> {
  if ((await disk.names(join(layout.root, "compacted"))).length === 0) return;
  const remedy = "Export the sessions with the version that has compacted them, and import them into another folder.";
  throw storageFailed("open", "the folder has sessions that a version before 0.1.0 has compacted", remedy);
}

async function hasLinks(disk: Disk, folder: string): Promise<boolean> {
  const from = join(folder, temporaryName());
  const to = join(folder, temporaryName());
  await disk.touch(from);
  try {
    await disk.fs.link(from, to);
    return true;
  } catch (error) {
    if (NO_LINKS.has(errnoOf(error))) return false;
    throw error;
  } finally {
    await Promise.all([disk.drop(from), disk.drop(to)]);
  }
}

/** Checks that a rename does not replace a folder that is not empty: RenamePublisher depends on it. */
async function checkRename(disk: Disk, folder: string): Promise<void> {
  const [from, to] = [join(folder, temporaryName()), join(folder, temporaryName())];
  for (const path of [from, to]) {
    await disk.makeFolder(path);
    await disk.touch(join(path, "file"));
  }
  const replaced = await disk.fs.rename(from, to).then(
    () => true,
    () => false,
  );
  await Promise.all([disk.dropFolder(from), disk.dropFolder(to)]);
  if (replaced) throw noWay("This file system has no hard links, and a rename replaces folders");
}

function noWay(cause: string): PhasegateError {
  return storageFailed("open", cause, "Keep the sessions on a local disk with a file system that has hard links.");
}

function tooNew(found: number): PhasegateError {
  return new PhasegateError("FORMAT_TOO_NEW", `The session folder has format ${found}, and ${FORMAT} is supported`, {
    remedy: "Update phasegate, or use another session folder.",
    details: { found, supported: FORMAT },
  });
}
