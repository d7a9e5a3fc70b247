/** Finds Markdown files, and of which phases and tasks each is a text: by definition, usual names, front matter. */
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { SandboxEntry } from "../sandbox/list.js";
import type { FileSignature } from "../sandbox/read.js";
import { openIfThere, type Sandbox } from "../sandbox/sandbox.js";
import { readWorkflow } from "../workflow/files/read-workflow.js";
import { FILE_MAX, METADATA_FILE } from "../workflow/files/workflow-files.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { isWorkflowType, secretIn } from "../workflow/names.js";
import { createReport } from "../workflow/report.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import { readYaml } from "../workflow/yaml.js";

export interface SourceFile {
  /** Relative to its root, with `/`. */
  readonly path: string;
  readonly sandbox: Sandbox;
  readonly signature: FileSignature;
  /** The phases and tasks that it is a text of; at least one entry. */
  readonly places: readonly FilePlace[];
}

/** The part of a workflow that a file is a text of, according to its path and the workflow's metadata. */
export interface FilePlace {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
  /** Its name and purpose in the definition. */
  readonly about?: string;
}

/** The most files and folders below a root. */
const FILES_MAX = 50_000;
/** A second change within so many milliseconds may leave a file's signature the same. */
export const STABLE_MS = 2_000;

/** Of two with the same path, the one in the first root counts. Throws `FILE_NOT_FOUND` if no root exists. */
export async function findSourceFiles(roots: readonly string[]): Promise<readonly SourceFile[]> {
  const sandboxes = await Promise.all(roots.map((root) => openIfThere(root, { refuse: secretIn })));
  if (sandboxes.every((sandbox) => sandbox === undefined)) {
    throw new PhasegateError("FILE_NOT_FOUND", "none of the folders to search exists", {
      remedy: "Give at least one existing root with Markdown files below it.",
      details: { file: "." },
    });
  }
  const found = new Map<string, SourceFile>();
  const taken = new Set<string>();
  for (const sandbox of sandboxes) {
    if (sandbox === undefined) continue;
    const entries = (await markdownIn(sandbox)).filter(({ path }) => !taken.has(topOf(path)));
    const workflows = workflowsIn(entries);
    const placed = new Map<string, readonly FilePlace[]>();
    // Nested workflows come last. They only place files that the outer workflow does not.
    for (const workflow of workflows) {
      for (const [path, places] of await placesIn(sandbox, workflow, entries)) {
        if (!placed.get(path)?.some(({ phase }) => phase !== undefined)) placed.set(path, places);
      }
    }
    for (const { path, signature } of entries) {
      if (!path.endsWith(".md") || found.has(path) || signature === undefined) continue;
      found.set(path, { path, sandbox, signature, places: placed.get(path) ?? [{ tags: [] }] });
    }
    for (const workflow of workflows) if (isWorkflowType(workflow)) taken.add(workflow);
  }
  return [...found.values()];
}

/** Returns the places of the Markdown files below a workflow's folder, by path in the root. */
async function placesIn(sandbox: Sandbox, folder: string, entries: readonly SandboxEntry[]) {
  const start = folder === "" ? "" : `${folder}/`;
  const inside = entries.filter(({ path }) => path.startsWith(start));
  const metadata = inside.find(({ path }) => path === `${start}${METADATA_FILE}`);
  const paths = inside.filter(({ path }) => path.endsWith(".md")).map(({ path }) => path.slice(start.length));
  const places = await filePlaces(folder, await textOf(sandbox, metadata), paths);
  return [...places].map(([path, place]) => [`${start}${path}`, place] as const);
}

async function markdownIn(sandbox: Sandbox): Promise<readonly SandboxEntry[]> {
  const { entries, truncated } = await sandbox.walk(".", { maxEntries: FILES_MAX });
  if (truncated) {
    const message = `a root contains more than ${FILES_MAX} files, or folders that are nested too deeply`;
    throw new PhasegateError("INVALID_INPUT", message, {
      remedy: "Give the folders that contain the texts, not one that contains everything.",
      details: { field: "roots", expected: `at most ${FILES_MAX} files below each` },
    });
  }
  return entries.filter(
    ({ path, kind }) => kind === "file" && (path.endsWith(".md") || /(?:^|\/)metadata\.json$/.test(path)),
  );
}

