/**
 * Computes an upper bound for the steps of a rule on given evidence, before it runs. CEL loops only in macros over
 * lists, so the number of nodes times the sizes of the lists around them bounds the steps. The sizes of results are
 * tracked too, because a text doubled forty times would otherwise seem free.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { PATTERN_STEPS_MAX } from "./patterns.js";
import {
  type Binding,
  bindingOf,
  type Comprehension,
  childrenOf,
  comprehensionOf,
  literalText,
  nodesOf,
} from "./tree.js";

/** Returns the maximum number of engine steps of a pattern per character. */
type PatternSteps = (pattern: string) => number;

/** The size of a value. */
interface Extent {
  /** Characters of a text, elements of a list, keys of an object; 0 of anything else. */
  readonly size: number;
  /** Steps to visit all of it. */
  readonly weight: number;
  /** The possible values, if they are known. */
  readonly values?: readonly unknown[];
}

/** Returns an upper bound for the steps of a rule. */
export function ruleCost(
  tree: ASTNode,
  variables: Readonly<Record<string, unknown>>,
  patternSteps: PatternSteps,
): number {
  const known = new Map<string, Extent>();
  const extent = (name: string) => {
    const found = known.get(name) ?? extentOf([variables[name]]);
    known.set(name, found);
    return found;
  };
  return costOf(tree, { extent, patternSteps }).steps;
}

/** The growth of a rule's cost with the evidence. */
export interface Growth {
  readonly nodes: number;
  /** Maximum number of nested macros. */
  readonly depth: number;
  /** True if no result is larger than `value`, so that the size of `value` bounds the cost. */
  readonly byValue: boolean;
}

/** A rule with more nodes is always bounded exactly. */
const NODES_MAX = 60;

/** Macros whose results are not larger than their lists. */
const MACROS = named("all exists exists_one filter");

/** Returns how the cost of a rule grows with the evidence; undefined if it can't exceed the rule's own size. */
export function growthOf(tree: ASTNode): Growth | undefined {
  const nodes = nodesOf(tree);
  if (nodes.length <= NODES_MAX && nodes.every(isFlat)) return undefined;
  const known = nodes.every((node) => isFlat(node) || MACROS.has(nameOf(node)));
  return { nodes: nodes.length, depth: depthOf(tree), byValue: known && isAboutValue(tree, new Set(["value"])) };
}

/**
 * Returns a rough bound from the size of the value. Without growing results, no list has more elements than the value
 * has characters and elements, times the nodes of the rule.
 */
export function quickBound({ nodes, depth }: Growth, value: unknown): number {
  return nodes * (nodes * charactersOf(value)) ** (depth + 1);
}

/** Maximum number of values that are inspected one by one; of more only the total is measured. */
const CANDIDATES_MAX = 10_000;

/** Returns the extent of any of these values. */
function extentOf(values: readonly unknown[]): Extent {
  let size = 0;
  let weight = 1;
  for (const value of values) {
    size = Math.max(size, sizeOf(value));
    weight = Math.max(weight, weightOf(value));
  }
  return values.length > CANDIDATES_MAX ? { size, weight } : { size, weight, values };
}

function sizeOf(value: unknown): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

/** Number of native steps over characters that cost as much as one step of a rule. */
const CHARACTERS_A_STEP = 32;

function weightOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_A_STEP;
  let weight = 1;
  for (const inner of membersOf(value)) weight += weightOf(inner);
  return weight;
}

function membersOf(value: unknown, key?: string): readonly unknown[] {
  if (value instanceof Map) return key === undefined ? [...value.values()] : [value.get(key)];
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return [];
  if (key === undefined) return Object.values(value);
  return Object.hasOwn(value, key) ? [Reflect.get(value, key)] : [];
}

interface Scope {
  /** Returns the extent of the value of a name. */
  extent(name: string): Extent;
  readonly patternSteps: PatternSteps;
}

/** The maximum steps of an expression, and the size of its result. */
interface Costed {
  readonly steps: number;
  readonly extent: Extent;
}

function costOf(node: ASTNode, scope: Scope): Costed {
  const comprehension = comprehensionOf(node);
  if (comprehension !== undefined) return costOfMacro(comprehension, scope);
  const binding = bindingOf(node);
  if (binding !== undefined) return costOfBinding(binding, scope);
  switch (node.op) {
    case "value":
      return { steps: 1, extent: extentOf([node.args]) };
    case "id":
      return { steps: 1, extent: scope.extent(node.args) };
    case ".":
      return member(costOf(node.args[0], scope), 1, node.args[1]);
    case "[]": {
      const key = node.args[1];
      return member(costOf(node.args[0], scope), costOf(key, scope).steps + 1, literalText(key));
    }
    case "rcall":
      return costOfCall(node.args[0], costsOf(childrenOf(node), scope), scope.patternSteps);
    case "call":
      return costOfCall(node.args[0], costsOf(node.args[1], scope), scope.patternSteps);
    case "?:": {
      const [test, yes, no] = node.args;
      const [one, other] = [costOf(yes, scope), costOf(no, scope)];
      const extent = eitherOf(one.extent, other.extent);
      return { steps: costOf(test, scope).steps + one.steps + other.steps, extent };
    }
    case "list":
    case "map": {
      const parts = costsOf(childrenOf(node), scope);
      const { weight } = together(parts.map(({ extent }) => extent));
      return { steps: stepsOf(parts), extent: { size: parts.length, weight } };
    }
    default:
      return costOfOperator(node.op, costsOf(childrenOf(node), scope));
  }
}

