import type { Chance } from "./chance.js";
/** A file: its current data, and the data on the disk. */
export interface FileNode {
  readonly kind: "file";
  readonly ino: number;
  data: Buffer;
  onDisk: Buffer;
  mtimeMs: number;
}

/**
 * A folder: its current names, and those on the disk; and for each name everything it has referred to since the last
 * sync of the folder, as any of these may survive.
 */
export interface FolderNode {
  readonly kind: "folder";
  readonly ino: number;
  entries: Map<string, Node>;
  onDisk: Map<string, Node>;
  readonly pending: Map<string, (Node | undefined)[]>;
  mtimeMs: number;
}

export type Node = FileNode | FolderNode;

/** A folder that was moved: no file system leaves it under two names, or under none. */
export interface Move {
  readonly from: FolderNode;
  readonly fromName: string;
  readonly to: FolderNode;
  readonly toName: string;
  readonly moved: FolderNode;
  isOnDisk: boolean;
}

/** Syncs the names of a folder to the disk. */
export function syncFolder(folder: FolderNode, moves: readonly Move[]): void {
  for (const move of moves) if (move.from === folder || move.to === folder) settle(move, moves);
  folder.onDisk = new Map(folder.entries);
  folder.pending.clear();
}

/** Syncs a move as a whole, after the earlier moves of the same folder. */
function settle(move: Move, moves: readonly Move[]): void {
  if (move.isOnDisk) return;
  for (const earlier of moves.slice(0, moves.indexOf(move))) if (earlier.moved === move.moved) settle(earlier, moves);
  move.isOnDisk = true;
  for (const [folder, name] of [
    [move.from, move.fromName],
    [move.to, move.toName],
  ] as const) {
    folder.pending.delete(name);
    folder.onDisk.delete(name);
  }
  move.to.onDisk.set(move.toName, move.moved);
}

/** Sets a name in a folder, or removes it. */
export function setEntry(folder: FolderNode, name: string, node: Node | undefined, now: number): void {
  const before = folder.pending.get(name) ?? [folder.onDisk.get(name)];
  folder.pending.set(name, [...before, node]);
  if (node === undefined) folder.entries.delete(name);
  else folder.entries.set(name, node);
  folder.mtimeMs = now;
}

/** Simulates a loss of power: each change that was not synced survives or not, at random. */
export function lose(root: FolderNode, moves: readonly Move[], chance: Chance): void {
  for (const move of moves) if (chance.of(2) === 0) settle(move, moves);
  loseIn(root, new Set(), chance);
}

function loseIn(node: Node, seen: Set<Node>, chance: Chance): void {
  if (seen.has(node)) return;
  seen.add(node);
  if (node.kind === "file") {
    node.data = node.data.equals(node.onDisk) ? node.onDisk : torn(node, chance);
    node.onDisk = node.data;
    return;
  }
  const left = new Map(node.onDisk);
  for (const [name, candidates] of node.pending) {
    const chosen = candidates[chance.of(candidates.length)];
    if (chosen === undefined) left.delete(name);
    else left.set(name, chosen);
  }
  node.entries = left;
  node.onDisk = new Map(left);
  node.pending.clear();
  for (const child of left.values()) loseIn(child, seen, chance);
}

/** Returns data that was not synced: as before, whole, truncated, zeros, or partly zeros. */
function torn({ data, onDisk }: FileNode, chance: Chance): Buffer {
  const cut = chance.of(data.length + 1);
  const zeros = Buffer.alloc(data.length - cut);
  const ways = [
    onDisk,
    data,
    data.subarray(0, cut),
    Buffer.alloc(data.length),
    Buffer.concat([data.subarray(0, cut), zeros]),
  ];
  return Buffer.from(ways[chance.of(ways.length)] ?? onDisk);
}
