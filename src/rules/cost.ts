/**
 * Computes an upper bound for the steps of a rule on given evidence, before it runs. CEL loops only in macros over
 * lists, so the number of nodes times the sizes of the lists around them bounds the steps. The sizes of results are
 * tracked too, because a text doubled forty times would otherwise seem free.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { PATTERN_STEPS_MAX } from "./patterns.js";
import { childrenOf, literalText, type Naming, namingOf, nodesOf } from "./tree.js";

/** Returns an upper bound for the steps of a rule. `patternSteps` gives those of a pattern per character. */
export function ruleCost(
  tree: ASTNode,
  variables: Readonly<Record<string, unknown>>,
  patternSteps: (pattern: string) => number,
): number {
  const known = new Map<string, Extent>();
  const extent = (name: string) => {
    const found = known.get(name) ?? extentOf([variables[name]]);
    known.set(name, found);
    return found;
  };
  return costOf(tree, { extent, patternSteps }).steps;
}

/** A rule with more nodes is always bounded. */
const NODES_MAX = 60;

/** Checks whether the time of a rule can grow with the evidence. A rule that can't is never refused. */
export function canGrow(tree: ASTNode): boolean {
  const nodes = nodesOf(tree);
  return nodes.length > NODES_MAX || !nodes.every(isFlat);
}

/** Operators and functions whose time doesn't grow with the evidence, or no faster than comparing a text does. */
const FLAT = named(
  "value id . [] ?: && || !_ -_ == != < <= > >= + - * / % in list size has int double type startsWith endsWith isInteger trim visible",
);

/** Maximum length of a text that is found in another in one pass. */
const SOUGHT_MAX = 64;

function isFlat(node: ASTNode): boolean {
  if (node.op === "rcall" && node.args[0] === "contains") {
    const sought = literalText(node.args[2][0]);
    return sought !== undefined && sought.length <= SOUGHT_MAX;
  }
  return FLAT.has(node.op === "call" || node.op === "rcall" ? node.args[0] : node.op);
}

function named(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}

interface Extent {
  /** Characters of a text, elements of a list, keys of an object; 0 of anything else. */
  readonly size: number;
  /** Steps to visit all of it. */
  readonly weight: number;
  /** The possible values, if they are known. */
  readonly values?: readonly unknown[];
}

/** The extent of a number, a boolean or null. */
const SCALAR: Extent = { size: 0, weight: 1 };

/** Maximum number of values that are inspected one by one; of more only the total is measured. */
const CANDIDATES_MAX = 10_000;

/** Returns the extent of any of these values. */
function extentOf(values: readonly unknown[]): Extent {
  let size = 0;
  let weight = 1;
  for (const value of values) {
    size = Math.max(size, typeof value === "string" ? value.length : membersOf(value).length);
    weight = Math.max(weight, weightOf(value));
  }
  return values.length > CANDIDATES_MAX ? { size, weight } : { size, weight, values };
}

/** Number of native steps over characters that cost as much as one step of a rule. */
const CHARACTERS_A_STEP = 32;

function weightOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_A_STEP;
  return membersOf(value).reduce<number>((weight, member) => weight + weightOf(member), 1);
}

function membersOf(value: unknown, key?: string): readonly unknown[] {
  if (value instanceof Map) return key === undefined ? [...value.values()] : [value.get(key)];
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return [];
  if (key === undefined) return Object.values(value);
  return Object.hasOwn(value, key) ? [Reflect.get(value, key)] : [];
}

/** Returns the extent of a member: under a key, or anywhere if no key is given. */
function inside({ values, weight }: Extent, key?: string): Extent {
  if (values === undefined) return { size: weight * CHARACTERS_A_STEP, weight };
  return extentOf(values.flatMap((value) => membersOf(value, key)));
}

/** Returns the extent of a list's elements, or of an object's keys. */
function elementsOf(extent: Extent): Extent {
  const values = extent.values?.flatMap((value) => {
    if (Array.isArray(value)) return value;
    return typeof value === "object" && value !== null ? Object.keys(value) : [];
  });
  return values === undefined ? inside(extent) : extentOf(values);
}

/** Returns the extent of all of them in one value. */
function together(extents: readonly Extent[]): Extent {
  return {
    size: extents.reduce((sum, { size }) => sum + size, 0),
    weight: extents.reduce((sum, { weight }) => sum + weight, 1),
  };
}

/** Returns the extent of one of two values. */
function eitherOf(a: Extent, b: Extent): Extent {
  const bounds = { size: Math.max(a.size, b.size), weight: Math.max(a.weight, b.weight) };
  if (a.values === undefined || b.values === undefined) return bounds;
  // Each once: `test ? a : a` in a chain of names would double them at every link.
  const values = [...new Set([...a.values, ...b.values])];
  return values.length > CANDIDATES_MAX ? bounds : { ...bounds, values };
}

function textExtent(characters: number): Extent {
  return { size: characters, weight: 1 + characters / CHARACTERS_A_STEP };
}

interface Scope {
  /** Returns the extent of the value of a name. */
  extent(name: string): Extent;
  /** Returns the maximum number of engine steps of a pattern per character. */
  patternSteps(pattern: string): number;
}

/** The maximum steps of an expression, and the size of its result. */
interface Costed {
  readonly steps: number;
  readonly extent: Extent;
}

