import { remember } from "../../runtime/cache.js";
import type { ParsedSource } from "../../workflow/diagnostic.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../workflow/json.js";
import { nearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import { readYaml } from "../../workflow/yaml.js";
/** A YAML file read as keys and values, or what is wrong with it, each with its line. */
export type Mapping =
  | { readonly value: JsonObject; readonly place: ParsedSource["place"] }
  | { readonly value?: undefined; readonly diagnostics: readonly string[] };

/** Reads YAML that must be one mapping: plain data, aliases bounded, nothing merged, no tags, one document. */
export const readMapping = remember(async (file: string, text: string): Promise<Mapping> => {
  const report = createReport();
  const source = await readYaml(file, text, report);
  if (source !== undefined && isJsonObject(source.value)) return { value: source.value, place: source.place };
  if (source !== undefined) {
    const kind = Array.isArray(source.value) ? "a list" : source.value === null ? "empty" : "a single value";
    report.error("VALUE_WRONG", source.place([]), `the file is ${kind}`, "Write keys and values: 'name: …'.");
  }
  return { diagnostics: report.sorted().map(formatDiagnostic) };
});

/** The same text with other values in it: comments and order stay. The text itself where nothing changes. */
export async function replaceTexts(text: string, change: (value: string) => string): Promise<string> {
  const values = await textsOf(text);
  const others = values.map(change);
  return others.every((value, index) => value === values[index]) ? text : written(text, JSON.stringify(others));
}

/** The strings that are values of a document, in its order. */
const textsOf = remember(async (text: string): Promise<readonly string[]> => {
  const found: string[] = [];
  await visitTexts(text, (value) => {
    found.push(value);
    return value;
  });
  return found;
});

/** A document with its strings replaced, one by one. */
const written = remember(async (text: string, others: string): Promise<string> => {
  const values: unknown = JSON.parse(others);
  const left = (Array.isArray(values) ? values.map(String) : []).values();
  return (await visitTexts(text, (value) => left.next().value ?? value)).toString({ lineWidth: 0 });
});

async function visitTexts(text: string, change: (value: string) => string) {
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  yaml.visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      const value = change(node.value);
      if (value !== node.value) node.value = value;
    },
  });
  return document;
}

/** Texts with their references replaced, and what was found wrong on the way. */
export interface Variables {
  /** A text in which `{name}` and `{config_source}:key` are replaced; what nobody knows stays as it is. */
  resolve(text: string): string;
  /** The same in every string of a value, at any depth. */
  resolveAll(value: JsonValue): JsonValue;
  /** What can't be replaced and should be: a circle, a key that the configuration lacks. Each once. */
  readonly faults: ReadonlySet<string>;
}

/** The longest that a resolved text may be, in characters: values may name each other many times. */
const RESOLVED_MAX = 65_536;
/** How many characters are put into all texts of one workflow. */
const INSERTED_MAX = 4_194_304;
/** How many values may name one another in a chain. */
const CHAIN_MAX = 100;
/** How many faults are told. */
const FAULTS_MAX = 100;
/** What a workflow writes for a value that the model makes up as it needs it: today's date. */
const BY_THE_MODEL = "system-generated";
/** A key of the configuration in the first group, or a name in the second. Double braces are the template's own. */
const REFERENCE = /(?<!\{)\{(?:config_source\}:([\w-]+(?:\.[\w-]+)*)|([A-Za-z_][\w-]*)\}(?!\}))/g;

/** The names of a scope, and what they stand for: own keys with a text, a number or a flag. */
type Scope = ReadonlyMap<string, string>;

/** A value by the reference that names it. */
interface Named {
  readonly id: string;
  readonly text: string;
  readonly scope: Scope;
}

/** A value that is being resolved: those that it names come first. */
interface Open extends Named {
  readonly references: readonly RegExpExecArray[];
  next: number;
}

