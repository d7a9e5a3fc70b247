import type { Diagnostic } from "../../../definition/diagnostic.js";
import { METADATA_FILE } from "../../../definition/folder/read-workflow.js";
import { FILE_MAX } from "../../../definition/folder/workflow-files.js";
import { isPhasegateError } from "../../../errors.js";
import type { SourceText } from "../../../ports/text-source.js";
import type { Wall, WallEntry } from "../../../walls/wall.js";
import { relevantEntries } from "./relevant-entries.js";
import { folderTooLarge, unreadableFile } from "./unreadable.js";

/** The state of a workflow's folder, found without reading its files. */
export interface FolderState {
  /** Equal for an unchanged folder. */
  readonly key: string;
  /** When a file was last changed, in milliseconds since 1970. */
  readonly changedAt: number;
  /** Whether there is more in it than is read. */
  readonly tooLarge: boolean;
  readonly entries: readonly WallEntry[];
}

/** All texts of a workflow's folder, and why others can't be had. Paths are relative to the folder. */
export interface FolderTexts {
  readonly files: readonly SourceText[];
  readonly unreadable: readonly Diagnostic[];
}

/** The most that is read of one workflow, in bytes: its files are held together while it is read. */
const FOLDER_MAX = 32 * FILE_MAX;

/**
 * Looks at a workflow's folder; undefined if it isn't there, or is none: one with phases and without
 * metadata.json was meant to be one, and is to be listed as broken, not to vanish.
 */
export async function lookAtFolder(wall: Wall, type: string): Promise<FolderState | undefined> {
  const tree = await wall.walk(type).catch((error: unknown) => {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  });
  if (tree === undefined) return undefined;
  const entries = tree.truncated ? [] : await relevantEntries(wall, type, tree.entries);
  if (!tree.truncated && !entries.some((entry) => isTelling(below(type, entry)))) return undefined;
  const bytes = entries.reduce((sum, { signature }) => sum + (signature?.size ?? 0), 0);
  return {
    key: entries.map(({ path, kind, signature }) => [path, kind, signature?.key].join("|")).join("\n"),
    changedAt: Math.max(0, ...entries.map(({ signature }) => signature?.changedAt ?? 0)),
    tooLarge: tree.truncated || bytes > FOLDER_MAX,
    entries,
  };
}

function isTelling(path: string): boolean {
  return path === METADATA_FILE || path === "phases" || path.startsWith("phases/");
}

function below(type: string, { path }: WallEntry): string {
  return path.slice(type.length + 1);
}

/** Reads the files of a folder that was looked at. */
export async function readFolder(wall: Wall, type: string, { entries, tooLarge }: FolderState): Promise<FolderTexts> {
  const files: SourceText[] = [];
  const unreadable: Diagnostic[] = [];
  if (tooLarge) unreadable.push(folderTooLarge());
  for (const entry of tooLarge ? [] : entries) {
    const path = below(type, entry);
    try {
      files.push({ path, text: (await wall.read(entry.path, { maxBytes: FILE_MAX })).text });
    } catch (error) {
      // One that has gone since is no longer part of the folder: the next look will say so.
      if (!isPhasegateError(error, "FILE_NOT_FOUND")) unreadable.push(unreadableFile(path, error));
    }
  }
  return { files, unreadable };
}
