/**
 * Loads a workflow of either form with all workflows that it invokes, within limits of files, bytes, invocations and
 * depth: files name each other without limit. The customization of a skill is merged: its own defaults, the team's file over
 * them, and the user's file over both. A layer that cannot be read is a warning.
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import { RESERVED } from "../../workflow/names.js";
import type { Location } from "../roots/paths.js";
import { findWorkflow } from "./find.js";
import { loadWorkflow } from "./load-workflow.js";
import {
  type FileSource,
  type FoundWorkflow,
  filePart,
  folderOf,
  inFolder,
  joinParts,
  type LoadContext,
  loadElicitation,
  loadEngine,
  missingPart,
  nameOf,
  type Parts,
  readWhole,
  warned,
} from "./parts.js";
import { type OpenedSkill, openSkill, type SkillPlaces } from "./skills.js";

/** The most files and bytes that one call reads. */
const FILES_MAX = 500;
const BYTES_MAX = 33_554_432;
/** The most invocations of workflows in one call. Each invocation of the same workflow counts. */
const INVOKED_MAX = 100;

/** A workflow's parts, and the skill if it has steps. */
export interface LoadedWorkflow {
  readonly shape: FoundWorkflow["shape"];
  readonly parts: Parts;
  readonly skill?: OpenedSkill;
}

/** Loads all parts of a workflow except the steps of a skill, which are given one by one. */
export function loadParts(places: SkillPlaces, found: FoundWorkflow): Promise<LoadedWorkflow> {
  const bounded = { ...places, source: boundedSource(places.source) };
  return loadFound(contextOf(bounded), bounded, found, []);
}

/** Limits the files and bytes that are read. Each file counts once. */
function boundedSource(source: FileSource): FileSource {
  const counted = new Set<string>();
  let bytes = 0;
  return {
    ...source,
    async read(location, options) {
      const path = source.show(location);
      const isNew = !counted.has(path);
      counted.add(path);
      if (isNew && counted.size > FILES_MAX) throw tooMuch(path, bytes, `${FILES_MAX} files`);
      if (isNew && bytes > BYTES_MAX) throw tooMuch(path, bytes, `${BYTES_MAX} bytes`);
      const read = await source.read(location, options);
      if (isNew) bytes += read.size;
      return read;
    },
  };
}

function tooMuch(file: string, bytes: number, limit: string): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `not loaded: the workflow has more than ${limit}`, {
    remedy: "Tell the user that the workflow names too many files to load at once. Read what you need with read_file.",
    details: { file, bytes, limit: BYTES_MAX },
  });
}

async function loadFound(
  context: LoadContext,
  places: SkillPlaces,
  found: FoundWorkflow,
  trail: readonly string[],
): Promise<LoadedWorkflow> {
  const { shape, file } = found;
  const path = places.source.show(file);
  const way = [...trail, path];
  const refusal = trail.includes(path)
    ? `workflows refer to each other in a cycle: ${way.join(" → ")}`
    : trail.length > places.maxDepth
      ? `not loaded: it is ${trail.length} workflows deep: ${way.join(" → ")}`
      : undefined;
  if (refusal !== undefined) return { shape, parts: warned(refusal) };
  if (shape === "classic") return { shape, parts: await loadWorkflow(context, file, way) };
  return loadSkill(context, places, file, way);
}

async function loadSkill(
  context: LoadContext,
  places: SkillPlaces,
  file: Location,
  way: readonly string[],
): Promise<LoadedWorkflow> {
  const opened = await openSkill(places, file);
  const customized = await Promise.all(opened.map((skill) => loadCustomization(places.source, skill.file)));
  const parts = opened.flatMap((skill, index) => [skill.parts, customized[index] ?? joinParts([])]);
  const last = opened.at(-1) ?? opened[0];
  if (last.leadsTo?.shape === "classic") {
    const led = await loadFound(context, places, last.leadsTo, way);
    return { shape: "classic", parts: joinParts([...parts, led.parts]) };
  }
  return { shape: "skill", parts: joinParts(parts), ...(last.index.length === 0 ? {} : { skill: last }) };
}

function contextOf(places: SkillPlaces): LoadContext {
  const { source, roots } = places;
  let invoked = 0;
  const context: LoadContext = {
    source,
    definitionRoots: roots,
    engine: once(() => loadEngine(source)),
    elicitation: once(() => loadElicitation(source)),
    async invoke(path, from, trail) {
      invoked += 1;
      if (invoked > INVOKED_MAX)
        return warned(`more than ${INVOKED_MAX} workflows are invoked: the others are not loaded`);
      let file: Location | undefined;
      try {
        const found = await findWorkflow(source, path, roots, from);
        file = found.file;
        const { parts, skill } = await loadFound(context, places, found, trail);
        if (skill === undefined) return parts;
        return joinParts([parts, warned(`${skill.name} has steps: call preload_workflow for it when you get to it`)]);
      } catch (error) {
        return missingPart(source, file, path, { role: "workflow" }, error);
      }
    },
  };
  return context;
}

