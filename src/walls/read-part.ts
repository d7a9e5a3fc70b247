import type { FileHandle } from "node:fs/promises";
import { signatureOf } from "./file-signature.js";
import { openChecked } from "./open-checked.js";
import { resolveInside } from "./resolve-inside.js";

/** Which bytes of a file are wanted. */
export interface Part {
  readonly offset: number;
  readonly length: number;
}

/** Reads a part of a file below a real root. What is asked for is bounded by the file's size: no more is set aside. */
export async function readPart(root: string, path: string, { offset, length }: Part, resolve = resolveInside) {
  const { handle, stats } = await openChecked(root, path, resolve);
  try {
    const signature = signatureOf(stats);
    const bytes = new Uint8Array(Math.max(0, Math.min(length, signature.size - offset)));
    return { bytes: bytes.subarray(0, await fill(handle, bytes, offset)), signature };
  } finally {
    await handle.close();
  }
}

/** Fills a buffer from an open file, and says how far: the file may have been cut off since. */
export async function fill(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}
