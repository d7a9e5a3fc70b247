import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../../definition/names.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import { TEMPORARY } from "./publisher.js";
import type { StoreLayout } from "./store-layout.js";
import { sweepOne } from "./sweep-temporary.js";

/** Folders on their way out: they go away whole, by a rename, and are deleted afterwards. */
export class Trash {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Moves a folder of a session's away; gives where it is now, undefined if somebody else was faster. */
  async put(why: "removed" | "compacted", id: SessionId, folder: string): Promise<string | undefined> {
    const to = join(this.#layout.top("trash"), `${why}~${id}~${randomUUID()}`);
    if (!(await orMissing(this.#disk.replace(folder, to).then(() => true)))) return undefined;
    // Were the folder back after a loss of power, but what was deleted in it not, half a session would be there.
    await orMissing(this.#disk.syncFolder(dirname(folder)));
    return to;
  }

  /** Deletes what dead processes left: folders that went away, and probes of the file system. */
  async empty(): Promise<void> {
    const folder = this.#layout.top("trash");
    for (const name of await this.#disk.names(folder)) {
      if (name.startsWith(TEMPORARY)) await sweepOne(this.#disk, join(folder, name));
      else await this.#delete(join(folder, name), name.split("~")[1]);
    }
  }

  // Who moved it may have died before that was on the disk.
  async #delete(path: string, id: string | undefined): Promise<void> {
    if (isSessionId(id)) {
      const layout = this.#layout;
      const places = [layout.shelf(id), layout.generations(id), layout.compactedShelf(id)];
      for (const place of places) await orMissing(this.#disk.syncFolder(place));
    }
    await this.#disk.dropFolder(path);
  }
}
