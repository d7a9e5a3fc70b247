import { PhasegateError } from "../errors.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { RESERVED, shown } from "../workflow/names.js";
/** Evidence that was looked through, with about how many characters of JSON it is. */
export interface SafeEvidence {
  /** A copy, in which each value was read once: what was looked at is what is there. */
  readonly evidence: JsonObject;
  readonly characters: number;
}

/**
 * Whether a value is plain, finite, bounded JSON: an object without keys that reach a prototype,
 * without NaN and infinities, without cycles, not too deep and not too large. Throws
 * `EVIDENCE_UNSAFE` with every problem's path, or `EVIDENCE_TOO_LARGE`. Such evidence is refused
 * before the gate and counts as no attempt.
 */
export function checkEvidenceSafety(value: unknown, limits: EvidenceLimits): SafeEvidence {
  const walk = newWalk(limits);
  if (!isPlainObject(value)) {
    throw unsafe([{ path: "evidence", reason: `it must be an object, got ${kindOf(value)}` }]);
  }
  const evidence = copyObject(walk, value);
  if (walk.problems.length > 0) throw unsafe(walk.problems);
  checkSize(evidence, walk);
  return { evidence, characters: walk.characters };
}

/** Counted exactly only where the estimate comes near: a character is at most six bytes of JSON. */
function checkSize(evidence: JsonObject, walk: Walk): void {
  const { maxBytes } = walk.limits;
  if (walk.characters * 6 <= maxBytes) return;
  const whole = !isOver(walk);
  const bytes = whole ? new TextEncoder().encode(JSON.stringify(evidence)).length : walk.characters;
  if (bytes <= maxBytes) return;
  const size = `${whole ? "" : "more than "}${bytes} bytes`;
  throw new PhasegateError("EVIDENCE_TOO_LARGE", `the evidence is ${size} of JSON; ${maxBytes} are allowed`, {
    remedy: "Save large results to files and hand in their paths and a summary.",
    details: { bytes, limit: maxBytes },
  });
}

function unsafe(problems: { path: string; reason: string }[]): PhasegateError<"EVIDENCE_UNSAFE"> {
  const list = problems.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  return new PhasegateError("EVIDENCE_UNSAFE", `the evidence is refused: ${list}`, {
    remedy: "Send evidence as plain JSON: an object of strings, finite numbers, booleans, lists and objects.",
    details: { problems },
  });
}

/** Copies values that come from outside, and takes down what in them is no plain, bounded JSON. */

/** How large and how deep evidence may be. */
export interface EvidenceLimits {
  /** In bytes of JSON as UTF-8. */
  readonly maxBytes: number;
  /** How many objects and lists may stand inside one another. */
  readonly maxDepth: number;
}

/** A walk through one value. */
interface Walk {
  readonly limits: EvidenceLimits;
  readonly problems: { path: string; reason: string }[];
  /** The objects and lists around the value at hand. */
  readonly above: Set<object>;
  /** The keys that lead to the value at hand. */
  readonly path: (string | number)[];
  /** How long the JSON is so far, if nothing in it need be escaped: never more than its bytes. */
  characters: number;
}

/** As many problems as are named; the rest would say the same. */
const PROBLEMS_MAX = 20;
/** How far beyond the limit evidence is still measured, so that a refusal can say how large it is. */
const MEASURED_TIMES = 4;

/** A walk that has not begun. */
function newWalk(limits: EvidenceLimits): Walk {
  return { limits, problems: [], above: new Set(), path: [], characters: 0 };
}

function copy(walk: Walk, value: unknown): JsonValue {
  switch (typeof value) {
    case "string":
      walk.characters += value.length + 2;
      return value;
    case "boolean":
      walk.characters += value ? 4 : 5;
      return value;
    case "number":
      walk.characters += String(value).length;
      if (!Number.isFinite(value)) refuse(walk, `${value} is not a JSON number`);
      return value;
    case "object":
      if (Array.isArray(value)) return copyList(walk, value);
      if (isPlainObject(value)) return copyObject(walk, value);
      if (value !== null) refuse(walk, `${kindOf(value)} is not JSON`);
      walk.characters += 4;
      return null;
    default:
      refuse(walk, `${kindOf(value)} is not JSON`);
      return null;
  }
}

