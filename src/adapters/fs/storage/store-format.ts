import { join } from "node:path";
import { PhasegateError } from "../../../errors.js";
import type { Disk } from "./disk.js";
import { errnoOf, storageFailed } from "./fs-failure.js";
import { LinkPublisher } from "./link-publisher.js";
import { type Publisher, temporaryName } from "./publisher.js";
import { RenamePublisher } from "./rename-publisher.js";
import type { StoreLayout } from "./store-layout.js";

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
 * Finds out how commits are published in this store: as its `format.json` says, or, in a new store, by hard links if
 * the file system has them. What was chosen once stays, as it decides where a version is.
 */
export async function choosePublisher(disk: Disk, layout: StoreLayout): Promise<Publisher> {
  const chosen = await readFormat(disk, layout);
  if (chosen === "rename") return new RenamePublisher(disk);
  const links = await hasLinks(disk, layout.top("trash"));
  if (chosen === "link" && !links) throw noWay("The store was made with hard links, and this file system has none");
  if (chosen === undefined && !links) await checkRename(disk, layout.top("trash"));
  const publisher = links ? new LinkPublisher(disk) : new RenamePublisher(disk);
  if (chosen === undefined) await writeFormat(disk, layout, publisher.way);
  return publisher;
}

async function readFormat(disk: Disk, layout: StoreLayout): Promise<Publisher["way"] | undefined> {
  const data = await disk.read(layout.format());
  if (data === undefined) return undefined;
  const value = parse(data.toString("utf8"));
  if (value.format > FORMAT) throw tooNew(value.format);
  if (value.format === FORMAT && (value.publish === "link" || value.publish === "rename")) return value.publish;
  throw storageFailed("open", "format.json is damaged", "Restore format.json from a backup of the session folder.");
}

function parse(text: string): { format: number; publish: unknown } {
  try {
    const { format, publish } = JSON.parse(text);
    return { format: Number(format), publish };
  } catch {
    return { format: 0, publish: undefined };
  }
}

// Processes that start at once write the same.
async function writeFormat(disk: Disk, layout: StoreLayout, publish: Publisher["way"]): Promise<void> {
  const staged = join(layout.root, temporaryName());
  await disk.writeNew(staged, `${JSON.stringify({ format: FORMAT, publish })}\n`);
  await disk.replace(staged, layout.format());
  await disk.syncFolder(layout.root);
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

/** Whether a rename leaves alone a folder that isn't empty: that is what the other way rests on. */
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
