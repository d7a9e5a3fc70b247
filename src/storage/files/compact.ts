/** Compaction puts a session's versions into one file, the pack, and deletes their own files later. */
import { dirname, join } from "node:path";
import type { SessionId } from "../../workflow/names.js";
import { PackIndex, parseCommit } from "./commit-file.js";
import { ignoreMissing, type NewFile, TEMPORARY, temporaryName } from "./disk.js";
import { isMissing, tampered } from "./failures.js";
import { type SessionPlace, sessionOf } from "./layout.js";
import type { StoreParts } from "./parts.js";

/** Prefix of packs that are being written. */
const STAGED = `${TEMPORARY}pack-`;

/**
 * Puts a session's versions into the pack, which replaces the first version's file by a rename. So each version
 * exists at every instant, and a tool that copies the folder from an older listing finds the pack under a name in
 * that listing. The other files are deleted after the copy window: a tool that copied the first version's file before
 * it was replaced still finds them. A commit is packed only when the payloads are older than the window: a tool that
 * copied the payloads earlier would otherwise copy the pack without them.
 *
 * The deletion must lose nothing to a suspended compaction that resumes with a shorter pack:
 *
 * - A compaction creates its file before it reads what is already packed.
 * - Before files are deleted, all packs that are being written are deleted; their compactions start again.
 * - Files are deleted only if the pack is the same before and after that. A later compaction then contains these versions.
 *
 * Nor may it lose anything to a suspended writer that finds the name of its version free again: the writer checks the
 * pack afterwards.
 */
export class SessionCompactor {
  readonly #parts: StoreParts;
  readonly #copyWindowMs: number;

  constructor(parts: StoreParts, copyWindowMs: number) {
    this.#parts = parts;
    this.#copyWindowMs = copyWindowMs;
  }

  /** Packs new versions and deletes files that were packed long ago. */
  async compact(id: SessionId): Promise<void> {
    const { layout, newest, reader } = this.#parts;
    const at = layout.place(id);
    await this.deletePacked(at);
    for (;;) {
      const last = await newest.header(id);
      if (last === undefined) return;
      const { count: packed } = await reader.pack(at);
      const version = await this.#packable(at, packed, last.version);
      if (version - packed < 2 || (await this.#pack(at, version))) return;
    }
  }

  /** Returns the last version that may be packed now: all, or those older than the copy window. */
  async #packable(at: SessionPlace, packed: number, newest: number): Promise<number> {
    const { disk, payloads, publisher } = this.#parts;
    const last = await payloads.newest(at);
    if (last === undefined) return newest;
    const now = await disk.now(at.folder).catch(ignoreMissing);
    if (now === undefined) return 0;
    const before = now - this.#copyWindowMs;
    if (last <= before) return newest;
    for (let version = packed + 1; version <= newest; version++) {
      const stat = await disk.stat(publisher.path(at.folder, version));
      if (stat !== undefined && stat.mtimeMs > before) return version - 1;
    }
    return newest;
  }

  /** Deletes the files of packed versions if the pack is old enough. Returns true if none are left. */
  async deletePacked(at: SessionPlace): Promise<boolean> {
    const { disk, publisher, reader } = this.#parts;
    const pack = await reader.pack(at);
    if (pack.count === 0) return true;
    const packed = (await reader.versions(at)).filter((version) => version > 1 && version <= pack.count);
    if (packed.length === 0) return true;
    const now = await disk.now(at.folder).catch(ignoreMissing);
    if (now === undefined || now - pack.mtimeMs < this.#copyWindowMs) return now === undefined;
    for (const name of await disk.names(at.folder)) {
      if (name.startsWith(STAGED)) await disk.fs.unlink(join(at.folder, name)).catch(ignoreMissing);
    }
    if ((await reader.pack(at)).identity !== pack.identity) return false;
    // The process that packed them may have died before it synced the pack's name.
    await this.#sync(at);
    // In order, so that the remaining ones have no gaps.
    for (const version of packed) await publisher.remove(at.folder, version);
    return true;
  }

  /** Deletes the files of packed versions in all sessions. */
  async deleteAllPacked(): Promise<void> {
    const { disk, layout } = this.#parts;
    for (const name of await disk.names(layout.top("packed"))) {
      const id = sessionOf(name);
      if (id !== undefined && (await this.deletePacked(layout.place(id)))) await disk.drop(layout.packed(id));
    }
  }

  /** Writes the pack. Returns false if another compaction was faster, or the session was removed. */
  async #pack(at: SessionPlace, version: number): Promise<boolean> {
    const { disk, layout, publisher } = this.#parts;
    const staged = join(at.folder, temporaryName(STAGED));
    let isGone = false;
    try {
      await disk.fill(staged, async (file) => {
        try {
          await this.#write(file, at, version);
        } catch (error) {
          // A compaction that deletes versions first deletes the staged packs of others.
          isGone = !(await disk.exists(staged));
          throw error;
        }
      });
      await disk.touch(layout.packed(at.id));
      await disk.replace(staged, publisher.path(at.folder, 1));
    } catch (error) {
      // The staged pack was deleted by another compaction, or moved to the trash with the session's folder.
      if (isGone || (isMissing(error) && !(await disk.exists(staged)))) return false;
      throw error;
    } finally {
      await disk.drop(staged);
    }
    await this.#sync(at);
    return true;
  }

  async #write(file: NewFile, at: SessionPlace, version: number): Promise<void> {
    const { reader } = this.#parts;
    const index = new PackIndex();
    let [next, hash] = [1, ""];
    const take = async (data: Buffer) => {
      const commit = parseCommit(data, at.id, next);
      if (commit.previousHash !== hash) throw tampered(at.id, next, "it does not follow the one before it");
      [next, hash] = [next + 1, commit.hash];
      index.add(data);
      await file.writeFile(data);
    };
    await reader.eachPacked(at, take);
    while (next <= version) {
      const { data } = await reader.file(at, next);
      if (data === undefined) throw tampered(at.id, next, "it is missing, though later versions are there");
      await take(data);
    }
    await file.writeFile(index.text());
  }

  async #sync(at: SessionPlace): Promise<void> {
    const { disk, publisher } = this.#parts;
    const around = new Set([dirname(publisher.path(at.folder, 1)), at.folder]);
    // If they no longer exist, the session was removed.
    for (const folder of around) await disk.syncFolder(folder).catch(ignoreMissing);
  }
}