/**
 * The variables of a workflow: its own top-level values, then those of the configuration that it names. Names of roots
 * are nobody's variables here: they stay, since a path is written with them.
 */
export function createVariables(own: JsonObject, config: JsonObject | undefined, roots: readonly string[]): Variables {
  const ownScope = scopeOf(own, roots);
  const configScope = scopeOf(flat(config ?? {}), roots);
  const faults = new Set<string>();
  const known = new Map<string, string>();
  let inserted = 0;

  function fault(text: () => string): void {
    if (faults.size < FAULTS_MAX) faults.add(text());
  }

  /** What a reference may stand for, the likeliest first. The configuration knows nothing of the workflow. */
  function candidates({ 1: key, 2: name = "" }: RegExpExecArray, scope: Scope): Named[] {
    const inOwn = key === undefined && scope === ownScope ? ownScope.get(name) : undefined;
    const inConfig = configScope.get(key ?? name);
    return [
      ...(inOwn === undefined ? [] : [{ id: `{${name}}`, text: inOwn, scope: ownScope }]),
      ...(inConfig === undefined ? [] : [{ id: `{config_source}:${key ?? name}`, text: inConfig, scope: configScope }]),
    ];
  }

  /** Resolves the values that a text names, the innermost first; a list of open ones takes the place of a recursion. */
  function settle(text: string): void {
    const open = [opened({ id: "", text, scope: ownScope })];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const reference = last.references[last.next];
      last.next += 1;
      if (reference === undefined) {
        if (last.id !== "") known.set(last.id, replaced(last));
        open.pop();
        continue;
      }
      const target = candidates(reference, last.scope).find((one) => !isCircle(one, open));
      if (target === undefined || known.has(target.id)) continue;
      if (open.length <= CHAIN_MAX) open.push(opened(target));
      else fault(() => `${target.id} is left as it is: more than ${CHAIN_MAX} values name each other in a chain`);
    }
  }

  function isCircle({ id }: Named, open: readonly Open[]): boolean {
    const at = open.findIndex((one) => one.id === id);
    if (at === -1) return false;
    fault(() => `values name each other in a circle: ${[...open.slice(at).map((one) => one.id), id].join(" → ")}`);
    return true;
  }

  /** A text with what it names put in, as far as that is resolved and there is room for it. */
  function replaced({ text, scope, references }: Omit<Open, "next">): string {
    const parts: string[] = [];
    let room = RESOLVED_MAX;
    let from = 0;
    for (const reference of references) {
      const [whole] = reference;
      const target = candidates(reference, scope).find(({ id }) => known.has(id));
      const value = target === undefined ? undefined : known.get(target.id);
      if (value === undefined) {
        unknownKey(reference[1]);
        continue;
      }
      room -= value.length;
      inserted += value.length;
      if (room < 0 || inserted > INSERTED_MAX) {
        const [what, limit] = room < 0 ? ["the text", RESOLVED_MAX] : ["all texts together", INSERTED_MAX];
        fault(() => `${shown(whole)} is left as it is: ${what} would be longer than ${limit} characters`);
        continue;
      }
      parts.push(text.slice(from, reference.index), value);
      from = reference.index + whole.length;
    }
    return [...parts, text.slice(from)].join("");
  }

  function unknownKey(key: string | undefined): void {
    // Of a circle, and of a chain that is too long, it was told already.
    if (key === undefined || config === undefined || configScope.has(key)) return;
    fault(() => {
      const meant = nearest(key, configScope.keys());
      return `the configuration has no ${shown(key)}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
    });
  }

  const resolve = (text: string) => {
    settle(text);
    return replaced(opened({ id: "", text, scope: ownScope }));
  };
  return { resolve, resolveAll: (any) => mapTexts(any, resolve), faults };
}

function opened(named: Named): Open {
  return { ...named, references: [...named.text.matchAll(REFERENCE)], next: 0 };
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

/** `{a: {b: 1}}` as `{"a.b": 1}`: configurations may be nested, references name the way. */
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
