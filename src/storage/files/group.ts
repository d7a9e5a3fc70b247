/**
 * Group commit: the texts of commits of several sessions in one file, and so under one sync, which takes most of a commit's
 * time. The file is linked into the folder of each session. From there on each commit goes its own way, as one that came
 * alone: its version may be taken, its folder gone, the sync of its folder may fail, and the others do not notice.
 *
 * The idea is that of databases (DeWitt et al., Implementation techniques for main memory database systems, 1984).
 */
import { join } from "node:path";
import type { SessionId } from "../../workflow/names.js";
import { type Disk, ignoreMissing, temporaryName } from "./disk.js";
import { oddityOf } from "./failures.js";

/**
 * Each commit in a file begins a block of its own. What is written over one of them later does not touch a block that has
 * another one's text: while a block is written, a loss of power may cost all of it.
 */
const BLOCK = 4096;
/** The most commits in a file, and its size. A copy that does not keep hard links has the whole file for each of them. */
const COMMITS_MAX = 32;
const BYTES_MAX = COMMITS_MAX * BLOCK;
/** Longer texts are written alone: what they need a sync for is mostly their own. */
const TEXT_MAX = 4 * BLOCK;

const NEWLINE = 10;
const SPACE = 32;

/** A commit on the disk that has no version yet. */
export interface Staged {
  readonly path: string;
  /** Where its text begins in the file. */
  readonly start: number;
  /** True if there are commits of other sessions in the file. */
  readonly isShared: boolean;
}

/**
 * Returns the text of a session's commit in a file of commits; undefined if it is not there, or not whole. Only its own
 * blocks count, since those of others may be lost. A text of another session that has the same beginning somewhere has it in
 * a string of JSON, where its quotes are escaped.
 */
export function ownText(data: Buffer, id: SessionId, version?: number): Buffer | undefined {
  const start = startOf(data, id, version);
  const body = start < 0 ? 0 : data.indexOf(NEWLINE, start) + 1;
  const end = body === 0 ? 0 : data.indexOf(NEWLINE, body) + 1;
  return end === 0 ? undefined : data.subarray(start, end);
}

/** Returns where a session's commit begins in a file of commits; -1 if it does not. */
export function startOf(data: Buffer, id: SessionId, version?: number): number {
  const beginning = Buffer.from(`{"sessionId":"${id}","version":${version === undefined ? "" : `${version},`}`);
  for (let start = 0; start < data.length; start += BLOCK) {
    if (data.subarray(start, start + beginning.length).equals(beginning)) return start;
  }
  return -1;
}

/**
 * Overwrites a session's text in a file that has texts of other sessions too, and syncs it. For a text that nobody needs any
 * more: deleting one of the file's names would leave it in the others' files. The beginning goes last, since it is what the
 * text is found by.
 */
export async function wipe(disk: Disk, path: string, id: SessionId, isSynced = true): Promise<void> {
  const file = await disk.openToChange(path).catch(ignoreOdd);
  if (file === undefined) return;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > BYTES_MAX) return;
    const data = await file.readFile();
    const text = ownText(data, id);
    if (text === undefined || text.length === data.length) return;
    const start = startOf(data, id);
    const spaces = Buffer.alloc(text.length, SPACE);
    for (const [from, to] of [
      [BLOCK, text.length],
      [0, Math.min(BLOCK, text.length)],
    ] as const) {
      if (from >= to) continue;
      await file.write(spaces, from, to - from, start + from);
      if (isSynced) await file.sync();
    }
  } finally {
    await file.close();
  }
}

/** Ignores that a path is missing, or is not that of a file: there is no text then. */
function ignoreOdd(error: unknown): undefined {
  if (oddityOf(error) === undefined) ignoreMissing(error);
}

/** A commit that waits to be written. */
interface Waiting {
  /** The session's folder. */
  readonly folder: string;
  readonly text: string;
  resolve(staged: Staged): void;
  reject(error: unknown): void;
}

/**
 * Stages commits: one that comes alone at once, and those that come while it is being written together after it. Texts are
 * written only when each has a name in its session's folder, so one that is left by a crash is found and wiped.
 */
export class CommitGroups {
  readonly #disk: Disk;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Stages a commit in its session's folder, perhaps with others. Fails as if it were alone. */
  async stage(folder: string, text: string): Promise<Staged> {
    if (Buffer.byteLength(text) > TEXT_MAX) return this.alone(folder, text);
    if (!this.#isWriting) return this.#whileWriting(() => this.alone(folder, text));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ folder, text, resolve, reject });
    });
  }

  /** Stages a commit in a file of its own. */
  async alone(folder: string, data: string | Uint8Array): Promise<Staged> {
    const path = join(folder, temporaryName());
    await this.#disk.writeNew(path, data);
    return { path, start: 0, isShared: false };
  }

  async #whileWriting<T>(work: () => Promise<T>): Promise<T> {
    this.#isWriting = true;
    try {
      return await work();
    } finally {
      this.#isWriting = false;
      const group = this.#takeGroup();
      if (group.length > 0) void this.#whileWriting(() => this.#write(group));
    }
  }

  /** Takes the commits of the next file, at most one of a session, since it is found by its session. */
  #takeGroup(): Waiting[] {
    const group = new Map<string, Waiting>();
    const left: Waiting[] = [];
    let bytes = 0;
    for (const one of this.#waiting) {
      const size = wholeBlocks(Buffer.byteLength(one.text));
      if (bytes + size > BYTES_MAX || group.has(one.folder)) left.push(one);
      else {
        group.set(one.folder, one);
        bytes += size;
      }
    }
    this.#waiting = left;
    return [...group.values()];
  }

  /** Stages a group. Those that can't be staged together are staged alone. */
  async #write(group: readonly Waiting[]): Promise<void> {
    const staged = group.length > 1 ? await this.#together(group) : new Map<Waiting, Staged>();
    const left = group.filter((one) => {
      const found = staged.get(one);
      if (found !== undefined) one.resolve(found);
      return found === undefined;
    });
    await Promise.all(left.map((one) => this.alone(one.folder, one.text).then(one.resolve, one.reject)));
  }

  /** Writes one file with the commits of a group. Returns those that are in it; none if it failed. */
  async #together(group: readonly Waiting[]): Promise<ReadonlyMap<Waiting, Staged>> {
    const paths = group.map(({ folder }) => join(folder, temporaryName()));
    const [first = "", ...others] = paths;
    const staged = new Map<Waiting, Staged>();
    try {
      await this.#disk.fill(first, async (file) => {
        const links = await Promise.allSettled(others.map((path) => this.#disk.fs.link(first, path)));
        const parts: Buffer[] = [];
        let start = 0;
        for (const [index, one] of group.entries()) {
          if (links[index - 1]?.status === "rejected") continue;
          const text = Buffer.from(one.text);
          staged.set(one, { path: paths[index] ?? first, start, isShared: true });
          parts.push(text, Buffer.alloc(wholeBlocks(text.length) - text.length, NEWLINE));
          start += wholeBlocks(text.length);
        }
        await file.writeFile(Buffer.concat(parts));
      });
      return staged;
    } catch {
      await Promise.all(others.map((path) => this.#disk.drop(path)));
      return new Map();
    }
  }
}

function wholeBlocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK) * BLOCK;
}
