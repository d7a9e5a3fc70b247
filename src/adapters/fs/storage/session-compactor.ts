import type { SessionId } from "../../../definition/names.js";
import { ignore } from "./file-handles.js";
import { isMissing } from "./fs-failure.js";
import { FolderGone, GenerationDraft } from "./generation-draft.js";
import type { Generation } from "./generations.js";
import type { StoreParts } from "./store-parts.js";
import { markUsed } from "./used-ids.js";

/**
 * Puts a session's versions into one file of a new generation. At every instant the session is whole:
 *
 * 1. Generations before the current one go away. So nothing that is still being made out of one of them can appear
 *    under a number that was used before.
 * 2. The new generation is written under a temporary name inside the current one, and each commit is checked.
 * 3. A seal gets the next version, by the call that decides between writers: from here on nothing is appended to the
 *    current generation. Who loses adds that commit, and tries again.
 * 4. The new generation is brought to the disk, and renamed to its number.
 * 5. The old one is renamed into the trash, and deleted.
 *
 * After a crash between 3 and 4 the next writer does it anew, and one between 4 and 5 cleans up; readers need neither.
 * The first generation's id is marked as used before its folder goes, so that no session begins in its place.
 */
export class SessionCompactor {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async compact(id: SessionId): Promise<void> {
    const { generations, newest, reader } = this.#parts;
    const last = await newest.header(id);
    if (last === undefined) return;
    const at = generations.current(id);
    await this.#tidy(at);
    const loose = last.version - (await reader.packed(at));
    if (loose > 1 || (await reader.isSealed(at, last.version + 1))) await this.#replace(at, last.version);
  }

  /**
   * Whether a writer failed for a compaction alone: its version is a seal, or the generation is another one by now.
   * Finishes what a dead compaction has left.
   */
  async cameBetween(at: Generation, version: number): Promise<boolean> {
    const { background, generations, reader } = this.#parts;
    const isSealed = await reader.isSealed(at, version);
    if (!isSealed && (await reader.has(at.id, version, at))) return false;
    if (!(await generations.haveMoved(at))) {
      if (!isSealed) return false;
      await this.#replace(at, version - 1);
      return generations.haveMoved(at);
    }
    background.run(at.id, () => this.#tidy(generations.current(at.id)));
    return true;
  }

  async #replace(at: Generation, version: number): Promise<void> {
    const { generations, layout } = this.#parts;
    const draft = new GenerationDraft(this.#parts, at);
    try {
      await draft.write(version);
      await draft.publish();
      if (await generations.haveMoved(at)) await this.#tidy(generations.current(at.id));
    } catch (error) {
      if (!(await isLate(draft, error))) throw error;
      // If the session was removed.
      await this.#parts.disk.fs.rmdir(layout.generations(at.id)).catch(ignore);
    } finally {
      await draft.discard();
    }
  }

  async #tidy({ id, number }: Generation): Promise<void> {
    const { background, disk, generations, layout, trash } = this.#parts;
    if (number === 0) return;
    const older = (await generations.numbers(id)).filter((one) => one < number);
    if (await disk.exists(layout.session(id))) {
      await markUsed(this.#parts, id);
      older.push(0);
    }
    for (const one of older) {
      const folder = await trash.put("compacted", id, generations.at(id, one).folder);
      if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
    }
  }
}

/** Whether a compaction failed because its folder isn't there any more. */
async function isLate(draft: GenerationDraft, error: unknown): Promise<boolean> {
  if (error instanceof FolderGone) return true;
  if (!isMissing(error)) return false;
  return draft.checkPlace().then(
    () => false,
    (cause: unknown) => cause instanceof FolderGone,
  );
}