/** Returns folders meant as workflows, the outer ones first, at any depth: no root may show texts of hidden phases. */
function workflowsIn(entries: readonly SandboxEntry[]): string[] {
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

/** Reads a workflow's metadata; undefined if it cannot be read, which FileContent reports. */
async function textOf(sandbox: Sandbox, entry: SandboxEntry | undefined): Promise<string | undefined> {
  if (entry === undefined) return undefined;
  try {
    return (await sandbox.read(entry.path, { maxBytes: FILE_MAX })).text;
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/** A name that is valid for a workflow. */
const ANY_NAME = "workflow";

/**
 * Returns the places of the Markdown files in a workflow's folder, by path in it. `folder` is its path, which chunks
 * give as their workflow; empty if the root itself is a workflow. The definition tells which file is the text of which
 * phases and tasks. Files that it does not name, and all files of a broken definition, are placed by the usual names:
 * `phases/N/phase.md`, `phases/N/task-M-*.md`, `core/*.md`. Never throws.
 */
async function filePlaces(
  folder: string,
  metadata: string | undefined,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly FilePlace[]>> {
  const own = metadataIn(metadata);
  const named = typeof own.workflow_type === "string" ? own.workflow_type : ".";
  const workflow = folder === "" ? named : folder;
  const structure =
    (await structureOf(folder.slice(folder.lastIndexOf("/") + 1), metadata, paths)) ??
    // A workflow in a folder with another name cannot be started, but its definition still tells which file is which text.
    (await structureOf(ANY_NAME, metadata && JSON.stringify({ ...own, workflow_type: ANY_NAME }), paths));
  const tags = structure?.tags ?? tagsOf(own.tags);
  return new Map(
    paths.map((path) => {
      const parts = structure === undefined ? [] : partsOf(structure, path);
      const places = parts.length > 0 ? parts : [structure === undefined ? byName(path) : unnamed(path)];
      return [path, places.map((place) => ({ workflow, ...place, tags: [...new Set([...place.tags, ...tags])] }))];
    }),
  );
}

/** Reads the definition without the texts: the metadata and the names of files tell which file belongs where. */
async function structureOf(
  workflow: string,
  metadata: string | undefined,
  paths: readonly string[],
): Promise<WorkflowStructure | undefined> {
  if (metadata === undefined) return undefined;
  const texts = paths.map((path) => ({ path, text: "" }));
  return (await readWorkflow(workflow, [{ path: METADATA_FILE, text: metadata }, ...texts])).definition?.structure;
}

function partsOf({ phases, dynamic }: WorkflowStructure, path: string): FilePlace[] {
  const parts = phases.flatMap(({ number: phase, file, name, purpose, tasks }) => [
    ...(file === path ? [{ phase, tags: ["phase"], about: about(`Phase ${phase}`, name, purpose) }] : []),
    ...tasks
      .filter((task) => task.file === path)
      .map((task) => ({
        phase,
        task: task.number,
        tags: ["task"],
        about: about(`Task ${task.number}`, task.name, task.purpose),
      })),
  ]);
  const templates = (["phase", "task"] as const)
    .filter((kind) => dynamic?.templates[kind] === path)
    .map((kind) => ({ tags: ["template", kind] }));
  return [...parts, ...templates];
}

function about(number: string, name: string, purpose = ""): string {
  return `${number}: ${name}. ${purpose}`;
}

/** Returns the place of a file by its name, without a definition. */
function byName(path: string): FilePlace {
  const [, number = "", name = ""] = /^phases\/(\d{1,9})\/([^/]+)$/.exec(path) ?? [];
  const task = /^task-(\d{1,9})(?:-.+)?\.md$/.exec(name)?.[1];
  if (task !== undefined) return { phase: Number(number), task: Number(task), tags: ["task"] };
  return name === "phase.md" ? { phase: Number(number), tags: ["phase"] } : unnamed(path);
}

function unnamed(path: string): FilePlace {
  const template = /^phases\/dynamic\/(phase|task)-template\.md$/.exec(path)?.[1];
  if (template !== undefined) return { tags: ["template", template] };
  // Other files in the folder of a phase belong to the phase: they must be hidden with it.
  const below = /^phases\/(\d{1,9})\//.exec(path)?.[1];
  return { phase: below === undefined ? undefined : Number(below), tags: path.startsWith("core/") ? ["core"] : [] };
}

function metadataIn(metadata: string | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(metadata ?? "null");
    return isJsonObject(value) ? value : {};
  } catch {
    // FileContent reports metadata that is not JSON.
    return {};
  }
}

/** The front matter of a text. */
export interface FrontMatter extends Omit<FilePlace, "about"> {
  /** The number of its lines; 0 if there is none. */
  readonly lines: number;
}

const FENCED = /^---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m;
const NONE: FrontMatter = { lines: 0, tags: [] };
const LONGEST = 16 * 1024;

/** `tags` may be a list, or a text with commas. If it is no YAML mapping, a text just begins with a thematic break. */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  if (!text.startsWith("---")) return NONE;
  const found = FENCED.exec(text.slice(0, LONGEST));
  if (found === null || found.index !== 0) return NONE;
  const report = createReport();
  const value = (await readYaml("front matter", found[1] ?? "", report))?.value;
  if (!isJsonObject(value)) return NONE;
  const { workflow, phase, task, tags } = value;
  return {
    lines: found[0].split("\n").length - (found[0].endsWith("\n") ? 1 : 0),
    workflow: typeof workflow === "string" ? workflow : undefined,
    phase: numberIn(phase),
    task: numberIn(task),
    tags: tagsOf(tags),
  };
}

function tagsOf(value: JsonValue | undefined): string[] {
  const list = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return list.flatMap((tag) => (typeof tag === "string" && tag.trim() !== "" ? [tag.trim()] : []));
}

function numberIn(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
