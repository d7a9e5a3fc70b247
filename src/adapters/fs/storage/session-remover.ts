import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import { isPhasegateError } from "../../../errors.js";
import type { SessionSummary } from "../../../ports/storage-adapter.js";
import { isMissing } from "./fs-failure.js";
import { activeMarker, allMarker } from "./marker.js";
import type { StoreParts } from "./store-parts.js";

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
    const { background, disk, folders, known, layout, reader } = this.#parts;
    if (!(await reader.hasFolder(id))) return;
    const summary = await this.#summary(id);
    await folders.within(layout.removedShelf(id), async () => {
      await disk.touch(layout.removed(id));
      await disk.syncFolder(layout.removedShelf(id));
    });
    const trash = join(layout.top("trash"), randomUUID());
    await this.#moveAway(layout.session(id), trash);
    await disk.syncFolder(layout.shelf(id));
    known.forget(id);
    await this.#liftMarkers(summary);
    background.run(id, () => disk.dropFolder(trash));
  }

  async #moveAway(folder: string, trash: string): Promise<void> {
    try {
      await this.#parts.disk.replace(folder, trash);
    } catch (error) {
      // Another removal was faster.
      if (!isMissing(error)) throw error;
    }
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
