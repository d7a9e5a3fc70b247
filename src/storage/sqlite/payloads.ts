/** How payloads are compressed in rows. */
import { kMaxLength } from "node:buffer";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { Payload } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { storageFailed, tampered } from "../sql/failures.js";

export interface PackedPayload {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Takes a third of gzip's time for as many bytes. Node has it since 22.15. */
const hasZstd = "zstdCompressSync" in zlib;
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;

/** Compresses fast, as the caller waits: by zstd; where that is missing, and for lone surrogates, JSON by gzip. */
export function packPayloads(payloads: readonly Payload[]): Promise<PackedPayload[]> {
  return Promise.all(payloads.map(async ({ hash, body }) => ({ hash, bytes: await pack(body) })));
}

function pack(text: string): Promise<Uint8Array> {
  if (!hasZstd || !text.isWellFormed()) {
    return promisify(zlib.gzip)(JSON.stringify(text), { level: zlib.constants.Z_BEST_SPEED });
  }
  return promisify(zlib.zstdCompress)(text, { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } });
}

/** Returns the text of a compressed payload. Throws `TAMPERED`. */
export async function unpackPayload(bytes: Uint8Array, id: SessionId, hash: string, maxBytes: number): Promise<string> {
  const name = `payload ${hash.slice(0, 12)}`;
  const isZstd = ZSTD_MAGIC.equals(bytes.subarray(0, ZSTD_MAGIC.length));
  if (isZstd && !hasZstd) {
    const remedy = "Use Node 22.15 or later, as the process that wrote it.";
    throw storageFailed("read", `${name} is compressed with zstd, which this runtime has not`, remedy);
  }
  const maxOutputLength = Math.min(MAX_JSON_GROWTH * maxBytes + 2, kMaxLength);
  try {
    if (isZstd) return (await promisify(zlib.zstdDecompress)(bytes, { maxOutputLength })).toString("utf8");
    const text: unknown = JSON.parse((await promisify(zlib.gunzip)(bytes, { maxOutputLength })).toString("utf8"));
    if (typeof text === "string") return text;
  } catch {
    // Reported below.
  }
  throw tampered(id, 0, `${name} is damaged, or larger than maxCommitBytes lets it be`);
}
