/**
 * Opens the roots of a workspace. No root may be inside the output root: otherwise saved outputs could change what
 * later sessions follow.
 */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { PhasegateError } from "../../errors.js";
import { isInside } from "../../sandbox/resolve.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { openSandbox } from "../../sandbox/sandbox.js";
import { keptBack } from "../../workflow/names.js";

/** The folders of a workspace: absolute paths, or relative to the process's working folder. */
export interface WorkspaceFolders {
  /** The folder with workflows and their files: `{bundle-root}`. */
  readonly bundleRoot: string;
  /**
   * The folder with what all workflows share, such as the text of the workflow engine: `{core-root}`. Default: none.
   */
  readonly coreRoot?: string;
  /**
   * The folder that `{project-root}` means in paths. It is not a root: such a path is read only if it leads into
   * another root. The folder need not exist. Default: none.
   */
  readonly projectRoot?: string;
  /** The folder with the folders of sessions: `{output-root}`. It must exist. */
  readonly outputRoot: string;
  /** More folders that may be read, by the name of their variable. Default: none. */
  readonly readRoots?: Readonly<Record<string, string>>;
}

/** An open root. */
export interface OpenRoot {
  readonly name: string;
  readonly sandbox: Sandbox;
  /** Its absolute paths: as the host gave it, and with links resolved. They must not appear in any message. */
  readonly places: readonly string[];
}

/** The reserved names of roots and variables. */
export const ROOT_NAMES = {
  bundle: "bundle-root",
  core: "core-root",
  project: "project-root",
  output: "output-root",
} as const;

/**
 * Opens all roots. Throws `INVALID_INPUT` for a folder that cannot be opened, and for a root inside the output root.
 */
export async function openFolders(folders: WorkspaceFolders): Promise<readonly OpenRoot[]> {
  const { bundleRoot, coreRoot, outputRoot, readRoots = {} } = folders;
  const named: [string, string][] = [
    [ROOT_NAMES.bundle, bundleRoot],
    ...(coreRoot === undefined ? [] : [[ROOT_NAMES.core, coreRoot] satisfies [string, string]]),
    [ROOT_NAMES.output, outputRoot],
    ...Object.entries(readRoots),
  ];
  const roots = await Promise.all(named.map(([name, folder]) => openRoot(name, folder)));
  checkApart(roots);
  return roots;
}

/** Returns the absolute paths of a folder, as given and with links resolved. The folder need not exist. */
export async function placesOf(folder: string): Promise<readonly string[]> {
  const given = resolve(folder);
  const real = await realpath(given).catch(() => given);
  return real === given ? [given] : [given, real];
}

async function openRoot(name: string, folder: string): Promise<OpenRoot> {
  try {
    const sandbox = await openSandbox(folder, { refuse: keptBack });
    return { name, sandbox, places: await placesOf(folder) };
  } catch (cause) {
    throw new PhasegateError("INVALID_INPUT", `the folder of {${name}} can't be opened`, {
      remedy: "Create the folder, or give another one.",
      details: { field: name, expected: "a folder" },
      cause,
    });
  }
}

function checkApart(roots: readonly OpenRoot[]): void {
  const output = roots.find(({ name }) => name === ROOT_NAMES.output);
  const inside = roots.find(
    (root) =>
      root !== output && root.places.some((place) => output?.places.some((below) => isInside(below, place)) ?? false),
  );
  if (inside === undefined) return;
  const isReserved = Object.values<string>(ROOT_NAMES).includes(inside.name);
  throw new PhasegateError("INVALID_INPUT", `{${inside.name}} is inside {${ROOT_NAMES.output}}`, {
    remedy: isReserved
      ? "Give sessions a folder of their own, outside all other roots and not above them."
      : `Leave {${inside.name}} out: what sessions have saved can be read as <session_id>/name. Or give it a folder outside.`,
    details: { field: ROOT_NAMES.output, expected: "a folder that contains no other root" },
  });
}