/** Wraps a function so that it runs at most once. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}

const NOT_OPEN =
  "the customizations of the project are not read: the host must add {project-root}/_bmad/custom to readRoots";

/** The deepest nesting of tables. */
const DEPTH_MAX = 64;

/** A layer of a customization. */
interface Layer {
  readonly path: string;
  readonly size: number;
  readonly text: string;
  readonly table: TomlTable;
}

/**
 * Merges a skill's `customize.toml` with `{project-root}/_bmad/custom/<skill>.toml` and `<skill>.user.toml` into one
 * file. Missing layers are skipped. A layer that cannot be read is a warning, and the others are used.
 */
export async function loadCustomization(source: FileSource, skill: Location): Promise<Parts> {
  const folder = folderOf(skill);
  const name = nameOf(folder);
  const defaults = inFolder(folder, "customize.toml");
  const custom = `{project-root}/_bmad/custom/${name}`;
  const project = source.known.includes("project-root");
  const layers = await Promise.all([
    readLayer(source, () => defaults),
    ...(project ? [`${custom}.toml`, `${custom}.user.toml`] : []).map((path) =>
      readLayer(source, () => source.resolve(path)),
    ),
  ]);
  const read = layers.filter((layer) => layer !== undefined && typeof layer !== "string");
  const found = [...new Set(layers.filter((layer) => typeof layer === "string"))];
  // A skill without defaults cannot be customized, so it needs no warning about unreadable customizations.
  const warnings = layers[0] === undefined ? found.filter((warning) => warning !== NOT_OPEN) : found;
  const [first, ...others] = read;
  if (first === undefined) return warned(...warnings);
  const { stringify } = await import("smol-toml");
  const table = others.reduce((base, { table: over }) => mergeCustomization(base, over), first.table);
  const head = `# ${name}: ${read.map(({ path }) => path).join(", then ")}, merged in this order\n`;
  // A single layer keeps its comments.
  const content = others.length === 0 ? first.text : head + stringify(table);
  const size = read.reduce((sum, layer) => sum + layer.size, 0);
  const part = filePart(first.path, { role: "customization" }, size, content);
  return joinParts([part, warned(...warnings)]);
}

/** Reads a layer. Returns undefined if there is none, and a warning if it cannot be read. */
async function readLayer(source: FileSource, place: () => Location): Promise<Layer | string | undefined> {
  try {
    const location = place();
    const { text, size } = await readWhole(source, location);
    const path = source.show(location);
    const table = await parsed(text);
    return typeof table === "string" ? `${path}:${table}` : { path, size, text, table };
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    if (isPhasegateError(error, "PATH_REFUSED")) return NOT_OPEN;
    if (isPhasegateError(error)) return error.message;
    throw error;
  }
}

/**
 * Returns true if tables and arrays are nested at most `DEPTH_MAX` deep, since merging recurses: `a.a.a.a = 1` nests,
 * too.
 */
function isFlatEnough(table: TomlTable): boolean {
  let level: unknown[] = [table];
  for (let depth = 0; depth <= DEPTH_MAX; depth += 1) {
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
    if (level.length === 0) return true;
  }
  return false;
}

async function parsed(text: string): Promise<TomlTable | string> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    const table = parse(text);
    if (isFlatEnough(table)) return table;
    return `1:1: the customization is not read: its tables are nested more than ${DEPTH_MAX} deep`;
  } catch (error) {
    if (!(error instanceof TomlError)) return `1:1: the customization is not read: ${unreadable(error).message}`;
    const [reason = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    return `${error.line}:${error.column}: the customization is not read: it is not valid TOML: ${reason}`;
  }
}

/** A TOML table: tables, arrays and single values, including dates. */
type TomlTable = { readonly [key: string]: unknown };

/** The fields that identify the tables of an array. */
const KEYS = ["code", "id"] as const;

/**
 * Merges one customization over another, as BMAD does: single values replace, tables are merged by key, and arrays
 * append. In arrays of tables that all have a `code` (or all an `id`), an entry replaces the one with the same `code`.
 */
export function mergeCustomization(base: TomlTable, over: TomlTable): TomlTable {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    merged.set(key, mergeValue(merged.get(key), value));
  }
  return Object.fromEntries([...merged].filter(([key]) => !RESERVED.has(key)));
}

function mergeValue(base: unknown, over: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(over)) return mergeArrays(base, over);
  return isTable(base) && isTable(over) ? mergeCustomization(base, over) : over;
}

function mergeArrays(base: readonly unknown[], over: readonly unknown[]): readonly unknown[] {
  const all = [...base, ...over];
  const key = KEYS.find((name) => all.every((item) => isTable(item) && item[name] !== undefined));
  if (key === undefined) return all;
  // A map keeps the place of an entry that is replaced.
  return [...new Map(all.filter(isTable).map((item) => [item[key], item])).values()];
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
