import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** The absolute path of a file that must be there; `what` says which one, in messages. */
export async function requireFile(path: string, what: string): Promise<string> {
  const file = resolve(path);
  const found = await stat(file).catch((cause: unknown) => {
    throw new CommandFailure(`${what} can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  });
  if (!found.isDirectory()) return file;
  throw new CommandFailure(`${what} is a folder: ${file}`, EXIT.environment, "Name a file.");
}
