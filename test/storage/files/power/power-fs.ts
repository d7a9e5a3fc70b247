import type { FileSystem } from "../../../../src/storage/files/file-system.js";
import type { Chance } from "./chance.js";
import { type FileNode, type FolderNode, lose, type Move, type Node, setEntry, syncFolder } from "./nodes.js";
import { systemCalls } from "./system-calls.js";
/** A sync of a file or folder; a test may leave out one kind. */
export interface Sync {
  readonly path: string;
  readonly kind: Node["kind"];
}

/**
 * A disk in memory that tracks what was synced: contents of files and names in folders, separately. When the
 * power fails, everything else survives or not at random, in any order: names appear without their data, data is cut or
 * zero, one of two renamed names exists, both or none. Only a folder that was moved is in exactly one place, the old
 * or the new one, as on real file systems.
 */
export class PowerDisk {
  readonly chance: Chance;
  readonly root: FolderNode = newFolder(1);
  /** Selects the syncs that are left out. */
  readonly skips: (sync: Sync) => boolean;
  moves: Move[] = [];
  #inodes = 1;
  #left = Number.POSITIVE_INFINITY;
  /** Calls of a dead process no longer reach the disk. */
  #life = 0;
  /** Times advance with each call. They start a minute ago, so that nothing is recent and nothing is old. */
  #time = Date.now() - 60_000;

  constructor(chance: Chance, skips: (sync: Sync) => boolean = () => false) {
    this.chance = chance;
    this.skips = skips;
  }

  /** Returns the file system of a process that runs until the power fails, before the nth of its calls. */
  fs(nth = Number.POSITIVE_INFINITY): FileSystem {
    this.#left = nth;
    const life = this.#life;
    return systemCalls(this, async () => {
      // Concurrent calls may be done in any order.
      for (let turns = this.chance.of(3); turns > 0; turns--) await null;
      this.#left -= 1;
      if (life !== this.#life || this.#left <= 0) throw failure("EIO");
    });
  }

  /** True once the power has failed for the running process. */
  get isOff(): boolean {
    return this.#left <= 0;
  }

  /** Fails the power: the next process finds only what survives. */
  losePower(): void {
    this.#life += 1;
    lose(this.root, this.moves, this.chance);
    this.moves = [];
  }

  now(): number {
    this.#time += 1;
    return this.#time;
  }

  /** Advances the clock. */
  wait(ms: number): void {
    this.#time += ms;
  }

  inode(): number {
    this.#inodes += 1;
    return this.#inodes;
  }

  find(path: string): Node {
    let node: Node = this.root;
    for (const name of path.split("/").filter(Boolean)) {
      if (node.kind !== "folder") throw failure("ENOTDIR");
      const next: Node | undefined = node.entries.get(name);
      if (next === undefined) throw failure("ENOENT");
      node = next;
    }
    return node;
  }

  folder(path: string): FolderNode {
    const node = this.find(path);
    if (node.kind !== "folder") throw failure("ENOTDIR");
    return node;
  }

  set(folder: FolderNode, name: string, node: Node | undefined): void {
    setEntry(folder, name, node, this.now());
  }

  sync(path: string, node: Node): void {
    if (this.skips({ path, kind: node.kind })) return;
    if (node.kind === "folder") syncFolder(node, this.moves);
    else node.onDisk = node.data;
  }
}

export function newFolder(ino: number): FolderNode {
  return { kind: "folder", ino, entries: new Map(), onDisk: new Map(), pending: new Map(), mtimeMs: 0 };
}

export function newFile(ino: number, mtimeMs: number): FileNode {
  const empty = Buffer.alloc(0);
  return { kind: "file", ino, data: empty, onDisk: empty, mtimeMs };
}

export function failure(code: string): Error {
  return Object.assign(new Error(`${code}: on the disk in memory`), { code });
}
