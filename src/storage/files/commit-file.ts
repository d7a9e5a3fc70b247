/**
 * The file formats: a commit as two lines of JSON, payloads as compressed files, and the pack, which is several
 * commits in one file with an index at the end.
 */
import { kMaxLength } from "node:buffer";
import type { Stats } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import { type Commit, type Payload, SESSION_STATUSES } from "../../ports/storage-adapter.js";
import { isJsonObject } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import { isIsoTime } from "../common/session-query.js";
import { type Disk, type ReadRange, temporaryIn } from "./disk.js";
import { tampered, throwDamage } from "./failures.js";
import type { Base, SessionPlace } from "./layout.js";

/** A commit without its body: enough for lists and compare-and-set. */
export type CommitHeader = Omit<Commit, "body" | "payloads">;

const NEWLINE = 10;

/**
 * Encodes a commit as one JSON object in two lines, with the body on the second. JSON escapes newlines, so the first
 * newline ends the header, and a list reads only the header of a large commit.
 */
export function encodeCommit(commit: Commit): string {
  const { sessionId, version, at, schema, previousHash, hash, summary } = commit;
  const header = JSON.stringify({ sessionId, version, at, schema, previousHash, hash, summary });
  return `${header.slice(0, -1)},\n"body":${JSON.stringify(commit.body)}}\n`;
}

/** Parses a commit file. Throws `TAMPERED` if it is not this version of this session. */
export function parseCommit(data: Buffer, id: SessionId, version: number): Commit {
  const header = readHeader(data.toString("utf8"), id, version);
  if ("body" in header && typeof header.body === "string") return { ...header, body: header.body };
  throw tampered(id, version, "it is not a commit");
}

/**
 * Parses the header from the first bytes of a commit file; undefined if they do not contain all of it. Throws
 * `TAMPERED`.
 */
export function parseHeader(data: Buffer, id: SessionId, version: number): CommitHeader | undefined {
  const end = data.indexOf(NEWLINE);
  return end < 1 ? undefined : readHeader(`${data.toString("utf8", 0, end - 1)}}`, id, version);
}

function readHeader(json: string, id: SessionId, version: number): CommitHeader {
  let header: unknown;
  try {
    header = JSON.parse(json);
  } catch {
    throw tampered(id, version, "it is cut short, or not JSON");
  }
  if (!isHeader(header)) throw tampered(id, version, "it is not a commit");
  if (header.sessionId !== id || header.summary.sessionId !== id) {
    throw tampered(id, version, "it belongs to another session");
  }
  if (header.version !== version) throw tampered(id, version, `it holds version ${header.version}`);
  return header;
}