/** The extent of a number, a boolean or null. */
const SCALAR: Extent = { size: 0, weight: 1 };

function costOfMacro({ range, variable, body, gives }: Comprehension, scope: Scope) {
  const over = costOf(range, scope);
  const times = over.extent.size;
  const item = elementsOf(over.extent);
  const parts = costsOf(body, withName(scope, variable, item));
  const steps = over.steps + times * (stepsOf(parts) + 1);
  if (gives === "bool") return { steps, extent: SCALAR };
  if (gives === "elements") return { steps, extent: over.extent };
  // The last part is the result for each element; the one before it, if any, is the filter.
  const weight = Math.max(...parts.map(({ extent }) => extent.weight));
  return { steps, extent: { size: times, weight: 1 + times * weight } };
}

/** Returns the extent of a list's elements, or of an object's keys. */
function elementsOf(extent: Extent): Extent {
  const values = extent.values?.flatMap((value) => {
    if (Array.isArray(value)) return value;
    return typeof value === "object" && value !== null ? Object.keys(value) : [];
  });
  return values === undefined ? inside(extent) : extentOf(values);
}

/** Returns the extent of a member: under a key, or anywhere if no key is given. */
function inside({ values, weight }: Extent, key?: string): Extent {
  if (values === undefined) return { size: weight * CHARACTERS_A_STEP, weight };
  return extentOf(values.flatMap((value) => membersOf(value, key)));
}

function costsOf(nodes: readonly ASTNode[], scope: Scope): Costed[] {
  return nodes.map((node) => costOf(node, scope));
}

function withName(scope: Scope, variable: string, extent: Extent): Scope {
  return { ...scope, extent: (name) => (name === variable ? extent : scope.extent(name)) };
}

/** Returns the total steps. */
function stepsOf(parts: readonly Costed[]): number {
  return parts.reduce((total, { steps }) => total + steps, 0);
}

function costOfBinding({ variable, value, body }: Binding, scope: Scope): Costed {
  const bound = costOf(value, scope);
  const costed = costOf(body, withName(scope, variable, bound.extent));
  return { steps: bound.steps + costed.steps + 1, extent: costed.extent };
}

function member(of: Costed, steps: number, key: string | undefined): Costed {
  return { steps: of.steps + steps, extent: inside(of.extent, key) };
}

/** Functions that return neither text nor list. */
const GIVES_SCALAR: ReadonlySet<string> = new Set(
  "size has int uint double bool type contains startsWith endsWith matches_linear indexOf lastIndexOf isInteger ratio mod timestamp duration".split(
    " ",
  ),
);

/** Returns the cost of a function by the costs of its arguments. */
function costOfCall(name: string, parts: readonly Costed[], patternSteps: PatternSteps): Costed {
  const all = together(parts.map(({ extent }) => extent));
  const steps = stepsOf(parts) + workOfCall(name, parts, patternSteps) + 1;
  if (GIVES_SCALAR.has(name)) return { steps, extent: SCALAR };
  // The separator of a join is repeated for each element.
  const [list, between] = parts.map(({ extent }) => extent);
  if (name === "join" && list !== undefined) {
    return { steps: steps + list.weight, extent: textExtent(32 * list.weight + list.size * (between?.size ?? 0)) };
  }
  if (name === "split") return { steps, extent: splitExtent(list, between) ?? ofAnyParts(all.weight) };
  return { steps, extent: textExtent(32 * all.weight) };
}

/** Returns the extent of all of them in one value. */
function together(extents: readonly Extent[]): Extent {
  return {
    size: extents.reduce((sum, { size }) => sum + size, 0),
    weight: extents.reduce((sum, { weight }) => sum + weight, 1),
  };
}

/** Functions that search for a text in another. If both are repetitive, each position takes long. */
const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split"]);

function workOfCall(name: string, parts: readonly Costed[], patternSteps: PatternSteps): number {
  const extents = parts.map(({ extent }) => extent);
  const { weight } = together(extents);
  // `size` of a list visits no element.
  if (name === "size" || name === "has") return 1;
  const [text, by] = extents;
  if (text === undefined || by === undefined) return weight;
  if (SEARCHES.has(name)) return weight + text.weight * by.weight;
  return name === "matches_linear" ? weight * patternFactor(by, patternSteps) : weight;
}

