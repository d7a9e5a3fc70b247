/**
 * Refuses evidence that is unsafe or too large. Evidence from outside is copied while it is checked, so that
 * each value is read only once: what was checked is what is kept.
 */
import { PhasegateError } from "../errors.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { RESERVED, shown } from "../workflow/names.js";

/** Limits the size and depth of evidence. */
export interface EvidenceLimits {
  /** In bytes of JSON as UTF-8. */
  readonly maxBytes: number;
  /** The highest nesting of objects and lists. */
  readonly maxDepth: number;
}

/** Evidence that passed the safety check. */
export interface SafeEvidence {
  /** A copy, in which each value was read once. */
  readonly evidence: JsonObject;
  /** The approximate length of the evidence as JSON, in characters. */
  readonly characters: number;
}

/**
 * Checks that a value is plain, finite, bounded JSON: an object without keys that reach a prototype,
 * without NaN, infinities or cycles, not too deep and not too large. Refused evidence never reaches the
 * gate and does not count as an attempt. `name` is what errors call the value: options and the like are checked, too.
 * @throws {PhasegateError} `EVIDENCE_UNSAFE` with the path of every problem, when the value is not plain
 *   JSON.
 * @throws {PhasegateError} `EVIDENCE_TOO_LARGE` when it is larger than `maxBytes`.
 */
export function checkEvidenceSafety(value: unknown, limits: EvidenceLimits, name = "evidence"): SafeEvidence {
  const walk: Walk = { name, limits, problems: [], above: new Set(), path: [], characters: 0 };
  if (!isPlainObject(value)) {
    throw unsafe(name, [{ path: name, reason: `it must be an object, got ${kindOf(value)}` }]);
  }
  const evidence = copyObject(walk, value);
  if (walk.problems.length > 0) throw unsafe(name, walk.problems);
  checkSize(evidence, walk);
  return { evidence, characters: walk.characters };
}

interface Walk {
  readonly name: string;
  readonly limits: EvidenceLimits;
  /** The problems so far, with the keys that lead to them. */
  readonly problems: { path: string; reason: string }[];
  /** The objects and lists that contain the current value. */
  readonly above: Set<object>;
  /** The keys that lead to the current value. */
  readonly path: (string | number)[];
  /** The length of the JSON so far without escapes: never more than its bytes. */
  characters: number;
}

/** Returns true for an object without a class. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function unsafe(name: string, problems: { path: string; reason: string }[]): PhasegateError<"EVIDENCE_UNSAFE"> {
  const list = problems.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  const isUnfilled = problems.every(({ reason }) => reason === PLACEHOLDER_REFUSED);
  return new PhasegateError("EVIDENCE_UNSAFE", `${named(name)} refused: ${list}`, {
    remedy: isUnfilled
      ? "Do the work first, then put what it gave in place of each placeholder."
      : "Send evidence as plain JSON: an object of strings, finite numbers, booleans, lists and objects.",
    details: { problems },
  });
}

/** Returns the beginning of a sentence: `the evidence is`, `the options are`. */
function named(name: string): string {
  return `the ${name} ${name.endsWith("s") ? "are" : "is"}`;
}

const PLACEHOLDER_REFUSED = "it is a placeholder of a proposed call, not a value";

/** The words that the placeholders of proposed calls begin or end with. */
const PLACEHOLDER = new RegExp(
  `^<(?:${[
    "(?:string|text|boolean|integer|number|object|list|array|any|null|value|result)(?:[:,].*)?",
    "(?:\\d+ or more|list of) (?:texts|integers|numbers|booleans|objects|lists|values)(?:[:,].*)?",
    "(?:an? (?:string|boolean|integer|number|object|list|array)|any value|a value of your own|one of|see|path of)\\b.*",
    "(?:as before|as validation_errors|all that|all other|why it|what was|claim and proof|once it is done)\\b.*",
    "[^<>]{1,300} once it is done",
  ].join("|")})>$`,
  "s",
);

/**
 * Checks whether a text is one of the placeholders that stand for values in the calls which the tools propose, such as
 * `<string: what was done>`. Copied unchanged, a placeholder must never count as the value.
 */
export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
  const name = value.constructor?.name ?? "Object";
  return name === "Object" ? "a foreign object" : `a ${name}`;
}

const KEY_REFUSED = "this key is refused";

/** Copies an object; reads each value once. */
function copyObject(walk: Walk, object: Readonly<Record<string, unknown>>): JsonObject {
  const copied: JsonObject = {};
  // Names and symbols by themselves: to list both at once takes three times as long.
  const names = Object.getOwnPropertyNames(object);
  if (!enter(walk, object, names.length)) return copied;
  for (const name of names) {
    if (isOver(walk)) break;
    walk.path.push(name);
    if (RESERVED.has(name)) refuse(walk, KEY_REFUSED);
    else {
      walk.characters += name.length + 3;
      copied[name] = copy(walk, object[name]);
    }
    walk.path.pop();
  }
  for (const symbol of Object.getOwnPropertySymbols(object)) {
    if (isOver(walk)) break;
    walk.path.push(String(symbol));
    refuse(walk, KEY_REFUSED);
    walk.path.pop();
  }
  walk.above.delete(object);
  return copied;
}

/** Enters an object or list of `size` values, unless it contains itself or is too deep. */
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

function refuse(walk: Walk, reason: string): void {
  walk.problems.push({ path: walk.path.reduce<string>(below, walk.name), reason });
}

function below(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return `${path}.${/^[\w-]{1,60}$/.test(key) ? key : shown(key)}`;
}

/** Ends the walk after this many problems. */
const PROBLEMS_MAX = 20;
/** Measures evidence up to this multiple of the limit, so that a refusal can say how large it is. */
const MEASURED_TIMES = 4;

/** Returns true once there is enough to refuse: shared parts are walked each time, so a walk may be endless. */
function isOver({ problems, characters, limits }: Walk): boolean {
  return problems.length >= PROBLEMS_MAX || characters > limits.maxBytes * MEASURED_TIMES;
}

function copy(walk: Walk, value: unknown): JsonValue {
  switch (typeof value) {
    case "string":
      walk.characters += value.length + 2;
      if (isPlaceholder(value)) refuse(walk, PLACEHOLDER_REFUSED);
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

/** Counts the bytes only where the estimate comes near the limit: a character has at most six bytes of JSON. */
function checkSize(evidence: JsonObject, walk: Walk): void {
  const { maxBytes } = walk.limits;
  if (walk.characters * 6 <= maxBytes) return;
  const whole = !isOver(walk);
  const bytes = whole ? new TextEncoder().encode(JSON.stringify(evidence)).length : walk.characters;
  if (bytes <= maxBytes) return;
  const size = `${whole ? "" : "more than "}${bytes} bytes`;
  throw new PhasegateError("EVIDENCE_TOO_LARGE", `${named(walk.name)} ${size} of JSON; ${maxBytes} are allowed`, {
    remedy: "Save large results to files, and submit their paths and a summary.",
    details: { bytes, limit: maxBytes },
  });
}
