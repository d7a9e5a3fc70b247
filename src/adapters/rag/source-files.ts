import { METADATA_FILE } from "../../definition/folder/read-workflow.js";
import { FILE_MAX } from "../../definition/folder/workflow-files.js";
import { isWorkflowType } from "../../definition/names.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { FileSignature } from "../../walls/file-signature.js";
import { openWall } from "../../walls/open-wall.js";
import type { Wall, WallEntry } from "../../walls/wall.js";
import { type FilePlace, filePlaces } from "./file-places.js";

/** A Markdown file that can be searched, found without reading it. */
export interface SourceFile {
  /** Relative to its root, with `/`. */
  readonly path: string;
  readonly wall: Wall;
  readonly signature: FileSignature;
  /** What it is a text of; at least one. */
  readonly places: readonly FilePlace[];
}

/** More files than anybody searches by hand. */
const FILES_MAX = 50_000;
/** A file's times tell changes apart that lie so many milliseconds apart, at worst. */
export const SETTLED = 2_000;

/** The Markdown below some roots. Of two files, or workflows, with the same name the one in the first root counts. */
export class SourceFiles {
  private readonly roots: readonly string[];
  private readonly places = new Map<string, { key: string; value: ReadonlyMap<string, readonly FilePlace[]> }>();

  constructor(roots: readonly string[]) {
    this.roots = [...roots];
  }

  /** All files as they are now. Throws `FILE_NOT_FOUND` if none of the roots is there, else as walls do. */
  async look(): Promise<readonly SourceFile[]> {
    const walls = (await Promise.all(this.roots.map(openIfThere))).filter((wall) => wall !== undefined);
    if (walls.length === 0) throw noRoots();
    const found = new Map<string, SourceFile>();
    const taken = new Set<string>();
    for (const wall of walls) {
      const entries = await markdownIn(wall);
      const workflows = workflowsIn(entries).filter((workflow) => !taken.has(workflow));
      for (const workflow of workflows) {
        for (const file of await this.inWorkflow(wall, workflow, entries)) found.set(file.path, file);
      }
      for (const { path, signature } of entries) {
        const loose = !workflows.includes(topOf(path)) && !taken.has(topOf(path)) && path.endsWith(".md");
        if (loose && !found.has(path) && signature) found.set(path, { path, wall, signature, places: [{ tags: [] }] });
      }
      for (const workflow of workflows) taken.add(workflow);
    }
    return [...found.values()];
  }

  private async inWorkflow(wall: Wall, workflow: string, entries: readonly WallEntry[]): Promise<SourceFile[]> {
    const inside = entries.filter(({ path }) => topOf(path) === workflow);
    const metadata = inside.find(({ path }) => path === `${workflow}/${METADATA_FILE}`);
    const files = inside.filter(({ path }) => path.endsWith(".md"));
    const paths = files.map(({ path }) => path.slice(workflow.length + 1));
    const key = [metadata?.signature?.key, ...paths].join("\n");
    const known = this.places.get(workflow);
    const places = known?.key === key ? known.value : await filePlaces(workflow, await textOf(wall, metadata), paths);
    // What was changed just now may change again within what its times tell apart.
    if ((metadata?.signature?.changedAt ?? 0) < Date.now() - SETTLED) this.places.set(workflow, { key, value: places });
    else this.places.delete(workflow);
    return files.flatMap(({ path, signature }) => {
      const own = places.get(path.slice(workflow.length + 1)) ?? [];
      return signature === undefined ? [] : [{ path, wall, signature, places: own }];
    });
  }
}

async function openIfThere(root: string): Promise<Wall | undefined> {
  try {
    return await openWall(root);
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

async function markdownIn(wall: Wall): Promise<readonly WallEntry[]> {
  const { entries, truncated } = await wall.walk(".", { maxEntries: FILES_MAX });
  if (truncated) throw tooMany();
  return entries.filter(
    ({ path, kind }) => kind === "file" && (path.endsWith(".md") || path.endsWith(`/${METADATA_FILE}`)),
  );
}

/** The folders right below the root that are workflows, or were meant to be. */
function workflowsIn(entries: readonly WallEntry[]): string[] {
  const telling = entries.filter(({ path }) => {
    const rest = path.slice(topOf(path).length + 1);
    return rest === METADATA_FILE || rest.startsWith("phases/");
  });
  return [...new Set(telling.map(({ path }) => topOf(path)))].filter(isWorkflowType);
}

function topOf(path: string): string {
  return path.slice(0, Math.max(path.indexOf("/"), 0));
}

/** A workflow's metadata; undefined for one that can't be had, which FileContent says. */
async function textOf(wall: Wall, entry: WallEntry | undefined): Promise<string | undefined> {
  if (entry === undefined) return undefined;
  try {
    return (await wall.read(entry.path, { maxBytes: FILE_MAX })).text;
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

function noRoots() {
  return new PhasegateError("FILE_NOT_FOUND", "none of the folders to be searched is there", {
    remedy: "Give at least one root that exists, with Markdown below it.",
    details: { file: "." },
  });
}

function tooMany() {
  return new PhasegateError(
    "INVALID_INPUT",
    `a root to be searched holds more than ${FILES_MAX} files, or too deep ones`,
    {
      remedy: "Name the folders that hold the texts, rather than one that holds everything.",
      details: { field: "roots", expected: `at most ${FILES_MAX} files below each` },
    },
  );
}
