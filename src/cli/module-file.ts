/** Loads a module that the user names: the storage of `--state module:PATH`, or the one that `test-storage` tests. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandFailure, EXIT, messageOf } from "./exit-codes.js";

/** Returns what a JavaScript or TypeScript file exports, by name. Throws `CommandFailure` if it can't be loaded. */
export async function importModule(file: string): Promise<ReadonlyMap<string, unknown>> {
  const path = resolve(file);
  const found = await stat(path).catch((cause: unknown) => {
    throw new CommandFailure(`the module can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  });
  if (!found.isFile()) throw new CommandFailure(`${file} is not a file`, EXIT.environment, "Name the module's file.");
  const module: object = await import(pathToFileURL(path).href).catch((cause: unknown) => {
    const hint = "Use --log-level debug to see where the error occurred.";
    throw new CommandFailure(`the module can't be loaded: ${messageOf(cause)}`, EXIT.problems, hint, { cause });
  });
  return new Map(Object.entries(module));
}
