import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../../definition/names.js";
import type { Disk } from "./disk.js";
import { orMissing } from "./file-handles.js";
import type { StoreLayout } from "./store-layout.js";
import { sweepOld } from "./sweep-temporary.js";

/** What is in the trash. */
export interface TrashEntry {
  readonly name: string;
  readonly path: string;
  readonly id: SessionId;
  /** When it went there, in milliseconds, by the file system's clock. */
  readonly at: number;
}

/** The names that are given here. Whatever else lies in the folder is somebody else's. */
const NAME = /^removed~([^~]+)~(\d{1,15})~[0-9a-f-]{36}$/;

/** So long a removed session is kept for those who watch, to read its last commits. */
const GRACE_MS = 60_000;

/** Folders of removed sessions on their way out: they go away whole, by a rename, and are deleted afterwards. */
export class Trash {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Moves a session's folder away; gives where it is now, undefined if somebody else was faster. */
  async put(id: SessionId, folder: string): Promise<string | undefined> {
    const trash = this.#layout.top("trash");
    const now = Math.floor(await this.#disk.now(trash));
    const to = join(trash, `removed~${id}~${now}~${randomUUID()}`);
    if (!(await orMissing(this.#disk.replace(folder, to).then(() => true)))) return undefined;
    // Were the folder back after a loss of power, but what was deleted in it not, half a session would be there.
    await orMissing(this.#disk.syncFolder(dirname(folder)));
    return to;
  }

  /** What went away of sessions. */
  async entries(): Promise<TrashEntry[]> {
    const folder = this.#layout.top("trash");
    return (await this.#disk.names(folder)).flatMap((name) => {
      const [, id, at] = NAME.exec(name) ?? [];
      return isSessionId(id) ? [{ name, path: join(folder, name), id, at: Number(at) }] : [];
    });
  }

  /** Deletes what dead processes left, and what watchers have had time to read. */
  async empty(isWatched: boolean): Promise<void> {
    const folder = this.#layout.top("trash");
    const entries = await this.entries();
    const now = isWatched && entries.length > 0 ? await this.#disk.now(folder) : 0;
    for (const { path, id, at } of entries) {
      if (isWatched && now - at < GRACE_MS) continue;
      // Who moved a folder may have died before that was on the disk.
      await orMissing(this.#disk.syncFolder(this.#layout.shelf(id)));
      await this.#disk.dropFolder(path);
    }
    await sweepOld(this.#disk, folder);
  }
}
