import type { JsonObject } from "../definition/json.js";
import { RESERVED, shown } from "../definition/names.js";
import { PhasegateError } from "../errors.js";

/** How large and how deep evidence may be. */
export interface EvidenceLimits {
  /** In bytes of JSON as UTF-8. */
  readonly maxBytes: number;
  /** How many objects and lists may stand inside one another. */
  readonly maxDepth: number;
}

/** Evidence that was looked through, with about how many characters of JSON it is. */
export interface SafeEvidence {
  readonly evidence: JsonObject;
  readonly characters: number;
}

interface Walk {
  readonly limits: EvidenceLimits;
  readonly problems: { path: string; reason: string }[];
  readonly above: Set<object>;
  characters: number;
}

/** As many problems as are named; the rest would say the same. */
const PROBLEMS_MAX = 20;

/**
 * Whether a value is plain, finite, bounded JSON: an object without keys that reach a prototype,
 * without NaN and infinities, without cycles, not too deep and not too large. Throws
 * `EVIDENCE_UNSAFE` with every problem's path, or `EVIDENCE_TOO_LARGE`. Such evidence is refused
 * before the gate and counts as no attempt.
 */
export function checkEvidenceSafety(value: unknown, limits: EvidenceLimits): SafeEvidence {
  const walk: Walk = { limits, problems: [], above: new Set(), characters: 0 };
  if (!isPlainObject(value)) {
    throw unsafe([{ path: "evidence", reason: `it must be an object, got ${kindOf(value)}` }]);
  }
  visit(walk, value, "evidence", 1);
  if (walk.problems.length > 0) throw unsafe(walk.problems);
  checkSize(value, walk.characters, limits.maxBytes);
  return { evidence: value, characters: walk.characters };
}

function visit(walk: Walk, value: unknown, path: string, depth: number): void {
  if (walk.problems.length >= PROBLEMS_MAX) return;
  switch (typeof value) {
    case "string":
      walk.characters += value.length + 3;
      return;
    case "boolean":
      walk.characters += 6;
      return;
    case "number":
      walk.characters += 12;
      if (!Number.isFinite(value)) walk.problems.push({ path, reason: `${value} is not a JSON number` });
      return;
    case "object":
      if (value === null) walk.characters += 5;
      else visitObject(walk, value, path, depth);
      return;
    default:
      walk.problems.push({ path, reason: `${kindOf(value)} is not JSON` });
  }
}

function visitObject(walk: Walk, value: object, path: string, depth: number): void {
  if (walk.above.has(value)) {
    walk.problems.push({ path, reason: "it holds itself" });
  } else if (depth > walk.limits.maxDepth) {
    walk.problems.push({ path, reason: `it is nested more than ${walk.limits.maxDepth} deep` });
  } else {
    walk.above.add(value);
    walk.characters += 3;
    if (Array.isArray(value)) visitList(walk, value, path, depth);
    else if (isPlainObject(value)) visitEntries(walk, value, path, depth);
    else walk.problems.push({ path, reason: `${kindOf(value)} is not JSON` });
    walk.above.delete(value);
  }
}

function visitList(walk: Walk, list: readonly unknown[], path: string, depth: number): void {
  for (let index = 0; index < list.length; index += 1) visit(walk, list[index], `${path}[${index}]`, depth + 1);
}

function visitEntries(walk: Walk, value: JsonObject, path: string, depth: number): void {
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === "symbol" || RESERVED.has(key)) {
      walk.problems.push({ path: `${path}.${shown(String(key))}`, reason: "this key is refused" });
      continue;
    }
    walk.characters += key.length + 4;
    visit(walk, value[key], `${path}.${key}`, depth + 1);
  }
}

/** Counted exactly only where the estimate comes near: a character is at most six bytes of JSON. */
function checkSize(value: JsonObject, characters: number, maxBytes: number): void {
  if (characters * 6 <= maxBytes) return;
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
  if (bytes <= maxBytes) return;
  throw new PhasegateError("EVIDENCE_TOO_LARGE", `the evidence is ${bytes} bytes of JSON; ${maxBytes} are allowed`, {
    remedy: "Save large results to files and hand in their paths and a summary.",
    details: { bytes, limit: maxBytes },
  });
}

function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return typeof value === "undefined" ? "undefined" : `a ${typeof value}`;
  return `a ${value.constructor?.name ?? "foreign object"}`;
}

function unsafe(problems: { path: string; reason: string }[]): PhasegateError<"EVIDENCE_UNSAFE"> {
  const list = problems.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  return new PhasegateError("EVIDENCE_UNSAFE", `the evidence is refused: ${list}`, {
    remedy: "Send evidence as plain JSON: an object of strings, finite numbers, booleans, lists and objects.",
    details: { problems },
  });
}
