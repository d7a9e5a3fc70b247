/** Reads CEL's syntax tree: children, constants, macros and bindings, and a bound on the length of its type names. */
import type { ASTNode } from "@marcbachmann/cel-js";

/** Returns the parts of a node, in order. */
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
    case "map":
      return node.args.flat();
    case "!_":
    case "-_":
      return [node.args];
    default:
      return node.args;
  }
}

/** Returns all nodes of a tree, the root first. The parser limits its depth. */
export function nodesOf(root: ASTNode): ASTNode[] {
  return [root, ...childrenOf(root).flatMap(nodesOf)];
}

/** Returns the text of a constant; undefined for other nodes. */
export function literalText(node: ASTNode | undefined): string | undefined {
  return node?.op === "value" && typeof node.args === "string" ? node.args : undefined;
}

/** Returns the variable and the key of `variable.key` and `variable["key"]`. */
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
  /** The expression for each element. */
  readonly body: readonly ASTNode[];
  /** The kind of result. */
  readonly gives: "bool" | "elements" | "results";
}

const MACROS = new Map<string, Comprehension["gives"]>([
  ["all", "bool"],
  ["exists", "bool"],
  ["exists_one", "bool"],
  ["map", "results"],
  ["filter", "elements"],
]);

/** Returns the macro that a node is, if it is one. */
export function comprehensionOf(node: ASTNode): Comprehension | undefined {
  if (node.op !== "rcall") return undefined;
  const [name, range, [variable, ...body]] = node.args;
  const gives = MACROS.get(name);
  if (gives === undefined || variable?.op !== "id" || body.length === 0) return undefined;
  return { range, variable: variable.args, body, gives };
}

/** A name for a value inside an expression: `cel.bind(name, value, body)`. */
export interface Binding {
  readonly variable: string;
  readonly value: ASTNode;
  readonly body: ASTNode;
}

/** Returns the binding that a node is, if it is one. */
export function bindingOf(node: ASTNode): Binding | undefined {
  if (node.op !== "rcall" || node.args[0] !== "bind" || node.args[1].op !== "id") return undefined;
  const [variable, value, body] = node.args[2];
  if (variable?.op !== "id" || value === undefined || body === undefined) return undefined;
  return { variable: variable.args, value, body };
}

/** Maximum length of a type's name, in characters. A rule with the maximum number of nodes reaches a third of it. */
export const TYPE_SIZE_MAX = 10_000;

/**
 * Returns the maximum length of a type's name in a rule, in characters. CEL writes types out in full, and `cel.bind(b,
 * {a: a}, cel.bind(c, {b: b}, …))` doubles them with each name: thirty of them take gigabytes. So this is computed on
 * the tree before types are checked.
 */
export function typeSize(tree: ASTNode): number {
  return sizes(tree, new Map()).longest;
}

/** The lengths of the types of bound names. */
type Scope = ReadonlyMap<string, number>;

interface Sizes {
  /** The length of the node's own type. */
  readonly own: number;
  /** The longest type in the node. */
  readonly longest: number;
}

/** Longest name of a declared type, `map<string, dyn>`, with a margin. */
const DECLARED = 20;
/** The characters that `list<>` and `map<, >` add. */
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
