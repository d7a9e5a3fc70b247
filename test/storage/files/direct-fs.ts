import * as fs from "node:fs";
import type { FileSystem } from "../../../src/storage/files/file-system.js";

/**
 * The real file system, with synchronous system calls instead of the thread pool. In tests with hundreds of thousands
 * of calls, most of the time would go into the thread pool.
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
  // The store passes only strings and options, and uses only these methods of a handle.
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
