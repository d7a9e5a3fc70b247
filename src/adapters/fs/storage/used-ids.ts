import type { SessionId } from "../../../definition/names.js";
import type { StoreParts } from "./store-parts.js";

/** Marks an id, on the disk, as one that no session begins under any more: its first folder is about to go away. */
export async function markUsed(parts: Pick<StoreParts, "disk" | "folders" | "layout">, id: SessionId): Promise<void> {
  const { disk, folders, layout } = parts;
  await folders.within(layout.removedShelf(id), async () => {
    await disk.touch(layout.removed(id));
    await disk.syncFolder(layout.removedShelf(id));
  });
}
