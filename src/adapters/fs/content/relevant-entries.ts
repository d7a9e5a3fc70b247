import { isGateFile, looksLikeGate } from "../../../definition/folder/gate-file-names.js";
import { METADATA_FILE } from "../../../definition/folder/read-workflow.js";
import { secretIn } from "../../../definition/kept-back.js";
import { isPhasegateError } from "../../../errors.js";
import type { Wall, WallEntry } from "../../../walls/wall.js";

/**
 * What matters of all that lies in a workflow's folder: metadata.json, Markdown anywhere, gate files;
 * and whatever was probably meant as a gate where there is none, a folder too: a gate must never vanish.
 */
export async function relevantEntries(
  wall: Wall,
  type: string,
  found: readonly WallEntry[],
): Promise<readonly WallEntry[]> {
  const gates = found.filter(({ path, kind }) => kind === "file" && isGateFile(path));
  const gated = new Set(gates.map(({ path }) => parentOf(path)));
  const files = found.filter((entry) => isRelevant(entry, entry.path.slice(type.length + 1), gated));
  const folders = await gateFolders(wall, type, found, gated);
  return [...files, ...folders].sort((one, other) => (one.path < other.path ? -1 : 1));
}

function isRelevant({ path: whole, kind }: WallEntry, path: string, gated: ReadonlySet<string>): boolean {
  if (path === METADATA_FILE || path.endsWith(".md") || isGateFile(path)) return true;
  // Whatever can't be followed may be a gate, or lead to one.
  if (isInPhases(path) && ((kind === "refused" && secretIn(path) === undefined) || /\.ya?ml$/i.test(path))) return true;
  return kind === "file" && !gated.has(parentOf(whole)) && looksLikeGate(nameOf(path));
}

/** Folders that have the name of a gate's file, or one like it, where phases have their gates. */
async function gateFolders(wall: Wall, type: string, found: readonly WallEntry[], gated: ReadonlySet<string>) {
  const phases = `${type}/phases`;
  const hasPhases = found.some(({ path }) => path.startsWith(`${phases}/`));
  const inPhases = hasPhases ? await foldersIn(wall, phases) : [];
  const withTexts = found.filter(({ path }) => path.endsWith(".md")).map(({ path }) => parentOf(path));
  const places = new Set([...inPhases.map(({ path }) => path), ...withTexts]);
  const ungated = [...places].filter((place) => place !== type && !gated.has(place));
  const folders = (await Promise.all(ungated.map((place) => foldersIn(wall, place)))).flat();
  return folders.filter(
    ({ path }) => isGateFile(path) || (path.startsWith(`${phases}/`) && looksLikeGate(nameOf(path))),
  );
}

/** None for a folder that has gone since. */
async function foldersIn(wall: Wall, folder: string): Promise<readonly WallEntry[]> {
  try {
    return (await wall.list(folder)).filter(({ kind }) => kind === "folder");
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return [];
    throw error;
  }
}

function isInPhases(path: string): boolean {
  return path === "phases" || path.startsWith("phases/");
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
