import type { Disk, ReadRange } from "./disk.js";

const DIGITS = 16;
/** A line of the index: where a version begins, or where the last one ends. */
const LINE_BYTES = DIGITS + 1;
const TITLE = "phasegate-log";
const END_BYTES = TITLE.length + 2 * (DIGITS + 1) + 1;
/** No commit's file ends so: its last line is the end of a JSON object. */
const END = new RegExp(`^${TITLE} (\\d{${DIGITS}}) (\\d{${DIGITS}})\n$`);
const MAX_KNOWN = 4096;

/** What a file is: how many versions it packs (0 if it is a commit's own file), and where its index begins. */
interface Extent {
  readonly count: number;
  readonly indexAt: number;
  /** Which file it was, in which state: a pack is replaced by a longer one. */
  readonly identity: string;
  readonly mtimeMs: number;
}

/** A pack that is being put together: the versions' files as they were, then where each begins, then how many there are. */
export class PackIndex {
  readonly #starts: number[] = [];
  #end = 0;

  /** Notes the next version. */
  add(data: Uint8Array): void {
    this.#starts.push(this.#end);
    this.#end += data.length;
  }

  /** What comes after the versions. */
  text(): string {
    const index = [...this.#starts, this.#end].map((start) => `${digits(start)}\n`).join("");
    return `${index}${TITLE} ${digits(this.#starts.length)} ${digits(this.#end)}\n`;
  }
}

/** The versions' files as one. */
export function packOf(files: readonly Buffer[]): Buffer {
  const index = new PackIndex();
  for (const file of files) index.add(file);
  return Buffer.concat([...files, Buffer.from(index.text())]);
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

/** Reads single versions out of packs. How long one is has to be read once only. */
export class PackedLogs {
  readonly #disk: Disk;
  readonly #known = new Map<string, Extent>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** How many versions a file packs; 0 if it is none, or no pack. */
  async count(path: string): Promise<number> {
    return (await this.extent(path))?.count ?? 0;
  }

  /** Which pack is there now, and how long it is. */
  async extent(path: string): Promise<Extent | undefined> {
    const stat = await this.#disk.stat(path);
    if (stat === undefined) return undefined;
    const known = this.#known.get(path);
    if (known?.identity === identityOf(stat)) return known;
    return this.#disk.readParts(path, (read, fileStat) => this.#look(path, read, fileStat));
  }

  /** Whether a version was in the pack when it was looked at last. It will be, then: packs do not shrink. */
  isKnown(path: string, version: number): boolean {
    return version <= (this.#known.get(path)?.count ?? 0);
  }

  /** The file of a version, or no more than its first bytes; undefined if it isn't in the pack. */
  async read(path: string, version: number, most = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    return this.#disk.readParts(path, async (read, stat) => {
      const { count, indexAt } = await this.#look(path, read, stat);
      if (version > count) return undefined;
      const lines = (await read(indexAt + (version - 1) * LINE_BYTES, 2 * LINE_BYTES)).toString("latin1");
      const [start, end] = [Number(lines.slice(0, DIGITS)), Number(lines.slice(LINE_BYTES, -1))];
      return readPart(read, start, Math.min(end, start + most), indexAt);
    });
  }

  /** The files of all versions in their order, with the pack opened once; gives how many there are. */
  async each(path: string, use: (data: Buffer) => Promise<void>): Promise<number> {
    const read = await this.#disk.readParts(path, async (range, stat) => {
      const { count, indexAt } = await this.#look(path, range, stat);
      const index = (await range(indexAt, (count + 1) * LINE_BYTES)).toString("latin1").split("\n");
      for (let version = 1; version <= count; version++) {
        await use(await readPart(range, Number(index[version - 1]), Number(index[version]), indexAt));
      }
      return count;
    });
    return read ?? 0;
  }

  async #look(path: string, read: ReadRange, stat: FileState): Promise<Extent> {
    const identity = identityOf(stat);
    const known = this.#known.get(path);
    if (known?.identity === identity) return known;
    const extent = { ...(await readEnd(read, stat.size)), identity, mtimeMs: stat.mtimeMs };
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(path, extent);
    return extent;
  }
}

/** What tells one file, and one state of it, from another. */
interface FileState {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
}

function identityOf({ ino, size, mtimeMs }: FileState): string {
  return `${ino}:${size}:${mtimeMs}`;
}

/** What can't be a part gives an empty one, which its reader takes for damaged. */
async function readPart(read: ReadRange, start: number, end: number, indexAt: number): Promise<Buffer> {
  return Number.isSafeInteger(start) && end > start && end <= indexAt ? read(start, end - start) : Buffer.alloc(0);
}

async function readEnd(read: ReadRange, size: number): Promise<Pick<Extent, "count" | "indexAt">> {
  const text = (await read(Math.max(0, size - END_BYTES), END_BYTES)).toString("latin1");
  const [, count, indexAt] = (END.exec(text) ?? []).map(Number);
  const isWhole =
    count !== undefined && indexAt !== undefined && indexAt + (count + 1) * LINE_BYTES + END_BYTES === size;
  return isWhole ? { count, indexAt } : { count: 0, indexAt: 0 };
}