function isHeader(value: unknown): value is CommitHeader {
  if (!isJsonObject(value) || !isJsonObject(value.summary)) return false;
  const { sessionId, version, at, schema, previousHash, hash, summary } = value;
  return (
    typeof sessionId === "string" &&
    typeof at === "string" &&
    typeof previousHash === "string" &&
    typeof hash === "string" &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(schema) &&
    typeof summary.updatedAt === "string" &&
    // It becomes part of a marker's path: any other text could lead out of the store.
    isIsoTime(summary.createdAt) &&
    Number.isSafeInteger(summary.activeSince) &&
    SESSION_STATUSES.some((status) => status === summary.status)
  );
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;
const HASH = /^[0-9a-f]{64}$/;

/** Returns true if a text is a valid payload hash, and so a safe file name. */
export function isPayloadHash(hash: string): boolean {
  return HASH.test(hash);
}

/** Returns the folder of a session's payloads. */
export function payloadFolder({ folder }: Pick<SessionPlace, "folder">): string {
  return join(folder, "payloads");
}

/**
 * Stores payloads (large evidence), one compressed file per content. The text is stored as a JSON string, since UTF-8
 * cannot represent a lone surrogate.
 */
export class PayloadFiles {
  readonly #base: Base;
  readonly #maxOutputLength: number;

  constructor(base: Base, maxCommitBytes: number) {
    this.#base = base;
    this.#maxOutputLength = Math.min(MAX_JSON_GROWTH * maxCommitBytes + 2, kMaxLength);
  }

  /** Writes and syncs payloads. Called before the commit that references them is written. */
  async store(at: SessionPlace, payloads: readonly Payload[]): Promise<void> {
    const { disk, folders } = this.#base;
    const folder = payloadFolder(at);
    await folders.within(folder, async () => {
      for (const payload of payloads) await storeOne(disk, folder, payload);
      // Also for existing files: their writer may have died before its sync.
      await disk.syncFolder(folder);
    });
  }

  /** Returns the time of the session's newest payload, in milliseconds; undefined if it has none. */
  async newest(at: SessionPlace): Promise<number | undefined> {
    const { disk } = this.#base;
    const folder = payloadFolder(at);
    const stats = await Promise.all((await disk.names(folder)).map((name) => disk.stat(join(folder, name))));
    return stats.reduce<number | undefined>(
      (newest, stat) => (stat === undefined ? newest : Math.max(stat.mtimeMs, newest ?? 0)),
      undefined,
    );
  }

  /** Returns a payload's text; undefined if the session has none with this hash. Throws `TAMPERED`. */
  async read(id: SessionId, hash: string): Promise<string | undefined> {
    if (!isPayloadHash(hash)) return undefined;
    const path = join(payloadFolder(this.#base.layout.place(id)), `${hash}.gz`);
    const data = await this.#base.disk.read(path).catch((error) => throwDamage(error, id, 0));
    if (data === undefined) return undefined;
    try {
      const json = await decompress(data, { maxOutputLength: this.#maxOutputLength });
      const text: unknown = JSON.parse(json.toString("utf8"));
      if (typeof text === "string") return text;
    } catch {
      // Reported below.
    }
    throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
  }
}

async function storeOne(disk: Disk, folder: string, { hash, body }: Payload): Promise<void> {
  const path = join(folder, `${hash}.gz`);
  if (await disk.exists(path)) return;
  const staged = temporaryIn(folder);
  // The caller waits: the fastest level takes a tenth of the time of the best one, for a quarter more space.
  await disk.writeNew(staged, await compress(JSON.stringify(body), { level: constants.Z_BEST_SPEED }));
  try {
    await disk.replace(staged, path);
  } catch (error) {
    await disk.drop(staged);
    throw error;
  }
}

const DIGITS = 16;
/** An index line: the offset of a version, or the end of the last one. */
const LINE_BYTES = DIGITS + 1;
const TITLE = "phasegate-log";
const END_BYTES = TITLE.length + 2 * (DIGITS + 1) + 1;
/** The last line of a pack. No commit file ends like this: its last line ends a JSON object. */
const END = new RegExp(`^${TITLE} (\\d{${DIGITS}}) (\\d{${DIGITS}})\n$`);
const MAX_KNOWN = 4096;

/** The state of a pack. */
export interface Pack {
  /** The number of packed versions; 0 if there is no pack. */
  readonly count: number;
  /** The position of its index. */
  readonly indexAt: number;
  /** Identifies the file and its state: a pack is replaced by a longer one. */
  readonly identity: string;
  readonly mtimeMs: number;
}

const NO_PACK: Pack = { count: 0, indexAt: 0, identity: "", mtimeMs: 0 };

/** Builds the index of a pack: the versions' files unchanged, then the offset of each, then their number. */
export class PackIndex {
  readonly #starts: number[] = [];
  #end = 0;

  /** Adds the next version. */
  add(data: Uint8Array): void {
    this.#starts.push(this.#end);
    this.#end += data.length;
  }

  /** Returns the text after the versions. */
  text(): string {
    const index = [...this.#starts, this.#end].map((start) => `${digits(start)}\n`).join("");
    return `${index}${TITLE} ${digits(this.#starts.length)} ${digits(this.#end)}\n`;
  }
}

/** Returns the versions' files as one pack. */
export function packOf(files: readonly Buffer[]): Buffer {
  const index = new PackIndex();
  for (const file of files) index.add(file);
  return Buffer.concat([...files, Buffer.from(index.text())]);
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

/** Reads single versions from packs, and caches each pack's state. */
export class Packs {
  readonly #disk: Disk;
  readonly #known = new Map<string, Pack>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Returns the current state of the pack at a path, at which there may be none. */
  async look(path: string): Promise<Pack> {
    const stat = await this.#disk.stat(path);
    if (stat === undefined) return NO_PACK;
    const known = this.#known.get(path);
    if (known?.identity === identityOf(stat)) return known;
    return (await this.#disk.readParts(path, (read, fileStat) => this.#packIn(path, read, fileStat))) ?? NO_PACK;
  }

  /** Returns true if the version was in the pack when it was last read. Packs never shrink. */
  isKnown(path: string, version: number): boolean {
    return version <= (this.#known.get(path)?.count ?? 0);
  }

  /**
   * Returns the file of a version, or only its first bytes, and the number of versions in the pack; undefined if it is
   * not in the pack.
   */
  async read(path: string, version: number, most = Number.POSITIVE_INFINITY) {
    return this.#disk.readParts(path, async (read, stat) => {
      const { count, indexAt } = await this.#packIn(path, read, stat);
      if (version > count) return undefined;
      const lines = (await read(indexAt + (version - 1) * LINE_BYTES, 2 * LINE_BYTES)).toString("latin1");
      const [start, end] = [Number(lines.slice(0, DIGITS)), Number(lines.slice(LINE_BYTES, -1))];
      return { data: await readPart(read, start, Math.min(end, start + most), indexAt), packed: count };
    });
  }

  /** Passes the files of all versions to `use`, in order, with the pack opened once. Returns their number. */
  async each(path: string, use: (data: Buffer) => Promise<void>): Promise<number> {
    const read = await this.#disk.readParts(path, async (range, stat) => {
      const { count, indexAt } = await this.#packIn(path, range, stat);
      const index = (await range(indexAt, (count + 1) * LINE_BYTES)).toString("latin1").split("\n");
      for (let version = 1; version <= count; version++) {
        await use(await readPart(range, Number(index[version - 1]), Number(index[version]), indexAt));
      }
      return count;
    });
    return read ?? 0;
  }

  async #packIn(path: string, read: ReadRange, stat: Stats): Promise<Pack> {
    const identity = identityOf(stat);
    const known = this.#known.get(path);
    if (known?.identity === identity) return known;
    const pack = { ...(await readEnd(read, stat.size)), identity, mtimeMs: stat.mtimeMs };
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(path, pack);
    return pack;
  }
}

function identityOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}`;
}

/** Reads a part. An impossible range gives an empty part, which its reader reports as damaged. */
async function readPart(read: ReadRange, start: number, end: number, indexAt: number): Promise<Buffer> {
  return Number.isSafeInteger(start) && end > start && end <= indexAt ? read(start, end - start) : Buffer.alloc(0);
}

async function readEnd(read: ReadRange, size: number): Promise<Pick<Pack, "count" | "indexAt">> {
  const text = (await read(Math.max(0, size - END_BYTES), END_BYTES)).toString("latin1");
  const [, count, indexAt] = (END.exec(text) ?? []).map(Number);
  const isWhole =
    count !== undefined && indexAt !== undefined && indexAt + (count + 1) * LINE_BYTES + END_BYTES === size;
  return isWhole ? { count, indexAt } : { count: 0, indexAt: 0 };
}
