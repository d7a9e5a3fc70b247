import { readFile, stat } from "node:fs/promises";
import process from "node:process";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** Reads a file that only its owner may read; one that others can read is no secret, and is refused. */
export async function readSecret(file: string, what: string): Promise<string> {
  const failed = (cause: unknown): never => {
    throw new CommandFailure(`${what} can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  };
  const { mode } = await stat(file).catch(failed);
  // Windows has no such bits: who may read a file there stands in its access list.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new CommandFailure(
      `${what} can be read by others: ${file}`,
      EXIT.environment,
      `Run chmod 600 ${file} first.`,
    );
  }
  return readFile(file, "utf8").catch(failed);
}
