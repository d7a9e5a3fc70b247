import { isJsonObject, type JsonObject, type JsonValue } from "../../workflow/json.js";
import type { PreloadRole } from "./parts.js";

/** A file that a workflow names. */
export interface Component {
  readonly role: PreloadRole;
  /** Variables replaced; path variables of the workspace stand as they are. */
  readonly path: string;
}

/** The files of a workflow.yaml, by what they are to it. */
export interface Components {
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
