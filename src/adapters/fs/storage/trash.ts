import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../../definition/names.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import { TEMPORARY } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";
import { sweepOne } from "./sweep-temporary.js";

/** Why a folder went away: `removed` is the first generation of a removed session, `removed-generations` the others. */
type Why = "removed" | "removed-generations" | "compacted";

/** What is in the trash. */
export interface TrashEntry {
  readonly name: string;
  readonly path: string;
  readonly why: string;
  readonly id: SessionId;
  /** When it went there, in milliseconds. */
  readonly at: number;
}

/** So long a removed session is kept for those who watch, to read its last commits. */
const GRACE_MS = 60_000;

/** Folders on their way out: they go away whole, by a rename, and are deleted afterwards. */
export class Trash {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Moves a folder of a session's away; gives where it is now, undefined if somebody else was faster. */
  async put(why: Why, id: SessionId, folder: string): Promise<string | undefined> {
    const to = join(this.#layout.top("trash"), `${why}~${id}~${Date.now()}~${randomUUID()}`);
    if (!(await orMissing(this.#disk.replace(folder, to).then(() => true)))) return undefined;
    // Were the folder back after a loss of power, but what was deleted in it not, half a session would be there.
    await orMissing(this.#disk.syncFolder(dirname(folder)));
    return to;
  }

  /** What went away of sessions. */
  async entries(): Promise<TrashEntry[]> {
    const folder = this.#layout.top("trash");
    return (await this.#disk.names(folder)).flatMap((name) => {
      const [why = "", id, at] = name.split("~");
      return isSessionId(id) ? [{ name, path: join(folder, name), why, id, at: Number(at) }] : [];
    });
  }

  /** Deletes what dead processes left, and what watchers have had time to read. */
  async empty(isWatched: boolean): Promise<void> {
    for (const { path, why, id, at } of await this.entries()) {
      if (isWatched && why !== "compacted" && Date.now() - at < GRACE_MS) continue;
      await this.#settle(id);
      await this.#disk.dropFolder(path);
    }
    const folder = this.#layout.top("trash");
    for (const name of await this.#disk.names(folder)) {
      if (name.startsWith(TEMPORARY)) await sweepOne(this.#disk, join(folder, name));
      else if (!name.includes("~")) await this.#disk.dropFolder(join(folder, name));
    }
  }

  // Who moved a folder may have died before that was on the disk.
  async #settle(id: SessionId): Promise<void> {
    const layout = this.#layout;
    for (const place of [layout.shelf(id), layout.generations(id), layout.compactedShelf(id)]) {
      await orMissing(this.#disk.syncFolder(place));
    }
  }
}
