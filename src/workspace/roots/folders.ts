import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { PhasegateError } from "../../errors.js";
import { isInside } from "../../sandbox/resolve.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { openSandbox } from "../../sandbox/sandbox.js";
import { keptBack } from "../../workflow/kept-back.js";
/** Where a workspace's files lie: absolute paths, or relative to the working folder. */
export interface WorkspaceFolders {
  /** Workflows and what belongs to them: `{bundle-root}`. */
  readonly bundleRoot: string;
  /** What all workflows share, the text of the workflow engine for example: `{core-root}`. */
  readonly coreRoot?: string;
  /**
   * What `{project-root}` stands for in paths. It gives no right to read: such a path is followed where it leads into
   * another root.
   */
  readonly projectRoot?: string;
  /** Sessions, each in a folder of its own: `{output-root}`. It must be there. */
  readonly outputRoot: string;
  /** More folders that may be read, each with the name of its variable. */
  readonly readRoots?: Readonly<Record<string, string>>;
}

/** A root that is open: what may be read lies on the sandbox. */
export interface OpenRoot {
  readonly name: string;
  readonly sandbox: Sandbox;
  /** Where it lies: as the host said, and with links followed. Leaves this room in no message. */
  readonly places: readonly string[];
}

/** Names that no host may give to a root or a variable of its own. */
export const ROOT_NAMES = {
  bundle: "bundle-root",
  core: "core-root",
  project: "project-root",
  output: "output-root",
} as const;

/** Opens all roots. Throws `FILE_NOT_FOUND` for one that isn't there, `INVALID_INPUT` for names and places that can't be. */
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

/** The places of a folder that need not be there. */
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
      remedy: "Make the folder, or give another one.",
      details: { field: name, expected: "a folder" },
      cause,
    });
  }
}

/** Whoever may write into a folder of workflows could change what the next session is led by. */
function checkApart(roots: readonly OpenRoot[]): void {
  const output = roots.find(({ name }) => name === ROOT_NAMES.output);
  const inside = roots.find(
    (root) =>
      root !== output && root.places.some((place) => output?.places.some((below) => isInside(below, place)) ?? false),
  );
  if (inside === undefined) return;
  throw new PhasegateError("INVALID_INPUT", `{${inside.name}} lies inside {${ROOT_NAMES.output}}`, {
    remedy: "Give sessions a folder of their own, beside what they are led by.",
    details: { field: ROOT_NAMES.output, expected: "a folder that holds no other root" },
  });
}
