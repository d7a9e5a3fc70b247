import { join } from "node:path";
import type { Disk } from "./disk.js";
import { closing } from "./file-handles.js";
import type { ReadRange } from "./reading-disk.js";

/** What the file of a generation's first versions is called. */
const PACK = "log";
const FILE_MODE = 0o600;
const DIGITS = 16;
/** A line of the index: where a version begins, or where the last one ends. */
const LINE_BYTES = DIGITS + 1;
const TITLE = "phasegate-log";
const END_BYTES = TITLE.length + 2 * (DIGITS + 1) + 1;
const END = new RegExp(`^${TITLE} (\\d{${DIGITS}}) (\\d{${DIGITS}})\n$`);
const MAX_KNOWN = 4096;

/** How many versions a packed log holds, and where its index begins. */
interface Extent {
  readonly count: number;
  readonly indexAt: number;
}

/** Writes a packed log: the versions' files as they were, then where each of them begins, then how many there are. */
export async function writePackedLog(
  disk: Disk,
  folder: string,
  fill: (add: (data: Buffer) => Promise<void>) => Promise<void>,
): Promise<void> {
  const handle = await disk.fs.open(join(folder, PACK), "wx", FILE_MODE);
  await closing(handle, async () => {
    const starts: number[] = [];
    let end = 0;
    await fill(async (data) => {
      starts.push(end);
      end += data.length;
      await handle.writeFile(data);
    });
    const index = [...starts, end].map((start) => `${digits(start)}\n`).join("");
    await handle.writeFile(`${index}${TITLE} ${digits(starts.length)} ${digits(end)}\n`);
    await handle.sync();
  });
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

/** Where the packed log of a generation is. */
export function packedLogPath(folder: string): string {
  return join(folder, PACK);
}

/** Reads single versions out of packed logs. These never change, so how long one is has to be read once. */
export class PackedLogs {
  readonly #disk: Disk;
  readonly #known = new Map<string, Extent>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** How many versions a generation's packed log holds; undefined if there is none, 0 if it is damaged. */
  async count(folder: string): Promise<number | undefined> {
    const known = this.#known.get(folder) ?? (await this.#look(folder));
    return known?.count;
  }

  /** The file of a version, or no more than its first bytes; undefined if it isn't there. */
  async read(folder: string, version: number, most = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    if (version > ((await this.count(folder)) ?? 0)) return undefined;
    const indexAt = this.#known.get(folder)?.indexAt ?? 0;
    return this.#disk.readParts(packedLogPath(folder), async (read) => {
      const lines = (await read(indexAt + (version - 1) * LINE_BYTES, 2 * LINE_BYTES)).toString("latin1");
      const [start, end] = [Number(lines.slice(0, DIGITS)), Number(lines.slice(LINE_BYTES, -1))];
      return readPart(read, start, Math.min(end, start + most));
    });
  }

  /** The files of all versions in their order, with the file opened once. */
  async each(folder: string, use: (data: Buffer) => Promise<void>): Promise<void> {
    const count = (await this.count(folder)) ?? 0;
    const indexAt = this.#known.get(folder)?.indexAt ?? 0;
    await this.#disk.readParts(packedLogPath(folder), async (read) => {
      const index = (await read(indexAt, (count + 1) * LINE_BYTES)).toString("latin1").split("\n");
      for (let version = 1; version <= count; version++) {
        await use(await readPart(read, Number(index[version - 1]), Number(index[version])));
      }
    });
  }

  async #look(folder: string): Promise<Extent | undefined> {
    const path = packedLogPath(folder);
    const size = (await this.#disk.stat(path))?.size;
    if (size === undefined) return undefined;
    const extent = await this.#disk.readParts(path, (read) => readEnd(read, size));
    if (extent === undefined) return undefined;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    if (extent.count > 0) this.#known.set(folder, extent);
    return extent;
  }
}

/** What can't be a part gives an empty one, which its reader takes for damaged. */
async function readPart(read: ReadRange, start: number, end: number): Promise<Buffer> {
  return Number.isSafeInteger(start) && end > start ? read(start, end - start) : Buffer.alloc(0);
}

async function readEnd(read: ReadRange, size: number): Promise<Extent> {
  const text = (await read(Math.max(0, size - END_BYTES), END_BYTES)).toString("latin1");
  const [, count, indexAt] = (END.exec(text) ?? []).map(Number);
  const isWhole =
    count !== undefined && indexAt !== undefined && indexAt + (count + 1) * LINE_BYTES + END_BYTES === size;
  return isWhole ? { count, indexAt } : { count: 0, indexAt: 0 };
}
