import { PythonFault } from "./python-tokens.js";
import { nameOf, type PythonNode } from "./python-tree.js";

/** What names in a Python expression stand for. */
export interface PythonScope {
  /** The language's expression for each name. */
  readonly names: ReadonlyMap<string, string>;
  /** Whether an expression of the language is known to be a text, where Python's `in` looks for a part. */
  isText(cel: string): boolean;
}

/** How the parts of an expression are written: alone, and as they can stand beside an operator. */
interface Write {
  cel(node: PythonNode, scope: PythonScope): string;
  operand(node: PythonNode, scope: PythonScope): string;
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

/** The most types that a value is compared with: the value is written once for each. */
const TYPES_MAX = 20;

/** Methods of texts, each with how many arguments it takes. */
const METHODS: ReadonlyMap<string, readonly [cel: string, count: number]> = new Map([
  ["startswith", ["startsWith", 1]],
  ["endswith", ["endsWith", 1]],
  ["lower", ["lowerAscii", 0]],
  ["upper", ["upperAscii", 0]],
  ["strip", ["trim", 0]],
]);

/** A call that has a twin. Throws `PythonFault` for any other. */
export function callToCel(
  { callee, args, at }: Extract<PythonNode, { kind: "call" }>,
  scope: PythonScope,
  write: Write,
): string {
  const [first, second] = args;
  if (callee.kind === "attribute") return method(callee, args, scope, write);
  if (callee.kind !== "name" || first === undefined) throw new PythonFault(at, nameOf(callee));
  const { name } = callee;
  if (name === "len" && args.length === 1) return `size(${write.cel(first, scope)})`;
  if (name === "str" && args.length === 1) return `string(${write.cel(first, scope)})`;
  if (name === "isinstance" && second !== undefined && args.length === 2) return instance(first, second, scope, write);
  if ((name === "all" || name === "any") && first.kind === "each") {
    return each(first, name === "all" ? "all" : "exists", scope, write);
  }
  throw new PythonFault(at, `${name}(…)`);
}

function method(
  { of, name, at }: Extract<PythonNode, { kind: "attribute" }>,
  args: readonly PythonNode[],
  scope: PythonScope,
  write: Write,
): string {
  const [first, second] = args.map((arg) => write.cel(arg, scope));
  if (name === "get" && first !== undefined && args.length <= 2) {
    const map = write.operand(of, scope);
    return `(${first} in ${map} ? dyn(${map}[${first}]) : dyn(${second ?? "null"}))`;
  }
  const [cel, count] = METHODS.get(name) ?? [];
  if (cel === undefined || args.length !== count) throw new PythonFault(at, `.${name}(…)`);
  return `${write.operand(of, scope)}.${cel}(${first ?? ""})`;
}

function instance(value: PythonNode, types: PythonNode, scope: PythonScope, write: Write): string {
  const cel = write.cel(value, scope);
  const all = types.kind === "list" ? types.items : [types];
  if (all.length > TYPES_MAX) throw new PythonFault(types.at, `more than ${TYPES_MAX} types`, true);
  const tests = all.map((type) => {
    const test = type.kind === "name" ? INSTANCES.get(type.name) : undefined;
    if (test === undefined) throw new PythonFault(type.at, `isinstance with ${nameOf(type)}`);
    return `(${test.replace("@", () => cel)})`;
  });
  if (tests.length === 0) throw new PythonFault(types.at, "isinstance without a type");
  return tests.length === 1 ? tests.join("") : `(${tests.join(" || ")})`;
}

function each(
  { element, variable, range, conditions }: Extract<PythonNode, { kind: "each" }>,
  macro: "all" | "exists",
  scope: PythonScope,
  write: Write,
): string {
  // A name of our own: Python's may be a word or a variable of the language.
  const taken = [...scope.names.values()].filter((cel) => /^item\d*$/.test(cel)).length;
  const item = taken === 0 ? "item" : `item${taken + 1}`;
  const inner = { ...scope, names: new Map([...scope.names, [variable, item]]) };
  const filters = conditions.map((condition) => `.filter(${item}, ${write.cel(condition, inner)})`).join("");
  return `${write.operand(range, scope)}${filters}.${macro}(${item}, ${write.cel(element, inner)})`;
}
