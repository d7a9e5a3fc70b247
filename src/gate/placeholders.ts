import { isJsonObject, type JsonObject, type JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import { PhasegateError } from "../errors.js";

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
export function namesIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(([, , name]) => (name === undefined ? [] : [name]));
}

/** A text with each placeholder replaced by what `valueFor` gives for its name. */
export function replaceIn(text: string, valueFor: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_, escaped: string | undefined, name: string) =>
    escaped === undefined ? valueFor(name) : `{${escaped}}`,
  );
}

/** What a placeholder stands for. Throws `INVALID_INPUT` where nothing is known by its name. */
export function placeholderValue(name: string, values: PlaceholderValues): JsonValue {
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
export function checkName(name: string): void {
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
