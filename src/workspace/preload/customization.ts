/** Merges the customization of a skill: its own defaults, the team's file over them, and the user's file over both. */
import { isPhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import { RESERVED } from "../../workflow/names.js";
import { type Location, showLocation } from "../roots/paths.js";
import { type FileSource, folderOf, inFolder, nameOf, type PreloadedFile } from "./loading.js";

const NOT_OPEN =
  "the customizations of the project are not read: the host must add {project-root}/_bmad/custom to readRoots";

const DEPTH_MAX = 64;

/** Merges a skill's `customize.toml` with the team's and the user's. A layer that can't be read is a warning. */
export async function loadCustomization(
  source: FileSource,
  skill: Location,
): Promise<{ readonly file?: PreloadedFile; readonly warnings: readonly string[] }> {
  const folder = folderOf(skill);
  const name = nameOf(folder);
  const custom = `{project-root}/_bmad/custom/${name}`;
  const project = source.known.includes("project-root") ? [`${custom}.toml`, `${custom}.user.toml`] : [];
  const defaults = await readLayer(source, () => inFolder(folder, "customize.toml"));
  const layers = [
    defaults,
    ...(await Promise.all(project.map((path) => readLayer(source, () => source.resolve(path))))),
  ];
  const read = layers.filter((layer) => layer !== undefined && typeof layer !== "string");
  const found = layers.filter((layer) => typeof layer === "string");
  // A skill without defaults cannot be customized, so it needs no warning about unreadable customizations.
  const warnings = defaults === undefined ? found.filter((warning) => warning !== NOT_OPEN) : found;
  const [first, ...others] = read;
  if (first === undefined) return { warnings };
  const { stringify } = await import("smol-toml");
  const table = others.reduce((base, { table: over }) => mergeCustomization(base, over), first.table);
  const head = `# ${name}: ${read.map(({ path }) => path).join(", then ")}, merged in this order\n`;
  // A single layer keeps its comments.
  const content = others.length === 0 ? first.text : head + stringify(table);
  const size = read.reduce((sum, layer) => sum + layer.size, 0);
  return { file: { path: first.path, role: "customization", size, content }, warnings };
}

/** Reads a layer of a customization. Returns undefined if there is none, and a warning if it cannot be read. */
async function readLayer(source: FileSource, place: () => Location) {
  try {
    const location = place();
    const { text, size } = await source.read(location);
    const path = showLocation(location);
    const table = await parsed(text);
    return typeof table === "string" ? `${path}:${table}` : { path, size, text, table };
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    if (isPhasegateError(error, "PATH_REFUSED")) return NOT_OPEN;
    if (isPhasegateError(error)) return error.message;
    throw error;
  }
}

/** Merging recurses, and `a.a.a.a = 1` nests, too. */
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

const KEYS = ["code", "id"] as const;

/** Merges as BMAD does: values replace, tables merge, arrays append, entries with a `code` or `id` replace the same. */
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
