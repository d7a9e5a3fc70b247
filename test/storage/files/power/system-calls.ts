import { constants } from "node:fs";
import { basename, dirname } from "node:path";
import type { FileSystem } from "../../../../src/storage/files/file-system.js";
import type { FileNode, Node } from "./nodes.js";
import { failure, newFile, newFolder, type PowerDisk } from "./power-fs.js";

/** Runs before a system call; the call fails with what it throws. */
type Before = (call: string, path: string) => Promise<void>;

/** Returns the calls of `node:fs/promises` that the store makes, on a disk in memory. `before` runs before each. */
export function systemCalls(disk: PowerDisk, before: Before): FileSystem {
  const calls = {
    async link(from: string, to: string) {
      await before("link", to);
      const [node, folder] = [disk.find(from), disk.folder(dirname(to))];
      if (folder.entries.has(basename(to))) throw failure("EEXIST");
      disk.set(folder, basename(to), node);
    },
    async mkdir(path: string, options: { recursive?: boolean } = {}) {
      await before("mkdir", path);
      if (options.recursive) return makeAll(disk, path);
      const folder = disk.folder(dirname(path));
      if (folder.entries.has(basename(path))) throw failure("EEXIST");
      disk.set(folder, basename(path), newFolder(disk.inode()));
      return undefined;
    },
    async open(path: string, flags: number) {
      await before("open", path);
      return handleOf(disk, path, openNode(disk, path, flags), before);
    },
    async readdir(path: string) {
      await before("readdir", path);
      return [...disk.folder(path).entries.keys()];
    },
    async readFile(path: string) {
      await before("readFile", path);
      return fileAt(disk, path).data;
    },
    async realpath(path: string) {
      await before("realpath", path);
      disk.find(path);
      return path;
    },
    async rename(from: string, to: string) {
      await before("rename", to);
      rename(disk, from, to);
    },
    async rm(path: string) {
      await before("rm", path);
      removeAll(disk, path);
    },
    async rmdir(path: string) {
      await before("rmdir", path);
      if (disk.folder(path).entries.size > 0) throw failure("ENOTEMPTY");
      disk.set(disk.folder(dirname(path)), basename(path), undefined);
    },
    async stat(path: string) {
      await before("stat", path);
      return statsOf(disk.find(path));
    },
    async unlink(path: string) {
      await before("unlink", path);
      fileAt(disk, path);
      disk.set(disk.folder(dirname(path)), basename(path), undefined);
    },
  };
  // The store passes only strings, and reads only these properties of the results.
  return calls as unknown as FileSystem;
}

function openNode(disk: PowerDisk, path: string, flags: number): Node {
  if ((flags & constants.O_WRONLY) === 0) return disk.find(path);
  const folder = disk.folder(dirname(path));
  const there = folder.entries.get(basename(path));
  if (there !== undefined && (flags & constants.O_EXCL) !== 0) throw failure("EEXIST");
  const node = there ?? newFile(disk.inode(), disk.now());
  if (there === undefined) disk.set(folder, basename(path), node);
  else if ((flags & constants.O_TRUNC) !== 0 && node.kind === "file") node.data = Buffer.alloc(0);
  return node;
}

function handleOf(disk: PowerDisk, path: string, node: Node, before: Before) {
  return {
    async writeFile(data: string | Uint8Array) {
      await before("write", path);
      if (node.kind !== "file") throw failure("EISDIR");
      node.data = Buffer.concat([node.data, Buffer.from(data)]);
      node.mtimeMs = disk.now();
    },
    async sync() {
      await before("sync", path);
      disk.sync(path, node);
    },
    async read(buffer: Buffer, offset: number, length: number, position: number) {
      await before("read", path);
      if (node.kind !== "file") throw failure("EISDIR");
      return { buffer, bytesRead: node.data.copy(buffer, offset, position, position + length) };
    },
    async readFile() {
      await before("read", path);
      if (node.kind !== "file") throw failure("EISDIR");
      return node.data;
    },
    async stat() {
      await before("stat", path);
      return statsOf(node);
    },
    // A handle can be closed even when the power is off.
    async close() {},
  };
}

function statsOf(node: Node) {
  const size = node.kind === "file" ? node.data.length : 0;
  const isOf = (kind: Node["kind"]) => () => node.kind === kind;
  const kinds = { isFile: isOf("file"), isDirectory: isOf("folder") };
  return { dev: 1, ino: node.ino, mtimeMs: node.mtimeMs + 0.5, size, ...kinds };
}

function fileAt(disk: PowerDisk, path: string): FileNode {
  const node = disk.find(path);
  if (node.kind !== "file") throw failure("EISDIR");
  return node;
}

function makeAll(disk: PowerDisk, path: string): string | undefined {
  let made: string | undefined;
  let at = "";
  for (const name of path.split("/").filter(Boolean)) {
    const folder = disk.folder(at);
    at = `${at}/${name}`;
    if (folder.entries.has(name)) continue;
    made ??= at;
    disk.set(folder, name, newFolder(disk.inode()));
  }
  return made;
}

function rename(disk: PowerDisk, from: string, to: string): void {
  const [moved, source, target] = [disk.find(from), disk.folder(dirname(from)), disk.folder(dirname(to))];
  const there = target.entries.get(basename(to));
  if (there?.kind === "folder" && there.entries.size > 0) throw failure("ENOTEMPTY");
  if (moved.kind === "file") {
    disk.set(target, basename(to), moved);
    disk.set(source, basename(from), undefined);
    return;
  }
  const [fromName, toName] = [basename(from), basename(to)];
  disk.moves.push({ from: source, fromName, to: target, toName, moved, isOnDisk: false });
  target.entries.set(toName, moved);
  source.entries.delete(fromName);
  source.mtimeMs = target.mtimeMs = disk.now();
}

function removeAll(disk: PowerDisk, path: string): void {
  let node: Node;
  try {
    node = disk.find(path);
  } catch {
    return;
  }
  if (node.kind === "folder") for (const name of node.entries.keys()) removeAll(disk, `${path}/${name}`);
  disk.set(disk.folder(dirname(path)), basename(path), undefined);
}
