/** The layers of a skill's customization: its own defaults, the team's file, and one person's. */
import { isPhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../workflow/json.js";
import { RESERVED } from "../../workflow/names.js";
import type { Location } from "../roots/paths.js";
import {
  type FileSource,
  filePart,
  folderOf,
  inFolder,
  joinParts,
  nameOf,
  type Parts,
  type PreloadRole,
  readWhole,
  warned,
} from "./parts.js";

const NOT_OPEN =
  "the project's customizations are not read: the host must give {project-root}/_bmad/custom as a root to read";

/** How deep tables may be nested. */
const DEPTH_MAX = 64;

/** A layer that was read. */
interface Layer {
  readonly path: string;
  readonly size: number;
  readonly text: string;
  readonly table: TomlTable;
}

/**
 * A skill's `customize.toml` with `{project-root}/_bmad/custom/<skill>.toml` and `<skill>.user.toml` over it, as one file.
 * Layers that aren't there are passed over; one that can't be read is a warning, and the others count.
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
  // What can't be customized has nobody's customizations to lose.
  const warnings = layers[0] === undefined ? found.filter((warning) => warning !== NOT_OPEN) : found;
  const [first, ...others] = read;
  if (first === undefined) return warned(...warnings);
  const { stringify } = await import("smol-toml");
  const table = others.reduce((base, { table: over }) => mergeCustomization(base, over), first.table);
  const head = `# ${name}: ${read.map(({ path }) => path).join(", then ")}, merged in this order\n`;
  // Alone it is given as it was written, with what its author says of it.
  const content = others.length === 0 ? first.text : head + stringify(table);
  const size = read.reduce((sum, layer) => sum + layer.size, 0);
  const part = filePart(first.path, { role: "customization" }, size, content);
  return joinParts([part, warned(...warnings)]);
}

/** One layer; undefined where there is none, a warning where it can't be read. */
async function readLayer(source: FileSource, place: () => Location): Promise<Layer | string | undefined> {
  try {
    const location = place();
    const { text, size } = await readWhole(source, location);
    const path = source.show(location);
    const table = await parsed(text);
    return typeof table === "string" ? `${path}:${table}` : { path, size, text, table };
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    if (isPhasegateError(error, "PATH_REFUSED")) {
      return NOT_OPEN;
    }
    if (isPhasegateError(error)) return error.message;
    throw error;
  }
}

/** Whether tables and arrays are nested no deeper than what merges them and writes them may go: `a.a.a.a = 1` nests, too. */
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
    return `${error.line}:${error.column}: the customization is not read, it is not TOML: ${reason}`;
  }
}

/** What a TOML file says: tables, arrays, and single values, dates among them. */
type TomlTable = { readonly [key: string]: unknown };

/** The fields that make the tables of an array entries of their own. */
const KEYS = ["code", "id"] as const;

/**
 * Lays one customization over another, as BMAD does: single values replace, tables are merged key by key, arrays of tables
 * that all have a `code` (or all an `id`) replace the entry of the same one and append the others, all other arrays append.
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

/** A file that a workflow names. */
interface Component {
  readonly role: PreloadRole;
  /** Variables replaced; path variables of the workspace stand as they are. */
  readonly path: string;
}

/** The files of a workflow.yaml, by what they are to it. */
interface Components {
  readonly files: readonly Component[];
  /** Variants that the instructions choose from: named, and read when they are chosen. */
  readonly onDemand: readonly string[];
}

/** What is no file of the workflow: what it makes, how it is packed, and what is loaded on its own account. */
const NOT_READ = [
  "config_source",
  "installed_path",
  "web_bundle",
  "default_output_file",
  "output_folder",
  "output_file",
];
const VARIANT = /^(?:instructions|template|validation|checklist)[_-]/;
const TEXT_FILE = /\.(?:md|csv|tsv|json|ya?ml|xml|txt|toml|html)$/i;
/** A workflow of its own: loaded where it is invoked, not where it is named. */
const WORKFLOW_FILE = /(?:^|\/)(?:workflow\.(?:ya?ml|md|xml)|SKILL\.md)$/;

/**
 * What a workflow.yaml (its strings resolved) asks for: `instructions`, `template` unless it is `false` or `true`,
 * `validation` or `checklist`, and as data every other path to a text below a root that workflows lie in. `leadsIn` says
 * whether a path that begins with another variable leads there: that of the project, as a rule.
 */
export function componentsOf(
  workflow: JsonObject,
  dataRoots: readonly string[],
  leadsIn: (path: string) => boolean = () => false,
): Components {
  const named: Component[] = [
    ...texts(workflow.instructions).map((path) => ({ role: "instructions", path }) as const),
    ...texts(workflow.template).map((path) => ({ role: "template", path }) as const),
    ...[...texts(workflow.validation), ...texts(workflow.checklist)].map(
      (path) => ({ role: "validation", path }) as const,
    ),
  ];
  const onDemand: string[] = [];
  const own = ["instructions", "template", "validation", "checklist", ...NOT_READ];
  for (const [key, value] of Object.entries(workflow)) {
    if (own.includes(key)) continue;
    for (const path of texts(value).filter((text) => isData(text, dataRoots, leadsIn))) {
      if (VARIANT.test(key)) onDemand.push(path);
      else named.push({ role: "data", path });
    }
  }
  const files = new Map(named.filter(({ path }) => isOneFile(path)).map((file) => [file.path, file]));
  return { files: [...files.values()], onDemand: [...new Set(onDemand)].filter((path) => !files.has(path)) };
}

/** All strings of a value, at any depth. */
function texts(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [value.trim()];
  if (Array.isArray(value)) return value.flatMap(texts);
  return isJsonObject(value) ? Object.values(value).flatMap(texts) : [];
}

function isData(text: string, dataRoots: readonly string[], leadsIn: (path: string) => boolean): boolean {
  if (!TEXT_FILE.test(text) || WORKFLOW_FILE.test(text) || !isOneFile(text)) return false;
  const inRoot = dataRoots.some((root) => text.startsWith(`{${root}}/`)) || text.startsWith("./");
  return inRoot || (text.startsWith("{") && leadsIn(text));
}

/** No pattern for several files, no instructions written out in place, nothing that the model fills in. */
function isOneFile(text: string): boolean {
  return !/[*\n]|\{\{/.test(text) && (!/\s/.test(text) || TEXT_FILE.test(text));
}
