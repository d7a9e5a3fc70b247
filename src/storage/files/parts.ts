/** The objects that the operations of one store share, and the removal of a session. */
import { dirname } from "node:path";
import type { SessionId } from "../../workflow/names.js";
import { orDamaged } from "../common/failures.js";
import { PayloadFiles } from "./commit-file.js";
import type { Disk } from "./disk.js";
import type { Publisher, StoreLayout } from "./layout.js";
import { Background, type Base, Folders } from "./layout.js";
import { activeMarker, allMarker, Markers } from "./markers.js";
import { CommitReader, Heads, NewestVersion } from "./read.js";
import { Trash, Watchers } from "./trash.js";

/** The numbers among the options of a store. */
export interface Limits {
  readonly maxCommitBytes: number;
  readonly watchIntervalMs: number;
  readonly copyWindowMs: number;
}

/** The shared objects of a store. */
export type Store = ReturnType<typeof createStore>;

/** Creates the shared objects of a store. */
export function createStore(disk: Disk, layout: StoreLayout, publisher: Publisher, limits: Limits) {
  const base: Base = { disk, layout, publisher, folders: new Folders(disk), background: new Background() };
  const reader = new CommitReader(base);
  const newest = new NewestVersion(base, reader);
  return {
    ...base,
    limits,
    reader,
    newest,
    heads: new Heads(base, reader),
    markers: new Markers(base, reader, newest),
    payloads: new PayloadFiles(base, limits.maxCommitBytes),
    trash: new Trash(base),
    watchers: new Watchers(base),
  };
}

/**
 * Removes a session, if it exists: the id is marked as used, the folder is moved to the trash in one step, then it is
 * deleted. The next removal completes one that died in between; lists remove its markers.
 */
export async function removeSession(store: Store, id: SessionId): Promise<void> {
  const { background, disk, folders, layout, markers, newest, trash, watchers } = store;
  const at = layout.place(id);
  if (!(await disk.exists(at.folder))) return;
  // A damaged session must be removable too. Lists remove its markers later.
  const header = await newest.header(id).catch(orDamaged);
  // Synced before the folder disappears: no session can begin under the id again.
  const mark = layout.removed(id);
  await folders.within(dirname(mark), async () => {
    await disk.touch(mark);
    await disk.syncFolder(dirname(mark));
  });
  const folder = await trash.put(at);
  newest.forget(id);
  if (header !== undefined)
    await Promise.all([allMarker, activeMarker].map((of) => markers.remove(of(header.summary))));
  // Watchers read the last commits from the trash.
  if (await watchers.any()) return;
  if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
}
