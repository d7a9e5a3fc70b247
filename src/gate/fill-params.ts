/**
 * Fills placeholders such as `{target_file}`, `{evidence.field}` and `{options.name}` into the params of verifiers. Values
 * are inserted as text and never parsed again, so that evidence and options can't change a command or a pattern. Also
 * fills the options of a session into its texts.
 */
import { PhasegateError } from "../errors.js";
import { type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import { OPTION_PLACEHOLDER } from "../workflow/placeholders.js";

/** The values of placeholders in a verifier's params. */
export interface PlaceholderValues {
  readonly spec_path?: string;
  readonly target_file?: string;
  readonly session_id?: string;
  /** For `{evidence.field}`; missing while there is no evidence yet. */
  readonly evidence?: JsonObject;
  /** For `{options.name}`: the options that the session was started with. */
  readonly options?: JsonObject;
}

interface FillOptions {
  /** Params that are not filled in: patterns and rules are code, which an inserted value could change. */
  readonly verbatim?: readonly string[];
}

/**
 * Returns params with their placeholders filled in: `{spec_path}`, `{target_file}`, `{session_id}`, `{options.name}` and
 * `{evidence.field}`. An element of a list stays one element, whatever is inserted. A param that is only a
 * placeholder becomes the value itself, which may be a number or a list. In lists, which are arguments, a
 * value must not turn its element into an option (`-…`), unless the author sets `allow_options: true` next
 * to the list.
 * @throws {PhasegateError} `INVALID_INPUT` when a value is missing, unsafe, too long or of a kind that
 *   can't be inserted.
 */
export function fillParams(params: JsonObject, values: PlaceholderValues, options: FillOptions = {}): JsonObject {
  return eachText(params, options, (text, isItem) =>
    isItem ? fillItem(text, values, params.allow_options === true) : fillText(text, values),
  );
}

/**
 * Returns params with the options of a session filled in, as far as they are known before there is evidence: a text with
 * another placeholder, or with one for an option that the session lacks, stays as it is. So does one whose value looks
 * like a placeholder.
 * @throws {PhasegateError} `INVALID_INPUT` as {@link fillParams} does.
 */
export function fillKnownOptions(params: JsonObject, given: JsonObject, options: FillOptions = {}): JsonObject {
  const isKnown = (name: string) => {
    const [group, ...keys] = name.split(".");
    const value = group === "options" ? below(given, keys) : undefined;
    return value !== undefined && !hasPlaceholder(JSON.stringify(value));
  };
  return eachText(params, options, (text, isItem) => {
    const names = namesIn(text);
    if (names.length === 0 || !names.every(isKnown)) return text;
    const values = { options: given };
    return isItem ? fillItem(text, values, params.allow_options === true) : fillText(text, values);
  });
}

/**
 * Returns the names of all placeholders in params, each once.
 * @throws {PhasegateError} `INVALID_INPUT` when a name is unknown.
 */
export function checkPlaceholders(params: JsonObject, options: FillOptions = {}): string[] {
  const names = new Set<string>();
  eachText(params, options, (text) => {
    for (const name of namesIn(text)) names.add(name);
    return text;
  });
  for (const name of names) checkName(name);
  return [...names];
}

export function hasPlaceholder(text: string): boolean {
  return namesIn(text).length > 0;
}

/** Returns params with each text changed, also inside lists and objects. `isItem` is true for an element of a list. */
function eachText(
  params: JsonObject,
  { verbatim }: FillOptions,
  change: (text: string, isItem: boolean) => JsonValue,
): JsonObject {
  const changed = (value: JsonValue, isItem = false): JsonValue => {
    if (typeof value === "string") return change(value, isItem);
    if (Array.isArray(value)) return value.map((item) => changed(item, true));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, changed(inner)]));
  };
  // `Object.fromEntries` makes own properties of all keys, also of `__proto__`.
  const entries = Object.entries(params).map(([key, value]) => [key, verbatim?.includes(key) ? value : changed(value)]);
  return Object.fromEntries(entries);
}

function fillText(text: string, values: PlaceholderValues): JsonValue {
  const only = namesIn(text).find((name) => text === `{${name}}`);
  if (only === undefined) return insertInto(text, values);
  const value = placeholderValue(only, values);
  return typeof value === "string" ? checkedText(value, only) : value;
}

function fillItem(item: string, values: PlaceholderValues, allowOptions: boolean): string {
  const text = insertInto(item, values);
  if (allowOptions || !text.startsWith("-") || item.startsWith("-")) return text;
  const reason = "it would be read as an option: it begins with '-'";
  throw refused(shown(text), reason, "Submit a value that does not begin with '-'.");
}

