/** What is written beside a file while it is replaced: under names by which it can be told from what is the user's. */
import { lstat, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Older than this, in milliseconds, nobody writes on it any more. Who does finds it gone, and tries again. */
const LEFT_BEHIND = 60_000;
/** So much of a file's name is in theirs: a name has 255 bytes at the most, and a character up to four. */
const NAME_MAX = 40;
const ENDING = ".phasegate.tmp";

/** A file of ours beside another one, told from others by hexadecimal digits. */
export function temporaryName(file: string, digits: string): string {
  return join(dirname(file), `${prefixOf(file)}${digits}${ENDING}`);
}

/** The claim on a file: see {@link whileClaimed}. */
export function claimName(file: string): string {
  return join(dirname(file), `${prefixOf(file)}phasegate.claim`);
}

/** Takes away what writers that were killed left beside a file, and nothing that may still be written. */
export async function sweepBeside(file: string, now = Date.now()): Promise<void> {
  const folder = dirname(file);
  const names = (await readdir(folder)).filter((name) => isTemporary(name, file));
  for (const path of names.map((name) => join(folder, name))) {
    const stats = await lstat(path);
    if (stats.isFile() && now - stats.mtimeMs > LEFT_BEHIND) await rm(path, { force: true });
  }
}

function isTemporary(name: string, file: string): boolean {
  const prefix = prefixOf(file);
  if (!name.startsWith(prefix) || !name.endsWith(ENDING)) return false;
  return /^[\da-f]+$/.test(name.slice(prefix.length, -ENDING.length));
}

function prefixOf(file: string): string {
  return `.${[...basename(file)].slice(0, NAME_MAX).join("")}.`;
}
