import { isPhasegateError, PhasegateError } from "../errors.js";
import type { SandboxEntry } from "../sandbox/list.js";
import type { FileSignature } from "../sandbox/read.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { openSandbox } from "../sandbox/sandbox.js";
import { METADATA_FILE, readWorkflow } from "../workflow/files/read-workflow.js";
import { FILE_MAX } from "../workflow/files/workflow-files.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { secretIn } from "../workflow/kept-back.js";
import { isWorkflowType } from "../workflow/names.js";
import { createReport } from "../workflow/report.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import { readYaml } from "../workflow/yaml.js";
/** A Markdown file that can be searched, found without reading it. */
export interface SourceFile {
  /** Relative to its root, with `/`. */
  readonly path: string;
  readonly sandbox: Sandbox;
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

  /** All files as they are now. Throws `FILE_NOT_FOUND` if none of the roots is there, else as sandboxes do. */
  async look(): Promise<readonly SourceFile[]> {
    const sandboxes = await Promise.all(this.roots.map(openIfThere));
    if (sandboxes.every((sandbox) => sandbox === undefined)) throw noRoots();
    const found = new Map<string, SourceFile>();
    const taken = new Set<string>();
    for (const [index, sandbox] of sandboxes.entries()) {
      if (sandbox === undefined) continue;
      const entries = (await markdownIn(sandbox)).filter(({ path }) => !taken.has(topOf(path)));
      const workflows = workflowsIn(entries);
      const placed = new Map<string, readonly FilePlace[]>();
      // Those that lie in others come last, and say of a file what the outer one doesn't.
      for (const workflow of workflows) {
        for (const [path, places] of await this.inWorkflow(sandbox, index, workflow, entries)) {
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

  /** What the Markdown files below a workflow's folder are texts of, by path in the root. */
  private async inWorkflow(
    sandbox: Sandbox,
    root: number,
    folder: string,
    entries: readonly SandboxEntry[],
  ): Promise<ReadonlyMap<string, readonly FilePlace[]>> {
    const start = folder === "" ? "" : `${folder}/`;
    const inside = entries.filter(({ path }) => path.startsWith(start));
    const metadata = inside.find(({ path }) => path === `${start}${METADATA_FILE}`);
    const paths = inside.filter(({ path }) => path.endsWith(".md")).map(({ path }) => path.slice(start.length));
    const key = [metadata?.signature?.key, ...paths].join("\n");
    const known = this.places.get(`${root}:${folder}`);
    if (known?.key === key) return known.value;
    const places = await filePlaces(folder, await textOf(sandbox, metadata), paths);
    const value = new Map([...places].map(([path, place]) => [`${start}${path}`, place]));
    // What was changed just now may change again within what its times tell apart.
    if ((metadata?.signature?.changedAt ?? 0) < Date.now() - SETTLED) {
      this.places.set(`${root}:${folder}`, { key, value });
    } else this.places.delete(`${root}:${folder}`);
    return value;
  }
}

async function openIfThere(root: string): Promise<Sandbox | undefined> {
  try {
    return await openSandbox(root, { refuse: secretIn });
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

async function markdownIn(sandbox: Sandbox): Promise<readonly SandboxEntry[]> {
  const { entries, truncated } = await sandbox.walk(".", { maxEntries: FILES_MAX });
  if (truncated) throw tooMany();
  return entries.filter(
    ({ path, kind }) => kind === "file" && (path.endsWith(".md") || /(?:^|\/)metadata\.json$/.test(path)),
  );
}

/**
 * The folders that are workflows, or were meant to be, the outer ones first; the empty text for the root itself. At any
 * depth: what lies in a workflow must not be found where phases are hidden, whatever folder was named as a root.
 */
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

/** A workflow's metadata; undefined for one that can't be had, which FileContent says. */
async function textOf(sandbox: Sandbox, entry: SandboxEntry | undefined): Promise<string | undefined> {
  if (entry === undefined) return undefined;
  try {
    return (await sandbox.read(entry.path, { maxBytes: FILE_MAX })).text;
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

const ANY_NAME = "workflow";

/** What a file is a text of, as far as its place and its workflow's metadata say. */
export interface FilePlace {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
  /** What the definition calls it, and what for. */
  readonly about?: string;
}

/**
 * The places of the Markdown files in a workflow's folder, by path in it; `folder` is its own path, empty for a root that is
 * itself a workflow, and what chunks call their workflow. The definition says which file
 * is the text of which phase and task (one may be that of several); what it doesn't name, and all of a
 * broken definition's files, goes by the usual names: `phases/N/phase.md`, `phases/N/task-M-*.md`,
 * `core/*.md`. Never throws.
 */
async function filePlaces(
  folder: string,
  metadata: string | undefined,
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly FilePlace[]>> {
  const { workflow_type: named } = metadataIn(metadata);
  const workflow = folder === "" ? (typeof named === "string" ? named : ".") : folder;
  const structure =
    (await structureOf(folder.slice(folder.lastIndexOf("/") + 1), metadata, paths)) ??
    (await structureOf(ANY_NAME, metadata && withName(metadata, ANY_NAME), paths));
  const tags = structure?.tags ?? ownTags(metadata);
  return new Map(
    paths.map((path) => {
      const parts = structure === undefined ? [] : partsOf(structure, path);
      const places = parts.length > 0 ? parts : [structure === undefined ? byName(path) : unnamed(path)];
      return [path, places.map((place) => ({ workflow, ...place, tags: [...new Set([...place.tags, ...tags])] }))];
    }),
  );
}

/** The definition without looking into the texts: which file belongs where stands in the metadata and in their names. */
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

/** A file by its name, where there is no definition. */
function byName(path: string): FilePlace {
  const [, number = "", name = ""] = /^phases\/(\d{1,9})\/([^/]+)$/.exec(path) ?? [];
  const task = /^task-(\d{1,9})(?:-.+)?\.md$/.exec(name)?.[1];
  if (task !== undefined) return { phase: Number(number), task: Number(task), tags: ["task"] };
  return name === "phase.md" ? { phase: Number(number), tags: ["phase"] } : unnamed(path);
}

/** A file that is the text of no phase and no task. */
function unnamed(path: string): FilePlace {
  const template = /^phases\/dynamic\/(phase|task)-template\.md$/.exec(path)?.[1];
  if (template !== undefined) return { tags: ["template", template] };
  // Whatever else lies with a phase is the phase's: it must not be found where phases are hidden.
  const below = /^phases\/(\d{1,9})\//.exec(path)?.[1];
  return { ...(below === undefined ? {} : { phase: Number(below) }), tags: path.startsWith("core/") ? ["core"] : [] };
}

/** The tags of a definition that is broken elsewhere. */
function ownTags(metadata: string | undefined): string[] {
  return tagsOf(metadataIn(metadata).tags);
}

/**
 * A definition under a name that a workflow may have: in a folder of another name it can't be started, but which of its
 * files are texts of phases stands in it all the same.
 */
function withName(metadata: string, name: string): string {
  return JSON.stringify({ ...metadataIn(metadata), workflow_type: name });
}

function metadataIn(metadata: string | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(metadata ?? "null");
    return isJsonObject(value) ? value : {};
  } catch {
    // That it isn't JSON is said where the definition is read.
    return {};
  }
}

/** What a text says of itself before it begins. */
export interface FrontMatter {
  /** How many lines of the text it takes; 0 if there is none. */
  readonly lines: number;
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

const FENCED = /^---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m;
const NONE: FrontMatter = { lines: 0, tags: [] };
/** More than anybody writes above a text. */
const LONGEST = 16 * 1024;

/**
 * Reads the YAML between two `---` at the very beginning of a text: `workflow`, `phase`, `task`, and `tags`
 * as a list or with commas between. Anything that isn't YAML with keys is part of the text: a text may
 * begin with a rule. Never throws.
 */
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
    ...(typeof workflow === "string" ? { workflow } : {}),
    ...(isNumber(phase) ? { phase } : {}),
    ...(isNumber(task) ? { task } : {}),
    tags: tagsOf(tags),
  };
}

/** Tags as people write them: a list, or one text with commas. */
function tagsOf(value: JsonValue | undefined): string[] {
  const list = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return list.flatMap((tag) => (typeof tag === "string" && tag.trim() !== "" ? [tag.trim()] : []));
}

function isNumber(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