function copyList(walk: Walk, list: readonly unknown[]): JsonValue[] {
  const copied: JsonValue[] = [];
  if (!enter(walk, list, list.length)) return copied;
  for (let index = 0; index < list.length && !isOver(walk); index += 1) {
    walk.path.push(index);
    copied.push(copy(walk, list[index]));
    walk.path.pop();
  }
  walk.above.delete(list);
  return copied;
}

/** A copy, in which each value was read once. */
function copyObject(walk: Walk, object: Readonly<Record<string, unknown>>): JsonObject {
  const copied: JsonObject = {};
  const keys = Reflect.ownKeys(object);
  if (!enter(walk, object, keys.length)) return copied;
  for (const key of keys) {
    if (isOver(walk)) break;
    walk.path.push(String(key));
    if (typeof key === "symbol" || RESERVED.has(key)) refuse(walk, "this key is refused");
    else {
      walk.characters += key.length + 3;
      copied[key] = copy(walk, object[key]);
    }
    walk.path.pop();
  }
  walk.above.delete(object);
  return copied;
}

/** Goes into an object or list of so many values, unless it holds itself or lies too deep. */
function enter(walk: Walk, value: object, size: number): boolean {
  const { above, limits } = walk;
  if (above.has(value)) refuse(walk, "it holds itself");
  else if (above.size >= limits.maxDepth) refuse(walk, `it is nested more than ${limits.maxDepth} deep`);
  else {
    above.add(value);
    walk.characters += 2 + Math.max(0, size - 1);
    return true;
  }
  return false;
}

/** Whether enough is known to refuse: a value may be endless to walk through, shared parts being walked each time. */
function isOver({ problems, characters, limits }: Walk): boolean {
  return problems.length >= PROBLEMS_MAX || characters > limits.maxBytes * MEASURED_TIMES;
}

function refuse(walk: Walk, reason: string): void {
  walk.problems.push({ path: walk.path.reduce<string>(below, "evidence"), reason });
}

function below(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return `${path}.${/^[\w-]{1,60}$/.test(key) ? key : shown(key)}`;
}

/** Whether a value is an object without a class. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What a value is, in words. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
  const name = value.constructor?.name ?? "Object";
  return name === "Object" ? "a foreign object" : `a ${name}`;
}

/**
 * What a JSON Schema says of what is wanted, for a refusal: in words, and as a value that would do as far
 * as the schema tells. Refinements in code don't show in it, so an author's own example goes before.
 */

/** How deep a value is made up. */
const DEPTH_MAX = 4;

/** The schema of what lies at a path. */
export function schemaAt(schema: JsonObject | undefined, path: readonly PropertyKey[]): JsonObject | undefined {
  let current: JsonValue | undefined = schema;
  for (const key of path) {
    if (!isJsonObject(current)) return undefined;
    current = typeof key === "number" ? current.items : child(current.properties, String(key));
  }
  return isJsonObject(current) ? current : undefined;
}

/** What a schema wants, in a few words. */
export function expectedBy(schema: JsonObject): string | undefined {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  if (typeof schema.type !== "string") return undefined;
  const bounds = ["minimum", "maximum", "minLength", "maxLength", "minItems", "pattern", "format"]
    .filter((bound) => schema[bound] !== undefined)
    .map((bound) => `${bound} ${String(schema[bound])}`);
  return [schema.type, ...bounds].join(", ");
}

/** A value that a schema takes, as far as it tells; undefined where it says too little. */
export function exampleBy(schema: JsonObject, depth = 0): JsonValue | undefined {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  switch (schema.type) {
    case "boolean":
      return true;
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? schema.minimum : 1;
    case "string":
      return "…".padEnd(typeof schema.minLength === "number" ? Math.min(schema.minLength, 80) : 1, "…");
    case "array":
      return [];
    case "object":
      return depth < DEPTH_MAX ? objectBy(schema, depth) : {};
    default:
      return undefined;
  }
}

/** The required properties of an object, made up. */
function objectBy(schema: JsonObject, depth: number): JsonObject {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const object: JsonObject = {};
  for (const name of required) {
    const property = child(schema.properties, String(name));
    const value = isJsonObject(property) ? exampleBy(property, depth + 1) : undefined;
    if (value !== undefined) object[String(name)] = value;
  }
  return object;
}

function child(properties: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}
