/**
 * Says where a text shows evidence that the gate of its phase would not accept, such as an example of `complete_phase`
 * with other names: the gate holds. Only names and types of the outermost fields are compared.
 */
import { requiredFormat, requiredNames } from "../../gate/format.js";
import { isJsonObject } from "../../workflow/json.js";
import type { GateDefinition } from "../../workflow/structure.js";
import { brief } from "../wire.js";

/** The longest note, in characters. */
const NOTE_MAX = 300;

/** Returns a note for a text with evidence of another shape than the gate's; undefined if there is none. */
export function evidenceNote(text: string, gate: GateDefinition): string | undefined {
  const required = requiredNames(gate);
  if (required.length === 0) return undefined;
  const shown = shownIn(text);
  if (shown.size === 0) return undefined;
  const missing = required.filter((name) => !shown.has(name));
  const types = gateTypes(gate);
  const others = [...shown].flatMap(([name, type]) => {
    const wanted = types.get(name);
    return wanted === undefined || type === undefined || type === wanted ? [] : [`${name} as ${wanted}`];
  });
  const parts = [
    missing.length > 0 && `it also requires ${missing.join(", ")}`,
    others.length > 0 && `it wants ${others.join(", ")}`,
  ].filter((part) => part !== false);
  if (parts.length === 0) return undefined;
  return brief(`The text shows other evidence; the checkpoint of the phase holds: ${parts.join("; ")}`, NOTE_MAX);
}

/** Returns the types of a gate's fields as far as they are plain; numbers of all kinds are one. */
function gateTypes(gate: GateDefinition): ReadonlyMap<string, string> {
  const { properties } = requiredFormat(gate);
  if (!isJsonObject(properties)) return new Map();
  return new Map(
    Object.entries(properties).flatMap(([name, field]) => {
      const type = isJsonObject(field) ? field.type : undefined;
      return typeof type === "string" ? [[name, type === "integer" ? "number" : type] as const] : [];
    }),
  );
}

/** The beginning of evidence in a call, in JSON, or below a label. */
const EVIDENCE = /\bevidence["'*_`]{0,3}\s{0,20}[=:]["'*_`]{0,3}\s{0,20}(?:```\w{0,20}\s{0,20})?\{/gi;

/** The longest piece of evidence that is read, in characters. */
const SHOWN_MAX = 20_000;

/** The fields of evidence, with their types where they are clear. */
type ShownFields = ReadonlyMap<string, string | undefined>;

/** Returns the fields of the last evidence that a text shows; none if it shows none that ends. */
function shownIn(text: string): ShownFields {
  const last = [...text.matchAll(EVIDENCE)].at(-1);
  if (last === undefined) return new Map();
  const fields = new Map<string, string | undefined>();
  const inside = text.slice(last.index + last[0].length, last.index + last[0].length + SHOWN_MAX);
  let depth = 0;
  for (const { 0: token, index } of inside.matchAll(/"[^"\n]*"|'[^'\n]*'|[{}[\]]|[A-Za-z_]\w*/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" && depth === 0) return fields;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 0) {
      const value = /^\s{0,20}:\s{0,20}(\S.{0,20})/.exec(inside.slice(index + token.length))?.[1];
      if (value !== undefined) fields.set(token.replace(/^["']|["']$/g, ""), typeOf(value));
    }
  }
  // The evidence does not end: it is no example to compare with.
  return new Map();
}

/** Returns the type of a value by its beginning; undefined if it could be several, such as `[…]`. */
function typeOf(value: string): string | undefined {
  if (/^(?:true|false)\b/i.test(value)) return "boolean";
  if (/^(?:-?\d|\[(?:number|count|integer|percentage)\])/i.test(value)) return "number";
  if (/^["']/.test(value)) return "string";
  return value.startsWith("{") ? "object" : undefined;
}
