import { PythonFault } from "./python-tokens.js";
import type { Comparison, PythonNode } from "./python-tree.js";

/** What names in a Python expression stand for. */
export interface PythonScope {
  /** The language's expression for each name. */
  readonly names: ReadonlyMap<string, string>;
  /** Whether an expression of the language is known to be a text, where Python's `in` looks for a part. */
  isText(cel: string): boolean;
}

/** Types for `isinstance`, as a test of `@`. */
const INSTANCES: ReadonlyMap<string, string> = new Map([
  ["str", "type(@) == string"],
  ["bool", "type(@) == bool"],
  ["int", "isInteger(@)"],
  ["float", "type(@) in [int, double]"],
  ["list", "type(@) == list"],
  ["dict", "type(@) == map"],
]);

/** Methods of texts, each with how many arguments it takes. */
const METHODS: ReadonlyMap<string, readonly [cel: string, count: number]> = new Map([
  ["startswith", ["startsWith", 1]],
  ["endswith", ["endsWith", 1]],
  ["lower", ["lowerAscii", 0]],
  ["upper", ["upperAscii", 0]],
  ["strip", ["trim", 0]],
]);

/** An expression in CEL that says the same. Throws `PythonFault` at what has no twin. */
export function pythonToCel(node: PythonNode, scope: PythonScope): string {
  switch (node.kind) {
    case "name": {
      const cel = scope.names.get(node.name);
      if (cel === undefined) throw new PythonFault(node.at, `the name ${node.name}`);
      return cel;
    }
    case "constant":
      return constantToCel(node.value, node.at);
    case "list":
      return `[${node.items.map((item) => pythonToCel(item, scope)).join(", ")}]`;
    case "subscript":
      return `${operand(node.of, scope)}[${pythonToCel(node.key, scope)}]`;
    case "not":
      return `!${operand(node.of, scope)}`;
    case "minus":
      return `-${operand(node.of, scope)}`;
    case "and":
    case "or":
      return node.items.map((item) => operand(item, scope)).join(node.kind === "and" ? " && " : " || ");
    case "choice":
      return `${operand(node.test, scope)} ? ${operand(node.yes, scope)} : ${operand(node.no, scope)}`;
    case "arithmetic":
      return arithmetic(node, scope);
    case "compare":
      return comparisons(node.first, node.rest, scope);
    case "call":
      return call(node, scope);
    default:
      throw new PythonFault(node.at, nameOf(node));
  }
}

/** An expression as it can stand beside an operator. */
function operand(node: PythonNode, scope: PythonScope): string {
  const cel = pythonToCel(node, scope);
  return ["name", "constant", "list", "subscript", "call"].includes(node.kind) && !/^[-!]| (?:==|in|\?) /.test(cel)
    ? cel
    : `(${cel})`;
}

function arithmetic(node: Extract<PythonNode, { kind: "arithmetic" }>, scope: PythonScope): string {
  if (node.sign === "/") return `ratio(${pythonToCel(node.left, scope)}, ${pythonToCel(node.right, scope)})`;
  if (node.sign === "%") return `mod(${pythonToCel(node.left, scope)}, ${pythonToCel(node.right, scope)})`;
  return `${operand(node.left, scope)} ${node.sign} ${operand(node.right, scope)}`;
}

function comparisons(first: PythonNode, rest: readonly Comparison[], scope: PythonScope): string {
  let left = first;
  const parts = rest.map(({ sign, right }) => {
    const part = comparison(left, sign, right, scope);
    left = right;
    return part;
  });
  return parts.length === 1 ? parts.join("") : parts.map((part) => `(${part})`).join(" && ");
}

function comparison(left: PythonNode, sign: Comparison["sign"], right: PythonNode, scope: PythonScope): string {
  const isNone = right.kind === "constant" && right.value === null;
  if (sign === "is" || sign === "is not") {
    if (!isNone) throw new PythonFault(right.at, `${sign} with anything but None`);
    return none(left, sign === "is", scope);
  }
  if (isNone && (sign === "==" || sign === "!=")) return none(left, sign === "==", scope);
  if (sign === "in") return within(left, right, scope);
  if (sign === "not in") return `!(${within(left, right, scope)})`;
  return `${operand(left, scope)} ${sign} ${operand(right, scope)}`;
}

