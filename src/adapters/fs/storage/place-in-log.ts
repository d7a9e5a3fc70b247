import type { Commit } from "../../../ports/storage-adapter.js";
import { ignore } from "./file-handles.js";
import { conflict } from "./fs-failure.js";
import type { SessionPlace } from "./store-layout.js";
import type { StoreParts } from "./store-parts.js";

/**
 * Makes the folder of a new session. The folder first, then the look at the ids that are used up: a removal goes the
 * other way round, so one sees the other.
 */
export async function beginSession(parts: StoreParts, commit: Commit, { folder }: SessionPlace): Promise<void> {
  const { disk, folders, layout, reader } = parts;
  const { sessionId: id, version, previousHash } = commit;
  if (previousHash !== "") throw conflict(id, version, "a first version has none before it");
  const isNew = await folders.within(layout.shelf(id), () => disk.makeFolder(folder));
  if (await disk.exists(layout.removed(id))) {
    await disk.fs.rmdir(folder).catch(ignore);
    throw conflict(id, version, "the session exists, or was removed");
  }
  if (!isNew && (await reader.has(id, version))) throw conflict(id, version, "the session exists");
}

/** Refuses a commit that doesn't follow the one before it. That this one is there is looked at later. */
export async function checkPrevious(parts: StoreParts, commit: Commit, at: SessionPlace): Promise<void> {
  const { known, reader } = parts;
  const { sessionId: id, version, previousHash } = commit;
  const newer = known.get(id);
  // A backup may have been put back: what isn't there any more is not what a commit can come too late for.
  if (newer !== undefined && newer.version >= version && !(await reader.has(id, newer.version, at))) known.forget(id);
  const seen = known.get(id);
  if (seen !== undefined && seen.version >= version) throw conflict(id, version, "another writer was first");
  const previous = seen?.version === version - 1 ? seen : await reader.header(id, version - 1, at);
  if (previous?.hash !== previousHash) throw conflict(id, version, "it does not follow the newest version");
}

/**
 * Looks that the commit before is where this one is about to be. After staging: what was staged can only be published
 * out of the folder that it was staged in, so that folder is the session's own, and not one that a late beginning has
 * just made under its name.
 */
export async function checkFolder(
  parts: StoreParts,
  { sessionId: id, version }: Commit,
  at: SessionPlace,
): Promise<void> {
  if (version === 1 || (await parts.reader.has(id, version - 1, at))) return;
  parts.known.forget(id);
  throw conflict(id, version, "it does not follow the newest version");
}

/**
 * Refuses a commit whose version is another one's in the pack: its writer slept while the file of that version was
 * packed, and deleted, so that the name was free. To be asked once it has its name: a file is deleted after it was packed.
 */
export async function checkPack(parts: StoreParts, { sessionId: id, version, hash }: Commit, at: SessionPlace) {
  const { known, publisher, reader } = parts;
  if (version === 1 || version > (await reader.packed(at))) return;
  if ((await reader.header(id, version, at))?.hash === hash) return;
  await publisher.remove(at.folder, version);
  known.forget(id);
  throw conflict(id, version, "another writer was first");
}
