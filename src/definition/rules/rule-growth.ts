import type { ASTNode } from "@marcbachmann/cel-js";
import { childrenOf, comprehensionOf, literalText, nodesOf } from "./rule-tree.js";

/** Operators and functions whose time doesn't grow with the evidence, or no faster than comparing a text does. */
const FLAT = named(
  "value id . [] ?: && || !_ -_ == != < <= > >= + - * / % in list size has int double type startsWith endsWith isInteger trim visible",
);
/** Macros whose results are no larger than what they go over. */
const MACROS = named("all exists exists_one filter");
/** The longest text that is found in another as fast as one is gone through. */
const SOUGHT_MAX = 64;
/** A longer rule is looked at whatever it holds. */
const NODES_MAX = 60;

/** What a rule's text says of what it can cost. */
export interface Growth {
  readonly nodes: number;
  /** How many macros stand in one another. */
  readonly depth: number;
  /** Whether nothing in it outgrows `value`, so that a look at that bounds it. */
  readonly byValue: boolean;
}

/** How a rule's cost grows with the evidence; undefined where it can't be more than its text. */
export function growthOf(tree: ASTNode): Growth | undefined {
  const nodes = nodesOf(tree);
  if (nodes.length <= NODES_MAX && nodes.every(isFlat)) return undefined;
  const known = nodes.every((node) => isFlat(node) || MACROS.has(nameOf(node)));
  return { nodes: nodes.length, depth: depthOf(tree), byValue: known && isAboutValue(tree, new Set(["value"])) };
}

/**
 * A bound that is had by one look at the value: without results that grow, no list is longer than all of
 * the value's characters and elements as often as the rule has nodes.
 */
export function quickBound({ nodes, depth }: Growth, value: unknown): number {
  return nodes * (nodes * charactersOf(value)) ** (depth + 1);
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

/** Characters and elements, one for each value itself. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length;
  let characters = 1;
  if (Array.isArray(value)) for (const item of value) characters += charactersOf(item);
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) characters += key.length + charactersOf(item);
  }
  return characters;
}

function isFlat(node: ASTNode): boolean {
  if (node.op !== "rcall" || node.args[0] !== "contains") return FLAT.has(nameOf(node));
  const sought = literalText(node.args[2][0]);
  return sought !== undefined && sought.length <= SOUGHT_MAX;
}

function nameOf(node: ASTNode): string {
  return node.op === "call" || node.op === "rcall" ? node.args[0] : node.op;
}

function named(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}
