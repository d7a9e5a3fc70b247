import type { FileHandle } from "node:fs/promises";
import { tooLarge } from "./wall-refusals.js";

/**
 * Reads an open file to its end. `size` is what it seemed to hold: a file that has grown since, or
 * doesn't tell, is still read no further than the limit. Throws `TOO_LARGE`.
 */
export async function readBounded(handle: FileHandle, path: string, size: number, limit: number): Promise<Uint8Array> {
  if (size > limit) throw tooLarge(path, size, limit);
  // One byte more than expected, so that the end is seen without a second buffer.
  let buffer = new Uint8Array(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > limit) throw tooLarge(path, length, limit);
    // As much as it said, though more was asked for. A file of the kernel's says 0, and is read to its end.
    if (length === size) return buffer.subarray(0, length);
    if (length === buffer.length) buffer = grown(buffer, limit);
  }
}

function grown(buffer: Uint8Array<ArrayBuffer>, limit: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(buffer.length * 2, limit + 1));
  larger.set(buffer);
  return larger;
}
