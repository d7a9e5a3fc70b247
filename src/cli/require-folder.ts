import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** The absolute path of a folder that must be there; `what` says which one, in messages. */
export async function requireFolder(path: string, what: string): Promise<string> {
  const folder = resolve(path);
  const found = await stat(folder).catch((cause: unknown) => {
    throw new CommandFailure(`${what} can't be read: ${folder}`, EXIT.environment, "Check the path.", { cause });
  });
  if (found.isDirectory()) return folder;
  throw new CommandFailure(`${what} is no folder: ${folder}`, EXIT.environment, "Name a folder.");
}
