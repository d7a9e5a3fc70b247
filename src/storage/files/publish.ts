/**
 * A hard link, or else a rename, gives a staged commit its version. `format.json` records which: it decides the path.
 */
import { join, sep } from "node:path";
import { errnoOf, type PhasegateError } from "../../errors.js";
import { tooNew } from "../common/failures.js";
import { type Disk, temporaryIn } from "./disk.js";
import { isMissing, notOpened, oddityOf, outcomeUnknown } from "./failures.js";
import type { Publisher, StoreLayout } from "./layout.js";

/** Links a staged file, then deletes its temp name at once: backup tools that keep hard links would confuse them. */
function linking(disk: Disk): Publisher {
  const path = (folder: string, version: number) => `${folder}${sep}${version}.json`;
  // On a network file system the answer to a link can be lost: the call fails, or its retry finds its own link. The inode
  // tells. The link count does not: a copy made by hard links changes it.
  const isSame = async (staged: string, published: string) => {
    const [own, taken] = await Promise.all([disk.identity(staged), disk.identity(published)]).catch(throwUnknown);
    return taken !== undefined && own?.device === taken.device && own.number === taken.number;
  };
  return {
    way: "link",
    path,
    versionOf: (name) => Number(/^([1-9]\d{0,14})\.json$/.exec(name)?.[1] ?? 0),
    async stage(folder, data) {
      const staged = temporaryIn(folder);
      await disk.writeNew(staged, data);
      return staged;
    },
    async publish(folder, staged, version) {
      try {
        await disk.fs.link(staged, path(folder, version));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        if (await isSame(staged, path(folder, version))) return true;
        if (errnoOf(error) === "EEXIST") return false;
        throw error;
      }
    },
    remove: (folder, version) => disk.drop(path(folder, version)),
    discard: (staged) => disk.drop(staged),
  };
}

/** Without hard links, a staged folder is renamed. That fails if the version exists: only an empty one is replaced. */
function renaming(disk: Disk): Publisher {
  const path = (folder: string, version: number) => join(folder, String(version), "commit.json");
  const isThere = (name: string) => disk.exists(name).catch(throwUnknown);
  return {
    way: "rename",
    path,
    versionOf: (name) => (/^[1-9]\d{0,14}$/.test(name) ? Number(name) : 0),
    async stage(folder, data) {
      const staged = temporaryIn(folder);
      await disk.makeFolder(staged);
      try {
        await disk.writeNew(join(staged, "commit.json"), data);
        await disk.syncFolder(staged);
      } catch (error) {
        await disk.dropFolder(staged);
        throw error;
      }
      return staged;
    },
    async publish(folder, staged, version) {
      try {
        await disk.fs.rename(staged, join(folder, String(version)));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        // The error for an existing folder depends on the system, so check for the file.
        if (!(await isThere(path(folder, version)))) throw error;
        if (await isThere(staged)) return false;
        // The folder was renamed, and only the answer was lost; or it was deleted before, and another one has the version.
        throw outcomeUnknown(error);
      }
    },
    remove: (folder, version) => disk.dropFolder(join(folder, String(version))),
    discard: (staged) => disk.dropFolder(staged),
  };
}

/** Throws a failure as `outcomeUnknown`: the version has its name, but perhaps nobody can tell, or it may not last. */
export function throwUnknown(error: unknown): never {
  throw outcomeUnknown(error);
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

/**
 * Returns how commits are published in this store: as `format.json` says or, in a new store, by hard links if the
 * file system has them. The choice is permanent, since it decides the path of a version. `isCopy` is true if the folder is
 * not the one in which `format.json` was written: the store was copied. To be read only, a store must have its `format.json`.
 */
export async function openFormat(disk: Disk, layout: StoreLayout, readOnly: boolean) {
  const format = await readFormat(disk, layout);
  if (readOnly) {
    if (format === undefined) throw notOpened("it has no format.json", "Name a folder that has sessions.");
    return { publisher: format.publish === "link" ? linking(disk) : renaming(disk), isCopy: false };
  }
  const publisher = await choosePublisher(disk, layout.top("trash"), format?.publish);
  const isNew = format === undefined && (await disk.names(layout.top("sessions"))).length === 0;
  if (isNew) await writeFormat(disk, layout, publisher);
  const folder = (await disk.identity(layout.root))?.number;
  return { publisher, isCopy: !isNew && format?.folder !== folder };
}

async function choosePublisher(disk: Disk, folder: string, chosen: Publisher["way"] | undefined): Promise<Publisher> {
  if (chosen === "rename") return renaming(disk);
  if (await hasLinks(disk, folder)) return linking(disk);
  if (chosen === "link") throw noWay("The store was made with hard links, and this file system has none");
  if (await replacesFolders(disk, folder)) {
    throw noWay("This file system has no hard links, and a rename replaces folders");
  }
  return renaming(disk);
}

/** Reads `format.json`: the publishing method, and the inode of the folder in which it was written. */
async function readFormat(disk: Disk, layout: StoreLayout) {
  const damaged = () => notOpened("format.json is damaged", "Restore format.json from a backup of the session folder.");
  const data = await disk.read(layout.format()).catch((error) => {
    // A path that is not a readable file, such as a link to a device, is damage, too.
    throw oddityOf(error) === undefined ? error : damaged();
  });
  if (data === undefined) return undefined;
  let found: { readonly format?: unknown; readonly publish?: unknown; readonly folder?: unknown };
  try {
    found = { ...JSON.parse(data.toString("utf8")) };
  } catch {
    throw damaged();
  }
  const { publish, folder } = found;
  const format = Number(found.format);
  if (format > FORMAT) throw tooNew("The session folder has format", format, FORMAT, "session folder");
  if (format === FORMAT && (publish === "link" || publish === "rename")) return { publish, folder } as const;
  throw damaged();
}

/** Writes `format.json`. Processes that start at the same time write the same content. */
export async function writeFormat(disk: Disk, layout: StoreLayout, { way }: Publisher): Promise<void> {
  const staged = temporaryIn(layout.root);
  const folder = (await disk.identity(layout.root))?.number;
  await disk.writeNew(staged, `${JSON.stringify({ format: FORMAT, publish: way, folder })}\n`);
  await disk.replace(staged, layout.format());
  await disk.syncFolder(layout.root);
}

async function hasLinks(disk: Disk, folder: string): Promise<boolean> {
  const [from, to] = [temporaryIn(folder), temporaryIn(folder)];
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

/** Returns true if a rename replaces a folder that is not empty. */
async function replacesFolders(disk: Disk, folder: string): Promise<boolean> {
  const [from, to] = [temporaryIn(folder), temporaryIn(folder)];
  for (const path of [from, to]) {
    await disk.makeFolder(path);
    await disk.touch(join(path, "file"));
  }
  const replaced = await disk.fs.rename(from, to).then(
    () => true,
    () => false,
  );
  await Promise.all([disk.dropFolder(from), disk.dropFolder(to)]);
  return replaced;
}

function noWay(cause: string): PhasegateError {
  return notOpened(cause, "Keep the sessions on a local disk with a file system that has hard links.");
}
