import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { RawData } from "@orama/orama";
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import { isMissing } from "../sandbox/refusals.js";
import { openSandbox } from "../sandbox/sandbox.js";
/** The name of the file in its folder. */
export const INDEX_FILE = "search-index.json";
/** More than any index that can be written. */
const INDEX_MAX = 1024 * 1024 * 1024;

/** The first line of the file. */
const headerSchema = z.object({ format: z.number(), settings: z.string(), digest: z.string() });

/** What was found where an index is kept: it, none, or one that can't be used, and why. */
export interface FoundIndex {
  readonly kept?: KeptIndex;
  readonly reason?: string;
}

/**
 * Reads the index that is kept in a folder. One of another format, of other settings, or of which a
 * single byte is another one isn't used. Throws as sandboxes do, but for what isn't there.
 */
export async function readIndexFile(folder: string, settings: string): Promise<FoundIndex> {
  const bytes = await bytesIn(folder);
  if (bytes === undefined) return {};
  const end = bytes.indexOf(10);
  const header = headerSchema.safeParse(parsed(bytes.subarray(0, Math.max(end, 0)))).data;
  if (header === undefined) return { reason: "it is damaged" };
  if (header.format !== INDEX_FORMAT) return { reason: `it has format ${header.format}, not ${INDEX_FORMAT}` };
  if (header.settings !== settings) return { reason: "it was made with other settings" };
  const body = bytes.subarray(end + 1);
  if (digestOf(body) !== header.digest) return { reason: "it is damaged" };
  const kept = keptIndexSchema.safeParse(parsed(body)).data;
  return kept === undefined ? { reason: "it is damaged" } : { kept };
}

/** Keeps an index in a folder, whole or not at all. Throws as the file system does. */
export async function writeIndexFile(folder: string, settings: string, index: KeptIndex): Promise<void> {
  const body = JSON.stringify(index);
  const header = { format: INDEX_FORMAT, settings, digest: digestOf(body) };
  await writeWhole(folder, INDEX_FILE, [`${JSON.stringify(header)}\n`, body]);
}

async function bytesIn(folder: string): Promise<Uint8Array | undefined> {
  try {
    const sandbox = await openSandbox(folder);
    return (await sandbox.readBytes(INDEX_FILE, { maxBytes: INDEX_MAX })).bytes;
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Undefined for what is no JSON. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}

function digestOf(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("base64url");
}

/**
 * The format of a kept index: another one is built anew. It changes with whatever is stored or how it is
 * made: chunks, words, fields, the version of Orama.
 */
const INDEX_FORMAT = 1;

const placeSchema = z.object({
  workflow: z.string().exactOptional(),
  phase: z.int().exactOptional(),
  task: z.int().exactOptional(),
  tags: z.array(z.string()),
  about: z.string().exactOptional(),
});

const chunkSchema = placeSchema.omit({ about: true }).extend({
  headings: z.array(z.string()),
  lines: z.tuple([z.int(), z.int()]),
});

const fileSchema = z.object({
  path: z.string(),
  /** The signature of the file when it was read; empty if it may be blind to a change. */
  signature: z.string(),
  /** The digest of its text. */
  hash: z.string(),
  place: placeSchema,
  /** Its chunks but for their texts, which Orama holds. */
  chunks: z.array(chunkSchema),
});

/** With the vectors of its chunks, one after the other: 32-bit floats in base64. */
const keptFileSchema = fileSchema.extend({ vectors: z.string().exactOptional() });

/** Everything that is kept of an index. What Orama has saved is its own affair. */
const keptIndexSchema = z.object({
  files: z.array(z.tuple([z.string(), keptFileSchema])),
  orama: z.custom<RawData>((value) => typeof value === "object" && value !== null, "expected what Orama has saved"),
});

/** A chunk but for its text. */
export type ChunkRecord = z.infer<typeof chunkSchema>;
/** A file of which the chunks are in the index, as one phase's or task's text. */
export type FileRecord = z.infer<typeof fileSchema>;
/** Everything that is kept of an index. */
export type KeptIndex = z.infer<typeof keptIndexSchema>;

/** How long a file that was not finished may be somebody's who is still at it, in milliseconds. */
const ABANDONED = 60 * 60 * 1000;
const TEMPORARY = ".tmp";

/**
 * Puts a file into a folder so that there is always a whole one, the old or the new: written beside it,
 * brought to the disk, renamed. Makes the folder. Only the owner can read either. Throws as the file system does.
 */
async function writeWhole(folder: string, name: string, parts: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await sweep(folder, name);
  const temporary = join(folder, `${name}.${randomUUID()}${TEMPORARY}`);
  const file = await open(temporary, "wx", 0o600);
  try {
    try {
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  } catch (error) {
    await unlink(temporary);
    throw error;
  }
}

/** Deletes what writers that were killed have left behind. */
async function sweep(folder: string, name: string): Promise<void> {
  const left = (await readdir(folder)).filter((file) => file.startsWith(`${name}.`) && file.endsWith(TEMPORARY));
  for (const file of left) {
    try {
      const { mtimeMs } = await stat(join(folder, file));
      if (mtimeMs < Date.now() - ABANDONED) await unlink(join(folder, file));
    } catch (error) {
      // Another process may have finished it, or swept it.
      if (!isMissing(error)) throw error;
    }
  }
}
