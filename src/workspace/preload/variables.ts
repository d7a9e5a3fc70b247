import { isJsonObject, type JsonObject, type JsonValue } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";

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
/** What a workflow writes for a value that the model makes up as it needs it: today's date. */
const BY_THE_MODEL = "system-generated";
/** A key of the configuration in the first group, or a name in the second. Double braces are the template's own. */
const REFERENCE = /(?<!\{)\{(?:config_source\}:([\w-]+(?:\.[\w-]+)*)|([A-Za-z_][\w-]*)\}(?!\}))/g;

/** The names of a scope, and what they stand for: own keys with a text, a number or a flag. */
type Scope = ReadonlyMap<string, string>;

/**
 * The variables of a workflow: its own top-level values, then those of the configuration that it names. Names of roots
 * are nobody's variables here: they stay, since a path is written with them.
 */
export function createVariables(own: JsonObject, config: JsonObject | undefined, roots: readonly string[]): Variables {
  const ownScope = scopeOf(own, roots);
  const configScope = scopeOf(flat(config ?? {}), roots);
  const faults = new Set<string>();
  const known = new Map<string, string>();

  function value(key: string, scope: Scope, trail: readonly string[]): string | undefined {
    const text = scope.get(key);
    if (text === undefined) return undefined;
    const name = scope === configScope ? `{config_source}:${key}` : `{${key}}`;
    const done = known.get(name);
    if (done !== undefined) return done;
    if (trail.includes(name)) {
      faults.add(`values name each other in a circle: ${[...trail.slice(trail.indexOf(name)), name].join(" → ")}`);
      return undefined;
    }
    const resolved = replaced(text, scope, [...trail, name]);
    known.set(name, resolved);
    return resolved;
  }

  function replaced(text: string, scope: Scope, trail: readonly string[]): string {
    let room = RESOLVED_MAX;
    return text.replace(REFERENCE, (whole, key: string | undefined, name: string | undefined) => {
      const found =
        key === undefined
          ? (value(name ?? "", scope, trail) ?? otherwise(name ?? "", scope, trail))
          : (value(key, configScope, trail) ?? unknownKey(key));
      if (found === undefined) return whole;
      room -= found.length;
      if (room >= 0) return found;
      faults.add(`${shown(whole)} is left as it is: the text would be longer than ${RESOLVED_MAX} characters`);
      return whole;
    });
  }

  /** A name that its own scope lacks; the configuration knows nothing of the workflow. */
  function otherwise(name: string, scope: Scope, trail: readonly string[]): string | undefined {
    return scope === ownScope ? value(name, configScope, trail) : undefined;
  }

  function unknownKey(key: string): undefined {
    // A circle was told already.
    if (configScope.has(key)) return undefined;
    const meant = nearest(key, configScope.keys());
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    if (config !== undefined) faults.add(`the configuration has no ${shown(key)}${hint}`);
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
