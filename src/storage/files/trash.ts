/** Deletes temp files that crashes left, and the folders of removed sessions. */
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { type Disk, ignoreMissing, TEMPORARY } from "./disk.js";
import type { SessionPlace, StoreLayout } from "./layout.js";

/** No call takes this long: older temp files were left by a crash. */
const LEFT_MS = 3_600_000;

/** Deletes temp files that crashes left in a session's folder and among its payloads. */
export async function sweepTemporary(disk: Disk, folder: string): Promise<void> {
  for (const place of [folder, join(folder, "payloads")]) await sweepOld(disk, place);
}

/**
 * Deletes the old temp files in a folder. Their age is measured by the file system's clock, which stamped them: this
 * process's clock may be hours ahead, and calls of others may be running.
 */
async function sweepOld(disk: Disk, folder: string): Promise<void> {
  const paths = (await disk.names(folder))
    .filter((name) => name.startsWith(TEMPORARY))
    .map((name) => join(folder, name));
  const times = await Promise.all(paths.map(async (path) => (await disk.stat(path))?.mtimeMs));
  // If nothing is old by this process's clock, skip the file that asks for the other clock.
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

/** A removed session's folder in the trash. */
export interface TrashEntry {
  readonly name: string;
  readonly path: string;
  readonly id: SessionId;
  /** The time of removal in milliseconds, by the file system's clock. */
  readonly at: number;
}

/** Names of trash folders. Other files there are not touched. */
const NAME = /^removed~([^~]+)~(\d{1,15})~[0-9a-f-]{36}$/;

/** A removed session is kept this long for watchers to read its last commits. */
const GRACE_MS = 60_000;

/** The folders of removed sessions: moved here by one rename, deleted afterwards. */
export class Trash {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Moves a session's folder here and returns its new path; undefined if another process was faster. */
  async put({ id, folder }: SessionPlace): Promise<string | undefined> {
    const trash = this.#layout.top("trash");
    const now = Math.floor(await this.#disk.now(trash));
    const to = join(trash, `removed~${id}~${now}~${randomUUID()}`);
    const isMoved = await this.#disk
      .replace(folder, to)
      .then(() => true)
      .catch(ignoreMissing);
    if (!isMoved) return undefined;
    // Without the sync, a power failure could bring the folder back with some of its files deleted.
    await this.#disk.syncFolder(dirname(folder)).catch(ignoreMissing);
    return to;
  }

  /** Returns the removed sessions. */
  async entries(): Promise<TrashEntry[]> {
    const folder = this.#layout.top("trash");
    return (await this.#disk.names(folder)).flatMap((name) => {
      const [, id, at] = NAME.exec(name) ?? [];
      return isSessionId(id) ? [{ name, path: join(folder, name), id, at: Number(at) }] : [];
    });
  }

  /** Deletes what dead processes left and what watchers have had time to read. */
  async empty(isWatched: boolean): Promise<void> {
    const folder = this.#layout.top("trash");
    const entries = await this.entries();
    const now = isWatched && entries.length > 0 ? await this.#disk.now(folder) : 0;
    for (const { path, id, at } of entries) {
      if (isWatched && now - at < GRACE_MS) continue;
      // The process that moved a folder may have died before its sync.
      await this.#disk.syncFolder(this.#layout.shelf(id)).catch(ignoreMissing);
      await this.#disk.dropFolder(path);
    }
    await sweepOld(this.#disk, folder);
  }
}