/** Matches `{name}`, and `{{name}}`, which stands for the text `{name}`. Braces around anything else are plain text. */
const PLACEHOLDER = /\{\{([a-z]\w*(?:\.[\w-]+)*)\}\}|\{([a-z]\w*(?:\.[\w-]+)*)\}/g;

/** Returns the names of the placeholders in a text, in order. */
function namesIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

function insertInto(text: string, values: PlaceholderValues): string {
  return text.replace(PLACEHOLDER, (_, escaped: string | undefined, name: string) => {
    if (escaped !== undefined) return `{${escaped}}`;
    const value = placeholderValue(name, values);
    if (typeof value === "string") return checkedText(value, name);
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    throw refused(`{${name}}`, "a list, an object or null can't be put into a text", "Submit a text or a number.");
  });
}

/** The placeholders without a part after a dot. */
const NAMES = ["spec_path", "target_file", "session_id"] as const;

/** Returns the value of a placeholder. Throws `INVALID_INPUT` if it has none. */
function placeholderValue(name: string, values: PlaceholderValues): JsonValue {
  checkName(name);
  const known = NAMES.find((candidate) => candidate === name);
  const [group, ...keys] = name.split(".");
  const value =
    known === undefined ? below(group === "options" ? values.options : values.evidence, keys) : values[known];
  if (value !== undefined) return value;
  if (known !== undefined) throw unknownValue(name, "this session has none", "Ask the author of the workflow.");
  if (group === "evidence") throw unknownValue(name, "the evidence has no such field", `Submit ${name}.`);
  const remedy = `Start a new session with the option ${keys.join(".")}.`;
  throw unknownValue(name, "the session was started without this option", remedy);
}

function unknownValue(name: string, why: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `nothing is known for {${name}}: ${why}`, {
    remedy,
    details: { field: name },
  });
}

/** The placeholders with a part after a dot, by their first part. */
const GROUPS: ReadonlyMap<string, string> = new Map([
  ["evidence", "evidence.FIELD"],
  ["options", "options.NAME"],
]);

/** Throws `INVALID_INPUT` for an unknown name. */
function checkName(name: string): void {
  if (NAMES.some((known) => known === name) || [...GROUPS.keys()].some((group) => name.startsWith(`${group}.`))) return;
  const near = nearest(name, [...NAMES, ...GROUPS.keys()]);
  const hint = near === undefined ? "" : `; did you mean {${GROUPS.get(near) ?? near}}?`;
  throw new PhasegateError("INVALID_INPUT", `there is no placeholder {${shown(name).slice(1, -1)}}${hint}`, {
    remedy: `Use {${[...NAMES, "options.NAME"].join("}, {")}} or {evidence.FIELD}; {{${name}}} stands for {${name}} itself.`,
    details: { field: name, expected: [...NAMES, ...GROUPS.values()].join(", ") },
  });
}

/** Returns a value inside evidence or options; follows own keys only. */
function below(object: JsonObject | undefined, keys: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const key of keys) value = ownValue(value, key);
  return value;
}

/** The longest value that is shown in a text, in characters. */
const SHOWN_MAX = 2000;

/**
 * Returns the text of a phase or a task with the placeholders `{options.name}` filled in. One without a value stays as
 * it is, and so does `${options.name}`, which is code. `{{options.name}}` stands for `{options.name}`.
 */
export function fillOptions(text: string, options: JsonObject): string {
  return text.replace(OPTION_PLACEHOLDER, (whole: string, escaped: string | undefined, plain: string) => {
    const name = escaped ?? plain;
    const value = below(options, name.split(".").slice(1));
    if (value === undefined) return whole;
    if (escaped !== undefined) return `{${escaped}}`;
    const words = textOf(value);
    return words.length > SHOWN_MAX ? `${words.slice(0, SHOWN_MAX)}…` : words;
  });
}

/** Returns a value as a text shows it: a list of words with commas. */
function textOf(value: JsonValue): string {
  if (typeof value === "string") return value;
  const isPlain = Array.isArray(value) && value.every((item) => typeof item === "string" || typeof item === "number");
  return isPlain ? value.join(", ") : JSON.stringify(value);
}

/** The longest text that a placeholder may insert, in characters. */
const VALUE_MAX = 8192;

function checkedText(value: string, name: string): string {
  if (value.includes("\0")) throw refused(`{${name}}`, "it holds a NUL", "Submit a text without control characters.");
  if (value.length <= VALUE_MAX) return value;
  throw refused(`{${name}}`, `it is longer than ${VALUE_MAX} characters`, "Submit a shorter text.");
}

function refused(what: string, reason: string, remedy: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${what} is refused: ${reason}`, { remedy, details: {} });
}
