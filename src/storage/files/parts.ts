/** The objects that the operations of one store share, and the heartbeats of its watchers. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { PayloadFiles } from "./commit-file.js";
import { type Disk, ignore } from "./disk.js";
import { Background, Folders, type StoreLayout } from "./layout.js";
import { MarkerCheck, MarkerTrees } from "./markers.js";
import type { Publisher } from "./publish.js";
import { CommitReader, Heads, KnownVersions, NewestVersion } from "./read.js";
import { Trash } from "./trash.js";

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
class Watchers {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #listeners = new Set<AppendListener>();

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Registers a watcher immediately. `isIn` resolves when other processes can see it; `leave` unregisters it. */
  enter(listener: AppendListener): { readonly isIn: Promise<void>; leave(): Promise<void> } {
    const path = join(this.#layout.top("watching"), randomUUID());
    this.#listeners.add(listener);
    const heartbeat = setInterval(() => void this.#disk.stamp(path).catch(ignore), HEARTBEAT_MS);
    // A watch that is never ended must not keep the process alive.
    heartbeat.unref();
    const isIn = this.#disk.stamp(path);
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

/** The shared objects of a store. */
export type StoreParts = ReturnType<typeof createStoreParts>;

/** Creates the shared objects of a store. */
export function createStoreParts(disk: Disk, layout: StoreLayout, publisher: Publisher, maxCommitBytes: number) {
  const background = new Background();
  const folders = new Folders(disk);
  const known = new KnownVersions();
  const reader = new CommitReader(disk, publisher);
  const heads = new Heads(disk, background, reader);
  const newest = new NewestVersion(disk, layout, reader, known);
  const payloads = new PayloadFiles(disk, layout, folders, maxCommitBytes);
  const trees = new MarkerTrees(disk, layout, folders, background);
  const markerCheck = new MarkerCheck({ disk, layout, background }, reader, trees, newest);
  const trash = new Trash(disk, layout);
  const watchers = new Watchers(disk, layout);
  const stored = { heads, known, newest, payloads, reader };
  return { ...stored, background, disk, folders, layout, markerCheck, publisher, trash, trees, watchers };
}
