/** The file formats: commits, compressed payloads, and the pack of several commits with an index at its end. */
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
import type { Pack, SessionPlace, Store } from "./layout.js";

export type CommitHeader = Omit<Commit, "body" | "payloads">;

const NEWLINE = 10;

/** Writes JSON in two lines, the body on the second: a list reads only the first. JSON escapes newlines. */
export function encodeCommit(commit: Commit): string {
  const { sessionId, version, at, schema, previousHash, hash, summary } = commit;
  const header = JSON.stringify({ sessionId, version, at, schema, previousHash, hash, summary });
  return `${header.slice(0, -1)},\n"body":${JSON.stringify(commit.body)}}\n`;
}

/** Throws `TAMPERED` if it is not this version of this session. */
export function parseCommit(data: Buffer, id: SessionId, version: number): Commit {
  const header = readHeader(data.toString("utf8"), id, version);
  if ("body" in header && typeof header.body === "string") return { ...header, body: header.body };
  throw tampered(id, version, "it is not a commit");
}

/** Parses the header in the first bytes of a commit file; undefined if they do not have all of it. Throws `TAMPERED`. */
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

/** A payload's hash is a file name, so any other text could lead out of the store. */
export function isPayloadHash(hash: string): boolean {
  return HASH.test(hash);
}

export function payloadFolder({ folder }: Pick<SessionPlace, "folder">): string {
  return join(folder, "payloads");
}

/** Writes and syncs payloads, before their commit: as JSON strings, since UTF-8 has no lone surrogates. */
export async function storePayloads(store: Store, at: SessionPlace, payloads: readonly Payload[]): Promise<void> {
  const { disk, folders } = store;
  const folder = payloadFolder(at);
  await folders.within(folder, async () => {
    for (const payload of payloads) await storeOne(disk, folder, payload);
    // Also for existing files: their writer may have died before its sync.
    await disk.syncFolder(folder);
  });
}

async function storeOne(disk: Disk, folder: string, { hash, body }: Payload): Promise<void> {
  const path = join(folder, `${hash}.gz`);
  if (await disk.exists(path)) return;
  const staged = temporaryIn(folder);
  // The caller waits: the fastest level takes a tenth of the time of the best one, for a quarter more space.
  await disk.writeNew(staged, await compress(JSON.stringify(body), { level: constants.Z_BEST_SPEED }));
  await disk.replaceOrDrop(staged, path);
}

/** Returns the time of the session's newest payload, in milliseconds; undefined if it has none. */
export async function newestPayload({ disk }: Store, at: SessionPlace): Promise<number | undefined> {
  const folder = payloadFolder(at);
  const stats = await Promise.all((await disk.names(folder)).map((name) => disk.stat(join(folder, name))));
  const times = stats.flatMap((stat) => stat?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Returns a payload's text; undefined if the session has none with this hash. Throws `TAMPERED`. */
export async function readPayload(store: Store, id: SessionId, hash: string): Promise<string | undefined> {
  if (!isPayloadHash(hash)) return undefined;
  const path = join(payloadFolder(store.layout.place(id)), `${hash}.gz`);
  const data = await store.disk.read(path).catch((error) => throwDamage(error, id, 0));
  if (data === undefined) return undefined;
  try {
    const maxOutputLength = Math.min(MAX_JSON_GROWTH * store.limits.maxCommitBytes + 2, kMaxLength);
    const text: unknown = JSON.parse((await decompress(data, { maxOutputLength })).toString("utf8"));
    if (typeof text === "string") return text;
  } catch {
    // Reported below.
  }
  throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
}

const DIGITS = 16;
/** An index line: the offset of a version, or the end of the last one. */
const LINE_BYTES = DIGITS + 1;
const TITLE = "phasegate-log";
const END_BYTES = TITLE.length + 2 * (DIGITS + 1) + 1;
/** The last line of a pack. No commit file ends like this: its last line ends a JSON object. */
const END = new RegExp(`^${TITLE} (\\d{${DIGITS}}) (\\d{${DIGITS}})\n$`);
const MAX_KNOWN = 4096;

const NO_PACK: Pack = { count: 0, indexAt: 0, identity: "", mtimeMs: 0 };

/** Returns the index of a pack, which follows the unchanged files of its versions: the offset of each, and their number. */
export function packIndex(lengths: readonly number[]): string {
  const offsets = [0];
  for (const length of lengths) offsets.push((offsets.at(-1) ?? 0) + length);
  const lines = offsets.map((offset) => `${digits(offset)}\n`).join("");
  return `${lines}${TITLE} ${digits(lengths.length)} ${digits(offsets.at(-1) ?? 0)}\n`;
}

export function packOf(files: readonly Buffer[]): Buffer {
  return Buffer.concat([...files, Buffer.from(packIndex(files.map(({ length }) => length)))]);
}

function digits(value: number): string {
  return String(value).padStart(DIGITS, "0");
}

/** Returns the current state of the pack at a path, at which there may be none. */
export async function lookAtPack(store: Store, path: string): Promise<Pack> {
  const stat = await store.disk.stat(path);
  if (stat === undefined) return NO_PACK;
  const known = store.packs.get(path);
  if (known?.identity === identityOf(stat)) return known;
  return (await store.disk.readParts(path, (read, fileStat) => packIn(store, path, read, fileStat))) ?? NO_PACK;
}

/** Returns a version's file or its first bytes, and the number of packed versions; undefined if it is not packed. */
export async function readPacked(store: Store, path: string, version: number, most = Number.POSITIVE_INFINITY) {
  return store.disk.readParts(path, async (read, stat) => {
    const { count, indexAt } = await packIn(store, path, read, stat);
    if (version > count) return undefined;
    const lines = (await read(indexAt + (version - 1) * LINE_BYTES, 2 * LINE_BYTES)).toString("latin1");
    const [start, end] = [Number(lines.slice(0, DIGITS)), Number(lines.slice(LINE_BYTES, -1))];
    return { data: await readPart(read, start, Math.min(end, start + most), indexAt), packed: count };
  });
}

/** Passes the files of all versions in a pack to `use`, in order, with the pack opened once. */
export async function eachPacked(store: Store, path: string, use: (data: Buffer) => Promise<void>): Promise<void> {
  await store.disk.readParts(path, async (range, stat) => {
    const { count, indexAt } = await packIn(store, path, range, stat);
    const index = (await range(indexAt, (count + 1) * LINE_BYTES)).toString("latin1").split("\n");
    for (let version = 1; version <= count; version++) {
      await use(await readPart(range, Number(index[version - 1]), Number(index[version]), indexAt));
    }
  });
}

async function packIn({ packs }: Store, path: string, read: ReadRange, stat: Stats): Promise<Pack> {
  const identity = identityOf(stat);
  const known = packs.get(path);
  if (known?.identity === identity) return known;
  const pack = { ...(await readEnd(read, stat.size)), identity, mtimeMs: stat.mtimeMs };
  if (packs.size >= MAX_KNOWN) packs.clear();
  packs.set(path, pack);
  return pack;
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