function costOf(node: ASTNode, scope: Scope): Costed {
  const naming = namingOf(node);
  if (naming !== undefined) return costOfNaming(naming, scope);
  if (node.op === "value") return { steps: 1, extent: extentOf([node.args]) };
  if (node.op === "id") return { steps: 1, extent: scope.extent(node.args) };
  const parts = childrenOf(node).map((child) => costOf(child, scope));
  const steps = stepsOf(parts);
  const extents = parts.map(({ extent }) => extent);
  const [left = SCALAR, right = SCALAR, third = SCALAR] = extents;
  switch (node.op) {
    case ".":
      return { steps: steps + 1, extent: inside(left, node.args[1]) };
    case "[]":
      return { steps: steps + 1, extent: inside(left, literalText(node.args[1])) };
    case "call":
    case "rcall":
      return costOfCall(node.args[0], steps, extents, scope);
    case "?:":
      return { steps, extent: eitherOf(right, third) };
    case "list":
    case "map":
      return { steps, extent: { size: parts.length, weight: together(extents).weight } };
    case "+":
      return { steps: steps + 1 + left.size + right.size, extent: together(extents) };
    case "in":
      return { steps: steps + 1 + right.weight, extent: SCALAR };
    case "&&":
    case "||":
    case "!_":
    case "-_":
      return { steps: steps + 1, extent: SCALAR };
    default:
      return { steps: steps + 1 + Math.min(left.weight, right.weight), extent: SCALAR };
  }
}

function stepsOf(parts: readonly Costed[]): number {
  return parts.reduce((total, { steps }) => total + steps, 0);
}

function costOfNaming({ name, of, body, gives }: Naming, scope: Scope): Costed {
  const named = costOf(of, scope);
  const times = gives === "body" ? 1 : named.extent.size;
  const item = gives === "body" ? named.extent : elementsOf(named.extent);
  const inner = { ...scope, extent: (other: string) => (other === name ? item : scope.extent(other)) };
  const parts = body.map((part) => costOf(part, inner));
  const steps = named.steps + times * (stepsOf(parts) + 1);
  const results = parts.map(({ extent }) => extent);
  if (gives === "bool") return { steps, extent: SCALAR };
  if (gives === "elements") return { steps, extent: named.extent };
  if (gives === "body") return { steps, extent: results[0] ?? SCALAR };
  // The last part is the result for each element; the one before it, if any, is the filter.
  const weight = Math.max(...results.map((extent) => extent.weight));
  return { steps, extent: { size: times, weight: 1 + times * weight } };
}

/** Functions that return neither text nor list. */
const GIVES_SCALAR = named(
  "size has int uint double bool type contains startsWith endsWith matches_linear indexOf lastIndexOf isInteger ratio mod timestamp duration",
);

/** Returns the cost of a function by the steps and extents of its arguments. */
function costOfCall(name: string, before: number, extents: readonly Extent[], scope: Scope): Costed {
  const { weight } = together(extents);
  const steps = before + workOfCall(name, weight, extents, scope) + 1;
  if (GIVES_SCALAR.has(name)) return { steps, extent: SCALAR };
  // The separator of a join is repeated for each element.
  const [list = SCALAR, between = SCALAR] = extents;
  if (name === "join") {
    return { steps: steps + list.weight, extent: textExtent(32 * list.weight + list.size * between.size) };
  }
  if (name === "split") return { steps, extent: splitExtent(list, between) ?? ofAnyParts(weight) };
  return { steps, extent: textExtent(32 * weight) };
}

/** Functions that search for a text in another. If both are repetitive, each position takes long. */
const SEARCHES = named("contains indexOf lastIndexOf split");

function workOfCall(name: string, weight: number, extents: readonly Extent[], scope: Scope): number {
  // `size` of a list visits no element.
  if (name === "size" || name === "has") return 1;
  const [text = SCALAR, by = SCALAR] = extents;
  if (SEARCHES.has(name)) return weight + text.weight * by.weight;
  return name === "matches_linear" ? weight * patternFactor(by, scope) : weight;
}

/** Number of patterns whose steps are counted. Beyond it, and for patterns made by the rule, only the length counts. */
const PATTERNS_READ = 8;

/** Maximum number of steps for one character of a pattern: each of those in `(?:aaaa){1000}`. */
const STEPS_A_CHARACTER = 1000;

/** Factor by which matching is slower than reading the text, if the engine's cache helps. */
const PATTERN_FACTOR = 8;
/** The factor for each step per character, if the cache doesn't help. */
const PATTERN_STEP_FACTOR = 3;

function patternFactor({ size, values }: Extent, { patternSteps }: Scope): number {
  const patterns = values?.filter((value) => typeof value === "string");
  const isRead = patterns !== undefined && patterns.length <= PATTERNS_READ;
  const steps = isRead ? patterns.map(patternSteps) : [Math.min(STEPS_A_CHARACTER * size, PATTERN_STEPS_MAX)];
  return Math.max(PATTERN_FACTOR, ...steps.map((each) => PATTERN_STEP_FACTOR * each));
}

/** Maximum steps of a split that is done beforehand to know its parts. */
const SPLIT_MAX = 1_000_000;

/** Returns the extent of the parts of a known text, split by a known text. */
function splitExtent(text: Extent, between: Extent): Extent | undefined {
  const [by, ...others] = between.values ?? [];
  if (typeof by !== "string" || others.length > 0 || text.values === undefined) return undefined;
  if (textExtent(by.length).weight * text.weight > SPLIT_MAX) return undefined;
  return extentOf(text.values.map((value) => (typeof value === "string" ? value.split(by) : [])));
}

/** Returns the extent of an unknown split: as many parts as characters, each as long as the text. */
function ofAnyParts(weight: number): Extent {
  return { size: 32 * weight, weight: 1 + 64 * weight };
}
