/** Reads CEL's syntax tree: children, constants, names, and a bound on the length of its type names. */
import type { ASTNode } from "@marcbachmann/cel-js";

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

/** The key that a node reads or looks for. */
interface ReadKey {
  /** The value that it is a key of. */
  readonly of: ASTNode;
  /** The key, if it is a constant. */
  readonly key: string | undefined;
  /** The node of the constant; missing for a name after a point. */
  readonly literal?: ASTNode;
}

/** Returns the key that a node reads or looks for, and the value that it is a key of. */
export function keyIn(node: ASTNode): ReadKey | undefined {
  if (node.op === ".") return { of: node.args[0], key: node.args[1] };
  const [of, key] = node.op === "[]" ? node.args : node.op === "in" ? [node.args[1], node.args[0]] : [];
  if (of === undefined || key === undefined) return undefined;
  return key.op === "value" ? { of, key: String(key.args), literal: key } : { of, key: undefined };
}

/** Returns the variable and the key of `variable.key` and `variable["key"]`. */
export function memberOf(node: ASTNode): { readonly of: string; readonly key: string | undefined } | undefined {
  if ((node.op !== "." && node.op !== "[]") || node.args[0].op !== "id") return undefined;
  const [of, key] = node.args;
  return { of: of.args, key: typeof key === "string" ? key : literalText(key) };
}

/** An expression in which a name stands for something: a macro, or `cel.bind(name, value, body)`. */
export interface Naming {
  readonly name: string;
  /** The list or object whose elements or keys have the name; the value that has it. */
  readonly of: ASTNode;
  /** The expressions that see the name. */
  readonly body: readonly ASTNode[];
  /** The kind of result; that of a binding is its body. */
  readonly gives: "bool" | "elements" | "results" | "body";
}

const NAMINGS = new Map<string, Naming["gives"]>([
  ["all", "bool"],
  ["exists", "bool"],
  ["exists_one", "bool"],
  ["map", "results"],
  ["filter", "elements"],
  ["bind", "body"],
]);

/** Returns the macro or binding that a node is, if it is one. */
export function namingOf(node: ASTNode): Naming | undefined {
  if (node.op !== "rcall") return undefined;
  const [called, receiver, [variable, ...rest]] = node.args;
  const gives = NAMINGS.get(called);
  if (gives === undefined || variable?.op !== "id") return undefined;
  const [of, ...body] = gives === "body" ? rest : [receiver, ...rest];
  return of === undefined ? undefined : { name: variable.args, of, body, gives };
}

/** Maximum length of a type's name, in characters. A rule with the maximum number of nodes reaches a third of it. */
export const TYPE_SIZE_MAX = 10_000;
/** Longest name of a declared type, `map<string, dyn>`, with a margin. */
const DECLARED = 20;
/** The characters that `list<>` and `map<, >` add. */
const AROUND = 7;

/**
 * Returns the maximum length of a type's name in a rule, in characters. CEL writes types out in full, and `cel.bind(b,
 * {a: a}, cel.bind(c, {b: b}, …))` doubles them with each name: thirty of them take gigabytes. So this is computed on
 * the tree before types are checked.
 */
export function typeSize(node: ASTNode, names: ReadonlyMap<string, number> = new Map()): number {
  if (node.op === "value") return DECLARED;
  if (node.op === "id") return names.get(node.args) ?? DECLARED;
  const longest = (sizes: readonly number[]) => Math.max(0, ...sizes);
  const naming = namingOf(node);
  if (naming !== undefined) {
    const of = typeSize(naming.of, names);
    const inner = new Map([...names, [naming.name, of]]);
    const size = longest([of, ...naming.body.map((part) => typeSize(part, inner))]);
    return naming.gives === "body" ? size : size + AROUND;
  }
  const longestOf = (parts: readonly ASTNode[]) => longest(parts.map((part) => typeSize(part, names)));
  if (node.op !== "map") return longestOf(childrenOf(node)) + AROUND;
  return longestOf(node.args.map(([key]) => key)) + longestOf(node.args.map(([, value]) => value)) + AROUND;
}
