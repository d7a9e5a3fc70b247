import { PhasegateError } from "../errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";

/** How params are filled in. */
interface FillOptions {
  /** Params that are left as they are: patterns and rules are code, and what is put into code can change it. */
  readonly verbatim?: readonly string[];
}

interface Fill {
  readonly values: PlaceholderValues;
  readonly allowOptions: boolean;
}

/** The longest text that a placeholder may stand for, in characters. */
const VALUE_MAX = 8192;

/**
 * Params with their placeholders filled in: `{spec_path}`, `{target_file}`, `{session_id}` and
 * `{evidence.field}`. Values are put into texts and are never read again: an element of a list stays
 * one element, whatever it holds. A param that is nothing but a placeholder becomes the value itself, a
 * number or a list too. In lists, which are arguments, a value must not make an option of its element
 * (`-…`), unless the author says `allow_options: true` beside the list. Throws `INVALID_INPUT`.
 */
export function fillParams(params: JsonObject, values: PlaceholderValues, options: FillOptions = {}): JsonObject {
  const fill: Fill = { values, allowOptions: params.allow_options === true };
  return eachParam(params, options, (value) => filled(value, fill));
}

/** The names of all placeholders in params, each once. Throws `INVALID_INPUT` for one that stands for nothing. */
export function checkPlaceholders(params: JsonObject, options: FillOptions = {}): string[] {
  const names = new Set<string>();
  eachParam(params, options, (value) => collect(value, names));
  for (const name of names) checkName(name);
  return [...names];
}

function eachParam(
  params: JsonObject,
  { verbatim = [] }: FillOptions,
  change: (value: JsonValue) => JsonValue,
): JsonObject {
  return mapValues(params, (value, key) => (verbatim.includes(key) ? value : change(value)));
}

function collect(value: JsonValue, names: Set<string>): JsonValue {
  if (typeof value === "string") for (const name of namesIn(value)) names.add(name);
  else if (Array.isArray(value)) for (const item of value) collect(item, names);
  else if (value !== null && typeof value === "object") for (const item of Object.values(value)) collect(item, names);
  return value;
}

function filled(value: JsonValue, fill: Fill): JsonValue {
  if (typeof value === "string") return filledText(value, fill);
  if (Array.isArray(value)) return value.map((item) => filledItem(item, fill));
  return value === null || typeof value !== "object" ? value : mapValues(value, (inner) => filled(inner, fill));
}

function filledText(text: string, { values }: Fill): JsonValue {
  const [only, ...others] = namesIn(text);
  if (only === undefined || others.length > 0 || text !== `{${only}}`) return putInto(text, values);
  const value = placeholderValue(only, values);
  return typeof value === "string" ? checkedText(value, only) : value;
}

function filledItem(item: JsonValue, fill: Fill): JsonValue {
  if (typeof item !== "string") return filled(item, fill);
  const text = putInto(item, fill.values);
  if (fill.allowOptions || !text.startsWith("-") || item.startsWith("-")) return text;
  throw refused(shown(text), "it would be read as an option: it begins with '-'", "Hand in a value without '-' first.");
}

function putInto(text: string, values: PlaceholderValues): string {
  return replaceIn(text, (name) => {
    const value = placeholderValue(name, values);
    if (typeof value === "string") return checkedText(value, name);
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    throw refused(`{${name}}`, "a list, an object or null can't be put into a text", "Hand in a text or a number.");
  });
}

function checkedText(value: string, name: string): string {
  if (value.includes("\0")) throw refused(`{${name}}`, "it holds a NUL", "Hand in a text without control characters.");
  if (value.length <= VALUE_MAX) return value;
  throw refused(`{${name}}`, `it is longer than ${VALUE_MAX} characters`, "Hand in a shorter text.");
}

function refused(what: string, reason: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${what} is refused: ${reason}`, {
    remedy,
    details: { expected: reason },
  });
}

/** Object.fromEntries makes own properties of all keys, `__proto__` too. */
function mapValues(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}

/** What placeholders in the params of a verifier stand for. */
export interface PlaceholderValues {
  readonly spec_path?: string;
  readonly target_file?: string;
  readonly session_id?: string;
  /** For `{evidence.field}`; missing while there is no evidence yet. */
  readonly evidence?: JsonObject;
}

/** The placeholders that stand for something in every session, beside `{evidence.…}`. */
const NAMES = ["spec_path", "target_file", "session_id"] as const;
/** `{name}`, and `{{name}}`, which stands for `{name}` itself. Braces around anything else are only braces. */
const PLACEHOLDER = /\{\{([a-z]\w*(?:\.[\w-]+)*)\}\}|\{([a-z]\w*(?:\.[\w-]+)*)\}/g;

/** Whether a text has a placeholder in it. */
export function hasPlaceholder(text: string): boolean {
  return namesIn(text).length > 0;
}

/** The names of the placeholders in a text, in order. */
function namesIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

/** A text with each placeholder replaced by what `valueFor` gives for its name. */
function replaceIn(text: string, valueFor: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, escaped: string | undefined, name: string) =>
    escaped === undefined ? valueFor(name) : `{${escaped}}`,
  );
}

/** What a placeholder stands for. Throws `INVALID_INPUT` where nothing is known by its name. */
function placeholderValue(name: string, values: PlaceholderValues): JsonValue {
  checkName(name);
  const known = NAMES.find((candidate) => candidate === name);
  const value = known === undefined ? below(values.evidence, name.split(".").slice(1)) : values[known];
  if (value !== undefined) return value;
  const missing = known === undefined ? "the evidence has no such field" : "this session has none";
  throw new PhasegateError("INVALID_INPUT", `nothing is known for {${name}}: ${missing}`, {
    remedy: known === undefined ? `Hand in ${name}.` : "Ask the author of the workflow.",
    details: { field: name },
  });
}

/** Throws `INVALID_INPUT` for a name that stands for nothing. */
function checkName(name: string): void {
  if (name.startsWith("evidence.") || NAMES.some((known) => known === name)) return;
  const near = nearest(name, [...NAMES, "evidence"]);
  const hint = near === undefined ? "" : `; did you mean {${near === "evidence" ? "evidence.FIELD" : near}}?`;
  throw new PhasegateError("INVALID_INPUT", `there is no placeholder {${shown(name).slice(1, -1)}}${hint}`, {
    remedy: `Use {${NAMES.join("}, {")}} or {evidence.FIELD}; {{${name}}} stands for {${name}} itself.`,
    details: { field: name, expected: [...NAMES, "evidence.FIELD"].join(", ") },
  });
}

/** A value inside evidence; only its own keys, never what every object has. */
function below(evidence: JsonObject | undefined, keys: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = evidence;
  for (const key of keys) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}
