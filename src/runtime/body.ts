/** Reads the body of an HTTP request as text within a limit. Its sender may be hostile, and its host may have read it before. */

/**
 * The reason why a body can't be read as text: it has too many bytes, the caller has no memory for it, the client has gone or
 * has sent a broken chunk, it is not UTF-8, or the host has read it before.
 */
export type Unread = "large" | "refused" | "broken" | "encoding" | "used";

/** What a client is told of a body that the host has read before. */
export const USED_BODY = {
  message: "The server has read the body before phasegate got the request.",
  remedy: "Its developer must pass the request on before anything reads it, or pass on request.clone().",
};

/** A body that was read, with its size in bytes. */
export type ReadText =
  | { readonly ok: true; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly why: Unread };

/** The first buffer for a body. */
const FIRST_BYTES = 4096;

/**
 * Reads a body of at most `maxBytes`. `take` is asked for each chunk whether there is memory for so many bytes more.
 *
 * Chunks are copied into one buffer: a chunk of one byte may be a view of a large buffer, and a list of such chunks would keep
 * all these buffers in memory. A declared length is used only to refuse a body early.
 */
export async function readText(
  { body, bodyUsed, headers }: Request,
  maxBytes: number,
  take: (bytes: number) => boolean = () => true,
): Promise<ReadText> {
  if (bodyUsed || body?.locked) return { ok: false, why: "used" };
  if (Number(headers.get("content-length")) > maxBytes) return { ok: false, why: "large" };
  let held = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  let length = 0;
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      const { value } = part;
      const why = length + value.length > maxBytes ? "large" : take(value.length) ? undefined : "refused";
      if (why !== undefined) {
        await reader?.cancel();
        return { ok: false, why };
      }
      held = grown(held, length + value.length, maxBytes);
      held.set(value, length);
      length += value.length;
    }
  } catch {
    return { ok: false, why: "broken" };
  }
  try {
    return {
      ok: true,
      text: new TextDecoder("utf-8", { fatal: true }).decode(held.subarray(0, length)),
      bytes: length,
    };
  } catch {
    return { ok: false, why: "encoding" };
  }
}

/** Returns a buffer for `needed` bytes with what is held. */
export function grown(held: Uint8Array<ArrayBuffer>, needed: number, maxBytes: number): Uint8Array<ArrayBuffer> {
  if (needed <= held.length) return held;
  const larger = new Uint8Array(Math.min(Math.max(held.length * 2, needed), maxBytes));
  larger.set(held);
  return larger;
}
