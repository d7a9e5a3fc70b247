import { realpath } from "node:fs/promises";
import process from "node:process";
import { findCommand } from "../verifiers/allowed-commands.js";

/**
 * Returns the absolute path of a program on the PATH. Programs in `folder` do not count, which may be somebody else's: an entry
 * of the PATH may be relative, and Windows looks into the current folder first.
 */
export async function findProgram(name: string, folder: string): Promise<string | undefined> {
  const root = await realpath(folder);
  const names = process.platform === "win32" ? [name, `${name}.exe`] : [name];
  for (const one of names) {
    const found = await findCommand(one, root, process.env.PATH ?? "");
    if (found !== undefined) return found;
  }
  return undefined;
}