/** `None` is what isn't there: a field that was not handed in, too. */
function none(node: PythonNode, yes: boolean, scope: PythonScope): string {
  if (node.kind !== "subscript") return `dyn(${pythonToCel(node, scope)}) ${yes ? "==" : "!="} null`;
  const key = pythonToCel(node.key, scope);
  const of = operand(node.of, scope);
  if (node.key.kind !== "constant" || typeof node.key.value !== "string") {
    return `dyn(${of}[${key}]) ${yes ? "==" : "!="} null`;
  }
  const there = `${key} in ${of} && dyn(${of}[${key}]) != null`;
  return yes ? `!(${there})` : there;
}

function within(left: PythonNode, right: PythonNode, scope: PythonScope): string {
  const range = operand(right, scope);
  if (scope.isText(range)) return `${range}.contains(${pythonToCel(left, scope)})`;
  return `${operand(left, scope)} in ${range}`;
}

function call({ callee, args, at }: Extract<PythonNode, { kind: "call" }>, scope: PythonScope): string {
  const [first, second] = args;
  if (callee.kind === "attribute") return method(callee, args, scope);
  if (callee.kind !== "name" || first === undefined) throw new PythonFault(at, nameOf(callee));
  const { name } = callee;
  if (name === "len" && args.length === 1) return `size(${pythonToCel(first, scope)})`;
  if (name === "str" && args.length === 1) return `string(${pythonToCel(first, scope)})`;
  if (name === "isinstance" && second !== undefined && args.length === 2) return instance(first, second, scope);
  if ((name === "all" || name === "any") && first.kind === "each") {
    return each(first, name === "all" ? "all" : "exists", scope);
  }
  throw new PythonFault(at, `${name}(…)`);
}

function method(
  { of, name, at }: Extract<PythonNode, { kind: "attribute" }>,
  args: readonly PythonNode[],
  scope: PythonScope,
): string {
  const [first, second] = args.map((arg) => pythonToCel(arg, scope));
  if (name === "get" && first !== undefined && args.length <= 2) {
    const map = operand(of, scope);
    return `(${first} in ${map} ? dyn(${map}[${first}]) : dyn(${second ?? "null"}))`;
  }
  const [cel, count] = METHODS.get(name) ?? [];
  if (cel === undefined || args.length !== count) throw new PythonFault(at, `.${name}(…)`);
  return `${operand(of, scope)}.${cel}(${first ?? ""})`;
}

function instance(value: PythonNode, types: PythonNode, scope: PythonScope): string {
  const cel = pythonToCel(value, scope);
  const tests = (types.kind === "list" ? types.items : [types]).map((type) => {
    const test = type.kind === "name" ? INSTANCES.get(type.name) : undefined;
    if (test === undefined) throw new PythonFault(type.at, `isinstance with ${nameOf(type)}`);
    return `(${test.replace("@", () => cel)})`;
  });
  if (tests.length === 0) throw new PythonFault(types.at, "isinstance without a type");
  return `(${tests.join(" || ")})`;
}

function each(
  { element, variable, range, conditions }: Extract<PythonNode, { kind: "each" }>,
  macro: "all" | "exists",
  scope: PythonScope,
): string {
  // A name of our own: Python's may be a word or a variable of the language.
  const taken = [...scope.names.values()].filter((cel) => /^item\d*$/.test(cel)).length;
  const item = taken === 0 ? "item" : `item${taken + 1}`;
  const inner = { ...scope, names: new Map([...scope.names, [variable, item]]) };
  const filters = conditions.map((condition) => `.filter(${item}, ${pythonToCel(condition, inner)})`).join("");
  return `${operand(range, scope)}${filters}.${macro}(${item}, ${pythonToCel(element, inner)})`;
}

/** A constant as the language writes it. Throws `PythonFault` for a text that is no Unicode. */
export function constantToCel(value: string | number | bigint | boolean | null, at = 0): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : `${value}`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new PythonFault(at, "a text that is no Unicode");
  return JSON.stringify(value);
}

function nameOf(node: PythonNode): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "attribute":
      return `.${node.name}`;
    case "each":
      return "for … in";
    case "dict":
      return "a dict";
    default:
      return "this";
  }
}
