import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { type Disk, orMissing, TEMPORARY } from "./disk.js";
import type { StoreLayout } from "./layout.js";

/** No call takes so long: what is older was left by one that never ended. */
const LEFT_MS = 3_600_000;

/** Deletes what crashes left under temporary names in a session's folder, and among its payloads. */
export async function sweepTemporary(disk: Disk, folder: string): Promise<void> {
  for (const place of [folder, join(folder, "payloads")]) await sweepOld(disk, place);
}

/**
 * Deletes what is old of the temporary names in a folder. How old is told by the file system's own clock, which has
 * stamped the files: this process's may be hours ahead, and others' calls are under way.
 */
async function sweepOld(disk: Disk, folder: string): Promise<void> {
  const paths = (await disk.names(folder))
    .filter((name) => name.startsWith(TEMPORARY))
    .map((name) => join(folder, name));
  const times = await Promise.all(paths.map(async (path) => (await disk.stat(path))?.mtimeMs));
  // Where nothing is old by this process's clock, no file is made to ask for the other one.
  if (!times.some((time) => time !== undefined && isOld(time, Date.now()))) return;
  const now = await disk.now(folder);
  for (const [index, path] of paths.entries()) {
    const time = times[index];
    if (time !== undefined && isOld(time, now)) await disk.dropFolder(path);
  }
}

function isOld(time: number, now: number): boolean {
  return now - time > LEFT_MS;
}

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
