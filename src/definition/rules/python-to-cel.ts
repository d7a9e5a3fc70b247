import { constantToCel } from "./cel-constant.js";
import { callToCel, type PythonScope } from "./python-calls.js";
import { PythonFault } from "./python-tokens.js";
import { type Comparison, nameOf, type PythonNode } from "./python-tree.js";

/** The longest text that an expression becomes, in characters. */
const CEL_MAX = 10_000;

/**
 * An expression in CEL that says the same. Throws `PythonFault` at what has no twin, and where the text becomes too long:
 * CEL says `x.get('a')` with `x` written twice, so each of a chain doubles it.
 */
export function pythonToCel(node: PythonNode, scope: PythonScope): string {
  const cel = written(node, scope);
  if (cel.length > CEL_MAX) throw new PythonFault(node.at, `more than ${CEL_MAX} characters of CEL`, true);
  return cel;
}

function written(node: PythonNode, scope: PythonScope): string {
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
      return callToCel(node, scope, { cel: pythonToCel, operand });
    default:
      throw new PythonFault(node.at, nameOf(node));
  }
}

/** An expression as it can stand beside an operator. */
function operand(node: PythonNode, scope: PythonScope): string {
  const cel = pythonToCel(node, scope);
  const stands = ["name", "constant", "list", "subscript", "call"].includes(node.kind) && !cel.startsWith("-");
  return stands ? cel : `(${cel})`;
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
