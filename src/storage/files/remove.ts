/**
 * Removes sessions: the id is marked as used, the folder is moved to the trash in one step, then it is deleted. The
 * next removal completes one that died in between; lists remove its markers.
 */
import { isPhasegateError } from "../../errors.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { activeMarker, allMarker } from "./markers.js";
import type { StoreParts } from "./parts.js";
/** Removes sessions. */
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
    await this.#removeMarkers(summary);
    // Watchers read the last commits from the trash.
    if (await watchers.any()) return;
    if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
  }

  // A damaged session must be removable too. Lists remove its markers later.
  async #summary(id: SessionId): Promise<SessionSummary | undefined> {
    try {
      return (await this.#parts.newest.header(id))?.summary;
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return undefined;
      throw error;
    }
  }

  async #removeMarkers(summary: SessionSummary | undefined): Promise<void> {
    if (summary === undefined) return;
    const { trees } = this.#parts;
    await Promise.all([trees.remove(allMarker(summary)), trees.remove(activeMarker(summary))]);
  }
}

/** Marks an id as used, synced, before its folder disappears: no session can begin under it again. */
async function markUsed(parts: Pick<StoreParts, "disk" | "folders" | "layout">, id: SessionId): Promise<void> {
  const { disk, folders, layout } = parts;
  await folders.within(layout.removedShelf(id), async () => {
    await disk.touch(layout.removed(id));
    await disk.syncFolder(layout.removedShelf(id));
  });
}
