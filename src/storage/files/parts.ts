import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { PayloadFiles } from "./commit-file.js";
import { type Disk, ignore, type Publisher } from "./disk.js";
import { Background, Folders, type StoreLayout } from "./layout.js";
import { MarkerTidy, MarkerTrees } from "./markers.js";
import { CommitReader, Heads, KnownVersions, NewestVersion } from "./read.js";
import { Trash } from "./tidy.js";

/** How often a watcher says that it is still there, and how long it is believed. */
const SIGN_MS = 10_000;
const BELIEVED_MS = 60_000;

/** The names of signs. Whatever else lies in the folder is somebody else's. */
const SIGN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Is told of each version that this process may have written. */
type AppendListener = (id: SessionId, version: number) => void;

/**
 * Who watches this store. Those in this process are told of what it appends; those anywhere leave a sign of life, so
 * that a removed session is kept until they have read its end.
 */
class Watchers {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #listeners = new Set<AppendListener>();

  constructor(disk: Disk, layout: StoreLayout) {
    this.#disk = disk;
    this.#layout = layout;
  }

  /** Takes a watcher in, at once; gives what lets it go. `isIn` resolves when other processes can see it. */
  enter(listener: AppendListener): { readonly isIn: Promise<void>; leave(): Promise<void> } {
    const path = join(this.#layout.top("watching"), randomUUID());
    this.#listeners.add(listener);
    const sign = setInterval(() => void this.#disk.stamp(path).catch(ignore), SIGN_MS);
    // A watch that nobody ends keeps no process alive.
    sign.unref();
    const isIn = this.#disk.stamp(path);
    return {
      isIn,
      leave: async () => {
        clearInterval(sign);
        this.#listeners.delete(listener);
        await isIn.catch(ignore);
        await this.#disk.drop(path);
      },
    };
  }

  tell({ sessionId, version }: Commit): void {
    for (const listener of this.#listeners) listener(sessionId, version);
  }

  /** Whether anybody watches. Signs of the dead are cleared away. */
  async any(): Promise<boolean> {
    if (this.#listeners.size > 0) return true;
    const folder = this.#layout.top("watching");
    const names = (await this.#disk.names(folder)).filter((name) => SIGN.test(name));
    if (names.length === 0) return false;
    const now = await this.#disk.now(this.#layout.top("trash"));
    const alive = await Promise.all(names.map((name) => this.#isAlive(join(folder, name), now)));
    return alive.includes(true);
  }

  async #isAlive(path: string, now: number): Promise<boolean> {
    const stat = await this.#disk.stat(path);
    if (stat === undefined) return false;
    if (now - stat.mtimeMs < BELIEVED_MS) return true;
    await this.#disk.drop(path);
    return false;
  }
}

/** What the operations of one store share. */
export type StoreParts = ReturnType<typeof createStoreParts>;

/** Puts the parts of a store together. */
export function createStoreParts(disk: Disk, layout: StoreLayout, publisher: Publisher, maxCommitBytes: number) {
  const background = new Background();
  const folders = new Folders(disk);
  const known = new KnownVersions();
  const heads = new Heads(disk, background);
  const reader = new CommitReader(disk, layout, publisher);
  const newest = new NewestVersion(disk, layout, reader, known);
  const payloads = new PayloadFiles(disk, layout, folders, maxCommitBytes);
  const trees = new MarkerTrees(disk, layout, folders, background);
  const tidy = new MarkerTidy({ disk, layout, background }, reader, trees, newest);
  const trash = new Trash(disk, layout);
  const watchers = new Watchers(disk, layout);
  const stored = { heads, known, newest, payloads, reader };
  return { ...stored, background, disk, folders, layout, publisher, tidy, trash, trees, watchers };
}
