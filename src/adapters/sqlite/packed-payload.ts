import { kMaxLength } from "node:buffer";
import { promisify } from "node:util";
import { constants, gunzip, gzip, gzipSync } from "node:zlib";
import type { SessionId } from "../../definition/names.js";
import type { Payload } from "../../ports/storage-adapter.js";
import { tampered } from "./sqlite-failure.js";

/** A payload as it is stored: gzip over its text as a JSON string, as UTF-8 has no place for a lone surrogate. */
export interface PackedPayload {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** Shorter texts are packed in this thread: it takes about a millisecond, and another thread is not there any sooner. */
const HERE_MAX = 128 * 1024;
/** A control character is one byte, and six in JSON. */
const MAX_JSON_GROWTH = 6;

/** Packs payloads, outside of any transaction; the caller waits, so at the fastest level. */
export function packPayloads(payloads: readonly Payload[]): Promise<PackedPayload[]> {
  return Promise.all(payloads.map(async ({ hash, body }) => ({ hash, bytes: await pack(JSON.stringify(body)) })));
}

function pack(json: string): Uint8Array | Promise<Uint8Array> {
  const options = { level: constants.Z_BEST_SPEED };
  return json.length <= HERE_MAX ? gzipSync(json, options) : compress(json, options);
}

/** The text of a packed payload. Throws `TAMPERED` for what can't be one. */
export async function unpackPayload(bytes: Uint8Array, id: SessionId, hash: string, maxBytes: number): Promise<string> {
  const maxOutputLength = Math.min(MAX_JSON_GROWTH * maxBytes + 2, kMaxLength);
  const text = await decompress(bytes, { maxOutputLength }).then(parse).catch(ignore);
  if (typeof text === "string") return text;
  throw tampered(id, 0, `payload ${hash.slice(0, 12)} is damaged, or larger than maxCommitBytes lets it be`);
}

function parse(json: Buffer): unknown {
  return JSON.parse(json.toString("utf8"));
}

function ignore(): void {}
