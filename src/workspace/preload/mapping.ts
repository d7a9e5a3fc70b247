/** Reads YAML files of workflows, replaces their strings without losing comments, and resolves variables. */
import { formatDiagnostic, type ParsedSource } from "../../workflow/diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../workflow/json.js";
import { orNearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import { readYaml } from "../../workflow/yaml.js";

/** A YAML file as keys and values, or its errors with their lines. */
export type Mapping =
  | { readonly value: JsonObject; readonly place: ParsedSource["place"] }
  | { readonly value?: undefined; readonly diagnostics: readonly string[] };

/** Reads YAML that must be one mapping of plain data, without tags and merge keys, with bounded aliases. */
export async function readMapping(file: string, text: string): Promise<Mapping> {
  const report = createReport();
  const source = await readYaml(file, text, report);
  if (source !== undefined && isJsonObject(source.value)) return { value: source.value, place: source.place };
  if (source !== undefined) {
    const kind = Array.isArray(source.value) ? "a list" : source.value === null ? "empty" : "a single value";
    report.error("VALUE_WRONG", source.place([]), `the file is ${kind}`, "Write keys and values: 'name: …'.");
  }
  return { diagnostics: report.sorted().map(formatDiagnostic) };
}

/** Replaces the strings of a YAML text. Comments and order stay. Returns the same text if no string changes. */
export async function replaceTexts(text: string, change: (value: string) => string): Promise<string> {
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  let isChanged = false;
  yaml.visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      const value = change(node.value);
      if (value === node.value) return;
      node.value = value;
      isChanged = true;
    },
  });
  return isChanged ? document.toString({ lineWidth: 0 }) : text;
}

/** The variables of a workflow, and the problems found while they were replaced. */
export interface Variables {
  /** Replaces `{name}` and `{config_source}:key` in a text. Unknown names stay. */
  resolve(text: string): string;
  /** Replaces them in every string of a value, at any depth. */
  resolveAll(value: JsonValue): JsonValue;
  /** The references that cannot be replaced: cycles, missing keys of the configuration, limits. Each once. */
  readonly faults: ReadonlySet<string>;
}

/** The longest resolved text, in characters: values may name each other many times. */
const RESOLVED_MAX = 65_536;
/** The most characters inserted into all texts of one workflow. */
const INSERTED_MAX = 4_194_304;
/** The longest chain of values that name each other. */
const CHAIN_MAX = 100;
const FAULTS_MAX = 100;
/** The value of a variable that the model fills in itself, such as today's date. */
const BY_THE_MODEL = "system-generated";
/** A key of the configuration in the first group, or a name in the second. Double braces belong to templates. */
const REFERENCE = /(?<!\{)\{(?:config_source\}:([\w-]+(?:\.[\w-]+)*)|([A-Za-z_][\w-]*)\}(?!\}))/g;

type Scope = ReadonlyMap<string, string>;

/** A workflow's own values count before its configuration's. Names of roots stay: paths are written with them. */
export function createVariables(own: JsonObject, config: JsonObject | undefined, roots: readonly string[]): Variables {
  const ownScope = scopeOf(own, roots);
  const configScope = scopeOf(flat(config ?? {}), roots);
  const faults = new Set<string>();
  const known = new Map<string, string>();
  let inserted = 0;

  function fault(text: () => string): void {
    if (faults.size < FAULTS_MAX) faults.add(text());
  }

  /** Returns a text with its references replaced, within the limits of length. `trail` are the values that led to it. */
  function replaced(text: string, scope: Scope, trail: readonly string[]): string {
    let budget = RESOLVED_MAX;
    return text.replace(REFERENCE, (whole: string, key: string | undefined, name: string | undefined) => {
      const value = meant(key, name, scope, trail);
      if (value === undefined) return whole;
      budget -= value.length;
      inserted += value.length;
      if (budget >= 0 && inserted <= INSERTED_MAX) return value;
      const [what, limit] = budget < 0 ? ["the text", RESOLVED_MAX] : ["all texts together", INSERTED_MAX];
      fault(() => `${shown(whole)} is not replaced: ${what} would be longer than ${limit} characters`);
      return whole;
    });
  }

  /** Returns the value of a reference. The configuration does not see the workflow's own values. */
  function meant(key: string | undefined, name = "", scope: Scope, trail: readonly string[]): string | undefined {
    const places = [
      {
        id: `{${name}}`,
        from: ownScope,
        text: key === undefined && scope === ownScope ? ownScope.get(name) : undefined,
      },
      { id: `{config_source}:${key ?? name}`, from: configScope, text: configScope.get(key ?? name) },
    ];
    for (const { id, from, text } of places) {
      if (text === undefined) continue;
      const again = trail.indexOf(id);
      if (again !== -1) {
        fault(() => `values refer to each other in a cycle: ${[...trail.slice(again), id].join(" → ")}`);
      } else if (!known.has(id) && trail.length >= CHAIN_MAX) {
        fault(() => `${id} is not replaced: a chain of references is longer than ${CHAIN_MAX}`);
        return undefined;
      } else {
        const value = known.get(id) ?? replaced(text, from, [...trail, id]);
        known.set(id, value);
        return value;
      }
    }
    if (key !== undefined && config !== undefined && !configScope.has(key)) {
      fault(() => `the configuration has no ${shown(key)}${orNearest(key, configScope.keys())}`);
    }
    return undefined;
  }

  const resolve = (text: string) => replaced(text, ownScope, []);
  return { resolve, resolveAll: (any) => mapTexts(any, resolve), faults };
}

function scopeOf(values: JsonObject, roots: readonly string[]): Scope {
  const scope = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    if (roots.includes(name) || value === BY_THE_MODEL) continue;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      scope.set(name, String(value));
    }
  }
  return scope;
}

/** Flattens `{a: {b: 1}}` to `{"a.b": 1}`: references name nested keys with dots. */
function flat(values: JsonObject, before = ""): JsonObject {
  const pairs = Object.entries(values).flatMap(([key, value]): [string, JsonValue][] =>
    isJsonObject(value) ? Object.entries(flat(value, `${before}${key}.`)) : [[`${before}${key}`, value]],
  );
  return Object.fromEntries(pairs);
}

function mapTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}
