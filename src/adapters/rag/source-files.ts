import { METADATA_FILE } from "../../definition/folder/read-workflow.js";
import { FILE_MAX } from "../../definition/folder/workflow-files.js";
import { secretIn } from "../../definition/kept-back.js";
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
    const walls = await Promise.all(this.roots.map(openIfThere));
    if (walls.every((wall) => wall === undefined)) throw noRoots();
    const found = new Map<string, SourceFile>();
    const taken = new Set<string>();
    for (const [index, wall] of walls.entries()) {
      if (wall === undefined) continue;
      const entries = (await markdownIn(wall)).filter(({ path }) => !taken.has(topOf(path)));
      const workflows = workflowsIn(entries);
      const placed = new Map<string, readonly FilePlace[]>();
      // Those that lie in others come last, and say of a file what the outer one doesn't.
      for (const workflow of workflows) {
        for (const [path, places] of await this.inWorkflow(wall, index, workflow, entries)) {
          if (!placed.get(path)?.some(({ phase }) => phase !== undefined)) placed.set(path, places);
        }
      }
      for (const { path, signature } of entries) {
        if (!path.endsWith(".md") || found.has(path) || signature === undefined) continue;
        found.set(path, { path, wall, signature, places: placed.get(path) ?? [{ tags: [] }] });
      }
      for (const workflow of workflows) if (isWorkflowType(workflow)) taken.add(workflow);
    }
    return [...found.values()];
  }

  /** What the Markdown files below a workflow's folder are texts of, by path in the root. */
  private async inWorkflow(
    wall: Wall,
    root: number,
    folder: string,
    entries: readonly WallEntry[],
  ): Promise<ReadonlyMap<string, readonly FilePlace[]>> {
    const start = folder === "" ? "" : `${folder}/`;
    const inside = entries.filter(({ path }) => path.startsWith(start));
    const metadata = inside.find(({ path }) => path === `${start}${METADATA_FILE}`);
    const paths = inside.filter(({ path }) => path.endsWith(".md")).map(({ path }) => path.slice(start.length));
    const key = [metadata?.signature?.key, ...paths].join("\n");
    const known = this.places.get(`${root}:${folder}`);
    if (known?.key === key) return known.value;
    const places = await filePlaces(folder, await textOf(wall, metadata), paths);
    const value = new Map([...places].map(([path, place]) => [`${start}${path}`, place]));
    // What was changed just now may change again within what its times tell apart.
    if ((metadata?.signature?.changedAt ?? 0) < Date.now() - SETTLED) {
      this.places.set(`${root}:${folder}`, { key, value });
    } else this.places.delete(`${root}:${folder}`);
    return value;
  }
}

async function openIfThere(root: string): Promise<Wall | undefined> {
  try {
    return await openWall(root, { refuse: secretIn });
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

async function markdownIn(wall: Wall): Promise<readonly WallEntry[]> {
  const { entries, truncated } = await wall.walk(".", { maxEntries: FILES_MAX });
  if (truncated) throw tooMany();
  return entries.filter(
    ({ path, kind }) => kind === "file" && (path.endsWith(".md") || /(?:^|\/)metadata\.json$/.test(path)),
  );
}

/**
 * The folders that are workflows, or were meant to be, the outer ones first; the empty text for the root itself. At any
 * depth: what lies in a workflow must not be found where phases are hidden, whatever folder was named as a root.
 */
function workflowsIn(entries: readonly WallEntry[]): string[] {
  const folders = entries.flatMap(({ path }) => {
    const names = path.split("/");
    const found = names.flatMap((name, index) => (name === "phases" && index < names.length - 1 ? [index] : []));
    const own = names.at(-1) === METADATA_FILE ? [names.length - 1] : [];
    return [...found, ...own].map((index) => names.slice(0, index).join("/"));
  });
  return [...new Set(folders)].sort((one, other) => one.length - other.length);
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
