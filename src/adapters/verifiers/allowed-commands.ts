import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";
import { PhasegateError } from "../../errors.js";
import { isInside } from "../../walls/resolve-inside.js";

/**
 * The executables that gates may run: names, looked up on the host's PATH when the verifiers are made,
 * absolute paths, or names with absolute paths.
 */
export type AllowedCommands = readonly string[] | Readonly<Record<string, string>>;

/**
 * The absolute path of each allowed command. A name is never looked for in the project, where an agent
 * could put something in its place; an absolute path is the host's own word. Throws `INVALID_INPUT`.
 */
export async function resolveCommands(
  allowed: AllowedCommands,
  root: string,
  path: string,
): Promise<ReadonlyMap<string, string>> {
  const entries = Array.isArray(allowed) ? allowed.map((name: string) => [name, name]) : Object.entries(allowed);
  const resolved = new Map<string, string>();
  for (const [name = "", place = ""] of entries) {
    const found = isAbsolute(place) ? await executable(place) : await findCommand(place, root, path);
    if (found === undefined) throw noCommand(name);
    resolved.set(name, found);
  }
  return resolved;
}

/** The absolute path of a command on a PATH, outside the project; undefined if it isn't there. */
export async function findCommand(name: string, root: string, path: string): Promise<string | undefined> {
  if (name === "" || basename(name) !== name) return undefined;
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = await executable(join(folder, name));
    if (found !== undefined && !isInside(root, await realpath(folder)) && !isInside(root, await realpath(found))) {
      return found;
    }
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? path : undefined;
  } catch {
    return undefined;
  }
}

function noCommand(name: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `there is no command '${name}' that can be run`, {
    remedy: "List commands by a name on the PATH of the host, outside the project, or by an absolute path.",
    details: { field: "commands", expected: "the name or the absolute path of an executable" },
  });
}
