/** Removed sessions, the watchers that still read them, and what crashes have left: deleted by age. */
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { type Disk, TEMPORARY } from "./disk.js";
import { ignore, ignoreMissing } from "./failures.js";
import type { Base, SessionPlace, StoreLayout } from "./layout.js";

/** Interval of a watcher's heartbeat, and the age from which it counts as dead. */
const HEARTBEAT_MS = 10_000;
const DEAD_AFTER_MS = 60_000;

/** Names of heartbeat files. Other files in the folder are not touched. */
const HEARTBEAT_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Called with each version that this process may have written. */
type AppendListener = (id: SessionId, version: number) => void;

/**
 * The watchers of this store. Those in this process are told of its appends. All of them keep a heartbeat file, so
 * that a removed session stays in the trash until they have read its last commits.
 */
export class Watchers {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #listeners = new Set<AppendListener>();

  constructor({ disk, layout }: Base) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Registers a watcher immediately. `isIn` resolves when other processes can see it; `leave` unregisters it. */
  enter(listener: AppendListener): { readonly isIn: Promise<void>; leave(): Promise<void> } {
    const path = join(this.#layout.top("watching"), randomUUID());
    this.#listeners.add(listener);
    const beat = () => this.#disk.write(path, ".");
    const heartbeat = setInterval(() => void beat().catch(ignore), HEARTBEAT_MS);
    // A watch that is never ended must not keep the process alive.
    heartbeat.unref();
    const isIn = beat();
    return {
      isIn,
      leave: async () => {
        clearInterval(heartbeat);
        this.#listeners.delete(listener);
        await isIn.catch(ignore);
        await this.#disk.drop(path);
      },
    };
  }

  tell({ sessionId, version }: Commit): void {
    for (const listener of this.#listeners) listener(sessionId, version);
  }

  /** Returns true if anybody watches. Deletes the heartbeats of dead processes. */
  async any(): Promise<boolean> {
    if (this.#listeners.size > 0) return true;
    const folder = this.#layout.top("watching");
    const names = (await this.#disk.names(folder)).filter((name) => HEARTBEAT_NAME.test(name));
    if (names.length === 0) return false;
    const now = await this.#disk.now(this.#layout.top("trash"));
    const alive = await Promise.all(names.map((name) => this.#isAlive(join(folder, name), now)));
    return alive.includes(true);
  }

  async #isAlive(path: string, now: number): Promise<boolean> {
    const stat = await this.#disk.stat(path);
    if (stat === undefined) return false;
    if (now - stat.mtimeMs < DEAD_AFTER_MS) return true;
    await this.#disk.drop(path);
    return false;
  }
}

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
  if (paths.length === 0) return;
  const now = await disk.now(folder);
  for (const path of paths) {
    const stat = await disk.stat(path);
    if (stat !== undefined && now - stat.mtimeMs > LEFT_MS) await disk.dropFolder(path);
  }
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

  constructor({ disk, layout }: Base) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Moves a session's folder here and returns its new path; undefined if another process was faster. */
  async put({ id, folder }: SessionPlace): Promise<string | undefined> {
    const trash = this.#layout.top("trash");
    const now = Math.floor(await this.#disk.now(trash));
    const to = join(trash, `removed~${id}~${now}~${randomUUID()}`);
    const isMoved = this.#disk.replace(folder, to).then(() => true);
    if (!(await isMoved.catch(ignoreMissing))) return undefined;
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
