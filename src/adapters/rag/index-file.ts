import { createHash } from "node:crypto";
import * as z from "zod";
import { isPhasegateError } from "../../errors.js";
import { openWall } from "../../walls/open-wall.js";
import { INDEX_FORMAT, type KeptIndex, keptIndexSchema } from "./index-format.js";
import { writeWhole } from "./write-whole.js";

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
 * single byte is another one isn't used. Throws as walls do, but for what isn't there.
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
    const wall = await openWall(folder);
    return (await wall.readBytes(INDEX_FILE, { maxBytes: INDEX_MAX })).bytes;
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
