import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import type { Disk } from "./disk.js";
import { ignore } from "./file-handles.js";
import type { StoreLayout } from "./store-layout.js";

/** How often a watcher says that it is still there, and how long it is believed. */
const SIGN_MS = 10_000;
const BELIEVED_MS = 60_000;

/** The names of signs. Whatever else lies in the folder is somebody else's. */
const SIGN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Is told of each version that this process may have written. */
export type AppendListener = (id: SessionId, version: number) => void;

/**
 * Who watches this store. Those in this process are told of what it appends; those anywhere leave a sign of life, so
 * that a removed session is kept until they have read its end.
 */
export class Watchers {
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
