import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Gives a stream as a file, which is gone afterwards: a file can be checked to its end before anything is done with its
 * beginning. Nobody else can read it.
 */
export async function spooled<T>(input: Readable, work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-import-"));
  try {
    const file = join(folder, "sessions.jsonl");
    await pipeline(input, createWriteStream(file, { mode: 0o600 }));
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
