import * as fs from "node:fs";
import type { FileSystem } from "../../../src/storage/files/disk.js";

/**
 * The real file system by the same system calls, each made at once instead of by a thread of the pool. Tests that make
 * hundreds of thousands of them spend most of their time on handing them over otherwise.
 */
export const directFs = {
  link: async (...args: Parameters<typeof fs.linkSync>) => fs.linkSync(...args),
  mkdir: async (...args: Parameters<typeof fs.mkdirSync>) => fs.mkdirSync(...args),
  open: async (...args: Parameters<typeof fs.openSync>) => new DirectHandle(fs.openSync(...args)),
  readdir: async (...args: Parameters<typeof fs.readdirSync>) => fs.readdirSync(...args),
  readFile: async (...args: Parameters<typeof fs.readFileSync>) => fs.readFileSync(...args),
  realpath: async (...args: Parameters<typeof fs.realpathSync>) => fs.realpathSync(...args),
  rename: async (...args: Parameters<typeof fs.renameSync>) => fs.renameSync(...args),
  rm: async (...args: Parameters<typeof fs.rmSync>) => fs.rmSync(...args),
  rmdir: async (...args: Parameters<typeof fs.rmdirSync>) => fs.rmdirSync(...args),
  stat: async (...args: Parameters<typeof fs.statSync>) => fs.statSync(...args),
  unlink: async (...args: Parameters<typeof fs.unlinkSync>) => fs.unlinkSync(...args),
  // The store calls them with strings and options alone, and uses no more of a handle than this one has.
} as unknown as FileSystem;

class DirectHandle {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  async writeFile(data: string | Uint8Array) {
    fs.writeFileSync(this.#fd, data);
  }

  async sync() {
    fs.fsyncSync(this.#fd);
  }

  async read(buffer: Buffer, offset: number, length: number, position: number) {
    return { buffer, bytesRead: fs.readSync(this.#fd, buffer, offset, length, position) };
  }

  async readFile() {
    return fs.readFileSync(this.#fd);
  }

  async stat(options?: fs.StatSyncOptions) {
    return fs.fstatSync(this.#fd, options);
  }

  async close() {
    fs.closeSync(this.#fd);
  }
}
