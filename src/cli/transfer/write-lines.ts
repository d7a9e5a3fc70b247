import { once } from "node:events";
import { open, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { CommandFailure, EXIT } from "../exit-codes.js";

/** Writes lines as fast as they are read. Whoever reads them may stop reading: the rest is not made then. */
export async function writeToStream(lines: AsyncIterable<string>, stream: Writable): Promise<void> {
  for await (const line of lines) {
    if (stream.destroyed) return;
    if (!stream.write(line)) await Promise.race([once(stream, "drain"), once(stream, "close")]);
  }
}

/** Writes lines into a new file that only its owner can read; a file that could not be written to its end goes. */
export async function writeToFile(lines: AsyncIterable<string>, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    const hint = "Name a file that isn't there yet, in a folder that is.";
    throw new CommandFailure(`the file can't be made: ${path}`, EXIT.environment, hint, { cause });
  });
  try {
    for await (const line of lines) await file.writeFile(line);
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(path, { force: true });
    throw error;
  }
}
