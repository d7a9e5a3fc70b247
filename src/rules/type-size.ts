import type { ASTNode } from "@marcbachmann/cel-js";
import { bindingOf, childrenOf, comprehensionOf } from "./tree.js";
/** How long the name of a value's type may become, in characters. A rule of all its nodes comes to a third of that. */
export const TYPE_SIZE_MAX = 10_000;

/** How long the names of the types of variables are, by the names that a rule binds. */
type Scope = ReadonlyMap<string, number>;

/** The longest name of a type that is declared: `map<string, dyn>`, with some room. */
const DECLARED = 20;
/** What `list<>` and `map<, >` add to what they hold. */
const AROUND = 7;

/**
 * Returns how long the longest name of a type in a rule can become, in characters. The language writes types out in full,
 * and `cel.bind(b, {a: a}, cel.bind(c, {b: b}, …))` doubles them with each name: thirty of them take gigabytes. So this is
 * counted on the tree, before types are checked.
 */
export function typeSize(tree: ASTNode): number {
  return sizes(tree, new Map()).longest;
}

interface Sizes {
  /** Of the node's own type. */
  readonly own: number;
  /** Of the longest type below the node, its own included. */
  readonly longest: number;
}

function sizes(node: ASTNode, scope: Scope): Sizes {
  if (node.op === "value") return only(DECLARED);
  if (node.op === "id") return only(scope.get(node.args) ?? DECLARED);
  const binding = bindingOf(node);
  if (binding !== undefined) {
    const value = sizes(binding.value, scope);
    const body = sizes(binding.body, withName(scope, binding.variable, value.own));
    return of(body.own, [value, body]);
  }
  const macro = comprehensionOf(node);
  if (macro !== undefined) {
    const range = sizes(macro.range, scope);
    const inner = withName(scope, macro.variable, range.own);
    const body = macro.body.map((part) => sizes(part, inner));
    const owns = { bool: DECLARED, elements: range.own + AROUND, results: longestOwn(body) + AROUND };
    return of(owns[macro.gives], [range, ...body]);
  }
  const parts = childrenOf(node).map((child) => sizes(child, scope));
  if (node.op !== "map") return of(longestOwn(parts) + AROUND, parts);
  const keys = parts.filter((_, index) => index % 2 === 0);
  const values = parts.filter((_, index) => index % 2 === 1);
  return of(longestOwn(keys) + longestOwn(values) + AROUND, parts);
}

function withName(scope: Scope, name: string, size: number): Scope {
  return new Map([...scope, [name, size]]);
}

function longestOwn(parts: readonly Sizes[]): number {
  return Math.max(0, ...parts.map(({ own }) => own));
}

function only(own: number): Sizes {
  return { own, longest: own };
}

function of(own: number, parts: readonly Sizes[]): Sizes {
  return { own, longest: Math.max(own, ...parts.map(({ longest }) => longest)) };
}
