import { isPhasegateError } from "../../errors.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { activeMarker, allMarker } from "./markers.js";
import type { StoreParts } from "./parts.js";
/**
 * Removes sessions: first the id is marked as used up, then the folder goes away in one step, then its parts. A
 * removal that dies in between is done by the next one; markers that it leaves are tidied by lists.
 */
export class SessionRemover {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async remove(id: SessionId): Promise<void> {
    const { background, disk, known, layout, reader, trash, watchers } = this.#parts;
    if (!(await reader.hasFolder(id))) return;
    const summary = await this.#summary(id);
    await markUsed(this.#parts, id);
    const folder = await trash.put(id, layout.session(id));
    known.forget(id);
    await this.#liftMarkers(summary);
    // Who watches reads the last commits out of the trash.
    if (await watchers.any()) return;
    if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
  }

  // A damaged session must be removable too; lists will tidy its markers.
  async #summary(id: SessionId): Promise<SessionSummary | undefined> {
    try {
      return (await this.#parts.newest.header(id))?.summary;
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return undefined;
      throw error;
    }
  }

  async #liftMarkers(summary: SessionSummary | undefined): Promise<void> {
    if (summary === undefined) return;
    const { trees } = this.#parts;
    await Promise.all([trees.lift(allMarker(summary)), trees.lift(activeMarker(summary))]);
  }
}

/** Marks an id, on the disk, as one that no session begins under any more: its first folder is about to go away. */
async function markUsed(parts: Pick<StoreParts, "disk" | "folders" | "layout">, id: SessionId): Promise<void> {
  const { disk, folders, layout } = parts;
  await folders.within(layout.removedShelf(id), async () => {
    await disk.touch(layout.removed(id));
    await disk.syncFolder(layout.removedShelf(id));
  });
}