/** Number of patterns whose steps are counted. Beyond it, and for patterns made by the rule, only the length counts. */
const PATTERNS_READ = 8;

/** Maximum number of steps for one character of a pattern: each of those in `(?:aaaa){1000}`. */
const STEPS_A_CHARACTER = 1000;

/** Factor by which matching is slower than reading the text, if the engine's cache helps. */
const PATTERN_FACTOR = 8;
/** The factor for each step per character, if the cache doesn't help. */
const PATTERN_STEP_FACTOR = 3;

function patternFactor({ size, values }: Extent, patternSteps: PatternSteps): number {
  const patterns = values?.filter((value) => typeof value === "string") ?? [];
  const isRead = values !== undefined && patterns.length <= PATTERNS_READ;
  const steps = isRead ? patterns.map(patternSteps) : [Math.min(STEPS_A_CHARACTER * size, PATTERN_STEPS_MAX)];
  return Math.max(PATTERN_FACTOR, ...steps.map((each) => PATTERN_STEP_FACTOR * each));
}

/** Returns the extent of a text of this length. */
function textExtent(characters: number): Extent {
  return { size: characters, weight: 1 + characters / CHARACTERS_A_STEP };
}

/** Maximum steps of a split that is done beforehand to know its parts. */
const SPLIT_MAX = 1_000_000;

/** Returns the extent of the parts of a known text, split by a known text. */
function splitExtent(text: Extent | undefined, between: Extent | undefined): Extent | undefined {
  const [by, ...others] = between?.values ?? [];
  if (typeof by !== "string" || others.length > 0 || text?.values === undefined) return undefined;
  if (textExtent(by.length).weight * text.weight > SPLIT_MAX) return undefined;
  return extentOf(text.values.map((value) => (typeof value === "string" ? value.split(by) : [])));
}

/** Returns the extent of an unknown split: as many parts as characters, each as long as the text. */
function ofAnyParts(weight: number): Extent {
  const { size } = textExtent(32 * weight);
  return { size, weight: 1 + 2 * size };
}

/** Returns the extent of one of two values. */
function eitherOf(a: Extent, b: Extent): Extent {
  const bounds = { size: Math.max(a.size, b.size), weight: Math.max(a.weight, b.weight) };
  if (a.values === undefined || b.values === undefined) return bounds;
  // Each once: `test ? a : a` in a chain of names would double them at every link.
  const values = [...new Set([...a.values, ...b.values])];
  return values.length > CANDIDATES_MAX ? bounds : { ...bounds, values };
}

/** Returns the cost of an operator by the costs of its operands. */
function costOfOperator(operator: string, parts: readonly Costed[]): Costed {
  const extents = parts.map(({ extent }) => extent);
  const own = stepsOf(parts) + 1;
  const [left = SCALAR, right = SCALAR] = extents;
  switch (operator) {
    case "+":
      return { steps: own + left.size + right.size, extent: together(extents) };
    case "in":
      return { steps: own + right.weight, extent: SCALAR };
    case "&&":
    case "||":
    case "!_":
    case "-_":
      return { steps: own, extent: SCALAR };
    default:
      return { steps: own + Math.min(left.weight, right.weight), extent: SCALAR };
  }
}

/** Operators and functions whose time doesn't grow with the evidence, or no faster than comparing a text does. */
const FLAT = named(
  "value id . [] ?: && || !_ -_ == != < <= > >= + - * / % in list size has int double type startsWith endsWith isInteger trim visible",
);

/** Maximum length of a text that is found in another in one pass. */
const SOUGHT_MAX = 64;

function isFlat(node: ASTNode): boolean {
  if (node.op !== "rcall" || node.args[0] !== "contains") return FLAT.has(nameOf(node));
  const sought = literalText(node.args[2][0]);
  return sought !== undefined && sought.length <= SOUGHT_MAX;
}

function named(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}

function nameOf(node: ASTNode): string {
  return node.op === "call" || node.op === "rcall" ? node.args[0] : node.op;
}

function depthOf(node: ASTNode): number {
  const inner = Math.max(0, ...childrenOf(node).map(depthOf));
  return comprehensionOf(node) === undefined ? inner : inner + 1;
}

function isAboutValue(node: ASTNode, names: ReadonlySet<string>): boolean {
  if (node.op === "id") return names.has(node.args);
  const macro = comprehensionOf(node);
  if (macro === undefined) return childrenOf(node).every((child) => isAboutValue(child, names));
  const inner = new Set([...names, macro.variable]);
  return isAboutValue(macro.range, names) && macro.body.every((part) => isAboutValue(part, inner));
}

/** Returns the number of characters and elements, plus one for each value. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length;
  let characters = 1;
  if (Array.isArray(value)) for (const item of value) characters += charactersOf(item);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) characters += key.length + charactersOf(item);
  }
  return characters;
}
