/** The file in which an index is saved: its format, its checks, and how it is replaced completely or not at all. */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { RawData } from "@orama/orama";
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import { openSandbox } from "../sandbox/sandbox.js";

export const INDEX_FILE = "search-index.json";
/** The largest file, in bytes. */
const INDEX_MAX = 1024 * 1024 * 1024;

const headerSchema = z.object({ format: z.number(), settings: z.string(), digest: z.string() });

/** A saved index, or the reason why it cannot be used; neither if there is none. */
export interface FoundIndex {
  readonly kept?: KeptIndex;
  readonly reason?: string;
}

/** An index of another format, with other settings or a changed byte is not used. Throws as a sandbox does. */
export async function readIndexFile(folder: string, settings: string): Promise<FoundIndex> {
  const bytes = await bytesIn(folder);
  if (bytes === undefined) return {};
  const end = bytes.indexOf(10);
  const header = headerSchema.safeParse(parsed(bytes.subarray(0, Math.max(end, 0)))).data;
  if (header === undefined) return { reason: "it is damaged" };
  if (header.format !== INDEX_FORMAT) return { reason: `it has format ${header.format}, not ${INDEX_FORMAT}` };
  if (header.settings !== settings) return { reason: "it was built with other settings" };
  const body = bytes.subarray(end + 1);
  if (digestOf(body) !== header.digest) return { reason: "it is damaged" };
  const kept = keptIndexSchema.safeParse(parsed(body)).data;
  return kept === undefined ? { reason: "it is damaged" } : { kept };
}

/** Saves an index in a folder, which is made, completely or not at all. Throws as the file system and a sandbox do. */
export async function writeIndexFile(folder: string, settings: string, index: KeptIndex): Promise<void> {
  const body = JSON.stringify(index);
  const header = { format: INDEX_FORMAT, settings, digest: digestOf(body) };
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(header)}\n${body}`;
  await (await openSandbox(folder)).save(INDEX_FILE, { text, maxBytes: INDEX_MAX });
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

/** Change it with everything that is stored: chunks, words, fields, the version of Orama. */
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
  /** The signature of the file when it was read; empty if it was too recent to detect a later change. */
  signature: z.string(),
  /** The digest of its text. */
  hash: z.string(),
  place: placeSchema,
  /** Its chunks without their texts, which are in Orama's data. */
  chunks: z.array(chunkSchema),
});

/** A file with the vectors of its chunks in order: 32-bit floats in base64. */
const keptFileSchema = fileSchema.extend({ vectors: z.string().exactOptional() });

/** The content of a saved index. Orama's own data is not checked. */
const keptIndexSchema = z.object({
  files: z.array(z.tuple([z.string(), keptFileSchema])),
  orama: z.custom<RawData>((value) => typeof value === "object" && value !== null, "expected what Orama has saved"),
});

export type ChunkRecord = z.infer<typeof chunkSchema>;
/** A file whose chunks are in the index, as the text of one phase or task. */
export type FileRecord = z.infer<typeof fileSchema>;
/** The content of a saved index. */
export type KeptIndex = z.infer<typeof keptIndexSchema>;
