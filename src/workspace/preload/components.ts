/**
 * Which paths in a workflow.yaml are its files, and which of these it needs to begin. It finds or writes others later.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../workflow/json.js";
import { ROOT_NAMES } from "../roots/paths.js";
import type { PreloadRole } from "./loading.js";

/** A file that a workflow names. */
export interface Component {
  readonly role: PreloadRole;
  /** With the workflow's variables replaced; those of the workspace stay. */
  readonly path: string;
  /** True if the workflow cannot begin without it. */
  readonly needed: boolean;
}

interface Components {
  readonly files: readonly Component[];
  /** Variants that the instructions choose from. They are read when they are chosen. */
  readonly onDemand: readonly string[];
}

/** A workflow.yaml, and what its paths mean. */
interface NamedPaths {
  /** The values as they are written. */
  readonly written: JsonObject;
  /** The same values with the workflow's variables replaced. */
  readonly resolved: JsonObject;
  /** The roots that contain workflows. Only files below them are loaded as data. */
  readonly dataRoots: readonly string[];
  /** Returns the root that a path leads into; undefined for a path that leads nowhere. */
  rootOf(path: string): string | undefined;
}

/** Keys of outputs and packaging, and of the configuration, which is loaded separately. */
const NOT_READ = [
  "config_source",
  "installed_path",
  "web_bundle",
  "default_output_file",
  "output_folder",
  "output_file",
];
/** Keys of paths that always are files of the workflow. */
const PARTS: readonly (readonly [key: string, role: PreloadRole])[] = [
  ["instructions", "instructions"],
  ["template", "template"],
  ["validation", "validation"],
  ["checklist", "validation"],
];
const VARIANT = /^(?:instructions|template|validation|checklist)[_-]/;
const TEXT_FILE = /\.(?:md|csv|tsv|json|ya?ml|xml|txt|toml|html)$/i;
/** A workflow of its own. It is loaded if it is invoked, not if it is only named. */
const WORKFLOW_FILE = /(?:^|\/)(?:workflow\.(?:ya?ml|md|xml)|SKILL\.md)$/;
/** Keys of what the workflow writes, or does without. */
const LATER = /output|artifact|result|recommended|optional/i;
/** Keys of what it cannot do without, wherever that is. */
const REQUIRED = /required/i;
/** Several paths, of which the instructions take the first that exists. */
const ALTERNATIVES = /\s(?:\|\||or)\s/;

/** Returns the files under the keys of {@link PARTS}, and as data all other text files below roots of workflows. */
export function componentsOf(paths: NamedPaths): Components {
  const { written, resolved } = paths;
  const files = new Map<string, Component>();
  const add = (file: Component) => {
    if (!isOneFile(file.path)) return;
    const before = files.get(file.path);
    files.set(file.path, before === undefined ? file : { ...before, needed: before.needed || file.needed });
  };
  for (const [key, role] of PARTS) {
    for (const { path } of texts(written[key], resolved[key])) add({ role, path, needed: true });
  }
  const onDemand: string[] = [];
  for (const [key, value] of Object.entries(written)) {
    if (NOT_READ.includes(key) || PARTS.some(([part]) => part === key)) continue;
    for (const { path, text, keys } of texts(value, resolved[key], [key])) {
      if (!isData(path, paths)) continue;
      if (VARIANT.test(key)) onDemand.push(path);
      else add({ role: "data", path, needed: isNeeded({ path, text, keys }, paths) });
    }
  }
  return { files: [...files.values()], onDemand: [...new Set(onDemand)].filter((path) => !files.has(path)) };
}

interface NamedText {
  /** The text as it is written. */
  readonly text: string;
  /** The same with its variables replaced. */
  readonly path: string;
  readonly keys: readonly string[];
}

/** Returns all texts of a value, at any depth. Both values have the same structure. */
function texts(
  written: JsonValue | undefined,
  resolved: JsonValue | undefined,
  keys: readonly string[] = [],
): NamedText[] {
  if (typeof written === "string" && typeof resolved === "string") {
    return [{ text: written.trim(), path: resolved.trim(), keys }];
  }
  if (Array.isArray(written) && Array.isArray(resolved)) {
    return written.flatMap((item, index) => texts(item, resolved[index], keys));
  }
  if (!isJsonObject(written) || !isJsonObject(resolved)) return [];
  return Object.entries(written).flatMap(([key, item]) => texts(item, resolved[key], [...keys, key]));
}

/**
 * Returns true for data that the workflow needs to begin. Documents of the project are not: their keys call them
 * outputs, they begin with an output folder or a value of the configuration, or they are in the project outside of
 * bundle and core.
 */
function isNeeded({ path, text, keys }: NamedText, { written, rootOf }: NamedPaths): boolean {
  if (keys.some((key) => REQUIRED.test(key))) return true;
  if (keys.some((key) => LATER.test(key))) return false;
  const seen = new Set<string>();
  for (let begins = firstName(text); begins !== undefined && !seen.has(begins); ) {
    if (begins === "config_source" || LATER.test(begins)) return false;
    if (begins === ROOT_NAMES.project)
      return [ROOT_NAMES.bundle, ROOT_NAMES.core].some((root) => root === rootOf(path));
    seen.add(begins);
    const value = Object.hasOwn(written, begins) ? written[begins] : undefined;
    begins = typeof value === "string" ? firstName(value.trim()) : undefined;
  }
  return true;
}

/** Returns the name of the variable with which a text begins. */
function firstName(text: string): string | undefined {
  return /^\{([^{}]+)\}/.exec(text)?.[1];
}

function isData(path: string, { dataRoots, rootOf }: NamedPaths): boolean {
  if (!TEXT_FILE.test(path) || WORKFLOW_FILE.test(path) || !isOneFile(path)) return false;
  const inRoot = dataRoots.some((root) => path.startsWith(`{${root}}/`)) || path.startsWith("./");
  return inRoot || (path.startsWith("{") && dataRoots.some((root) => root === rootOf(path)));
}

/** Returns false for patterns, alternatives, instructions in place, and paths with names that the model fills in. */
function isOneFile(path: string): boolean {
  if (path === "" || /[*\n]|\{\{/.test(path) || ALTERNATIVES.test(path)) return false;
  return !/\s/.test(path) || TEXT_FILE.test(path);
}
