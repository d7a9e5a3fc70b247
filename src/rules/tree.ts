import type { ASTNode } from "@marcbachmann/cel-js";

/** The parts of a node, in their order. */
export function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case "value":
    case "id":
      return [];
    case ".":
    case ".?":
      return [node.args[0]];
    case "call":
      return node.args[1];
    case "rcall":
      return [node.args[1], ...node.args[2]];
    case "list":
      return node.args;
    case "map":
      return node.args.flat();
    case "!_":
    case "-_":
      return [node.args];
    default:
      return node.args;
  }
}

/** All nodes of a tree, the whole first. Its depth is bounded by the parser. */
export function nodesOf(root: ASTNode): ASTNode[] {
  return [root, ...childrenOf(root).flatMap(nodesOf)];
}

/** The text that a node is, where it is one. */
export function literalText(node: ASTNode | undefined): string | undefined {
  return node?.op === "value" && typeof node.args === "string" ? node.args : undefined;
}

/** The variable and the key of `variable.key` and `variable["key"]`. */
export function memberOf(node: ASTNode): { readonly of: string; readonly key: string | undefined } | undefined {
  if (node.op === "." && node.args[0].op === "id") return { of: node.args[0].args, key: node.args[1] };
  if (node.op === "[]" && node.args[0].op === "id") {
    return { of: node.args[0].args, key: literalText(node.args[1]) };
  }
  return undefined;
}

/** A macro over the elements of a list or the keys of an object. */
export interface Comprehension {
  readonly range: ASTNode;
  readonly variable: string;
  /** What is worked out for each element. */
  readonly body: readonly ASTNode[];
  /** Whether the result has an element for each: `map`, `filter`. */
  readonly gives: "bool" | "elements" | "results";
}

const MACROS = new Map<string, Comprehension["gives"]>([
  ["all", "bool"],
  ["exists", "bool"],
  ["exists_one", "bool"],
  ["map", "results"],
  ["filter", "elements"],
]);

/** What a node goes through, where it is such a macro. */
export function comprehensionOf(node: ASTNode): Comprehension | undefined {
  if (node.op !== "rcall") return undefined;
  const [name, range, [variable, ...body]] = node.args;
  const gives = MACROS.get(name);
  if (gives === undefined || variable?.op !== "id" || body.length === 0) return undefined;
  return { range, variable: variable.args, body, gives };
}

/** A name that is given to a value for the length of an expression: `cel.bind(name, value, body)`. */
export interface Binding {
  readonly variable: string;
  readonly value: ASTNode;
  readonly body: ASTNode;
}

/** The binding that a node is. */
export function bindingOf(node: ASTNode): Binding | undefined {
  if (node.op !== "rcall" || node.args[0] !== "bind" || node.args[1].op !== "id") return undefined;
  const [variable, value, body] = node.args[2];
  if (variable?.op !== "id" || value === undefined || body === undefined) return undefined;
  return { variable: variable.args, value, body };
}

/** How long the name of a value's type may become, in characters. A rule of all its nodes comes to a third of that. */
export const TYPE_SIZE_MAX = 10_000;

/**
 * Returns how long the longest name of a type in a rule can become, in characters. The language writes types out in full,
 * and `cel.bind(b, {a: a}, cel.bind(c, {b: b}, …))` doubles them with each name: thirty of them take gigabytes. So this is
 * counted on the tree, before types are checked.
 */
export function typeSize(tree: ASTNode): number {
  return sizes(tree, new Map()).longest;
}

/** How long the names of the types of variables are, by the names that a rule binds. */
type Scope = ReadonlyMap<string, number>;

interface Sizes {
  /** Of the node's own type. */
  readonly own: number;
  /** Of the longest type below the node, its own included. */
  readonly longest: number;
}

/** The longest name of a type that is declared: `map<string, dyn>`, with some room. */
const DECLARED = 20;
/** What `list<>` and `map<, >` add to what they hold. */
const AROUND = 7;

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

function only(own: number): Sizes {
  return { own, longest: own };
}

function withName(scope: Scope, name: string, size: number): Scope {
  return new Map([...scope, [name, size]]);
}

function of(own: number, parts: readonly Sizes[]): Sizes {
  return { own, longest: Math.max(own, ...parts.map(({ longest }) => longest)) };
}

function longestOwn(parts: readonly Sizes[]): number {
  return Math.max(0, ...parts.map(({ own }) => own));
}
