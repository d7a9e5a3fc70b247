/**
 * Turns the text of a rule, in CEL or as a Python lambda, into CEL. A lambda is parsed, never evaluated; where the two
 * languages differ, the result calls functions with Python's meaning.
 */
import { shown } from "../workflow/names.js";
import { PythonFault, type PythonNode, parseLambda } from "./python.js";
import type { RuleField } from "./rule-types.js";

/** The subject of a rule: a field's value, whose type may not be known yet, or the evidence as a whole. */
type RuleAbout = { readonly type: RuleField["type"] } | "evidence";

/** The rule in CEL, or the reason that it can't be converted. */
type RuleText =
  | { readonly ok: true; readonly cel: string }
  | { readonly ok: false; readonly message: string; readonly hint: string };

const RULES_PAGE = 'see "The language of rules" in phasegate\'s docs/gates.md.';

/** Reads a rule's text. `lambda x: len(x) > 2` and `size(value) > 2` are the same rule. */
export function readRuleText(text: string, about: RuleAbout, fields: readonly RuleField[]): RuleText {
  const source = text.trim();
  if (!/^lambda\b/.test(source)) return { ok: true, cel: source };
  try {
    const { parameters, body } = parseLambda(source);
    const meanings = about === "evidence" ? ["evidence", "session"] : ["value", "params", "evidence"];
    if (parameters.length > meanings.length) throw new PythonFault(0, `a lambda of ${parameters.length} parameters`);
    const names = new Map(parameters.map((name, index) => [name, meanings[index] ?? ""]));
    return { ok: true, cel: pythonToCel(body, { names, isText: isText(about, fields) }) };
  } catch (error) {
    if (!(error instanceof PythonFault)) throw error;
    const { message: what, at, isTooMuch } = error;
    const because = isTooMuch ? `: it has ${what}` : ` because of ${shown(what)}`;
    const message = `the lambda can't be translated to a rule${because}, at character ${at + 1}`;
    if (isTooMuch) return { ok: false, message, hint: SHORTER };
    return { ok: false, message, hint: `Write the rule in CEL, as in ${exampleFor(what, about)}; ${RULES_PAGE}` };
  }
}

const SHORTER = "Make it shorter, or split it into two rules; or write it in CEL, where cel.bind names a value.";

/** Examples for Python features that CEL lacks, by the words of the error. */
const EQUIVALENTS: readonly (readonly [RegExp, string])[] = [
  [/^re\b|^\.(?:match|search|fullmatch)/, 'value.matches("^[a-z]+$")'],
  [/^(?:sum|min|max|sorted|len|set|filter|map|abs|round)\b/, "size(value) >= 3 && value.all(item, item > 0)"],
  [/^(?:all|any)\b/, "value.all(item, item == true)"],
  [/^\.count|^\.find|^\.index/, 'value.contains("part")'],
  [/^for\b/, "value.map(item, item * 2)"],
];

function exampleFor(what: string, about: RuleAbout): string {
  if (about === "evidence") return "evidence.passed == evidence.total";
  return EQUIVALENTS.find(([pattern]) => pattern.test(what))?.[1] ?? 'size(value) >= 3 && value != "todo"';
}

interface PythonScope {
  /** The CEL expression for each name. */
  readonly names: ReadonlyMap<string, string>;
  /** Checks whether a CEL expression is known to be a text, for which Python's `in` searches a part. */
  isText(cel: string): boolean;
}

/** Maximum length of a converted expression, in characters. */
const CEL_MAX = 10_000;

/**
 * Returns an expression in CEL. Throws `PythonFault` if there is no equivalent, or if the text becomes too long:
 * `x.get('a')` needs `x` twice in CEL, so chains double it.
 */
function pythonToCel(node: PythonNode, scope: PythonScope): string {
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
    case "arithmetic": {
      const { sign, left, right } = node;
      const exact = sign === "/" ? "ratio" : sign === "%" ? "mod" : undefined;
      if (exact !== undefined) return `${exact}(${pythonToCel(left, scope)}, ${pythonToCel(right, scope)})`;
      return `${operand(left, scope)} ${sign} ${operand(right, scope)}`;
    }
    case "compare": {
      const parts = node.rest.map(({ sign, right }, index) => {
        return comparison(node.rest[index - 1]?.right ?? node.first, sign, right, scope);
      });
      return parts.map((part) => (parts.length === 1 ? part : `(${part})`)).join(" && ");
    }
    case "call":
      return callToCel(node, scope);
    default:
      throw new PythonFault(node.at, nameOf(node));
  }
}

/** Returns the words for an expression that has no equivalent in CEL. */
function nameOf(node: PythonNode): string {
  if (node.kind === "name") return node.name;
  if (node.kind === "attribute") return `.${node.name}`;
  if (node.kind === "each") return "for … in";
  return node.kind === "dict" ? "a dict" : "this";
}

/** Returns an expression with parentheses where an operator needs them. */
function operand(node: PythonNode, scope: PythonScope): string {
  const cel = pythonToCel(node, scope);
  const isPlain = ["name", "constant", "list", "subscript", "call"].includes(node.kind) && !cel.startsWith("-");
  return isPlain ? cel : `(${cel})`;
}

function comparison(left: PythonNode, sign: string, right: PythonNode, scope: PythonScope): string {
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

/** Converts a comparison with `None`, which also means a field that was not submitted. */
function none(node: PythonNode, yes: boolean, scope: PythonScope): string {
  if (node.kind !== "subscript") return `dyn(${pythonToCel(node, scope)}) ${yes ? "==" : "!="} null`;
  const key = pythonToCel(node.key, scope);
  const of = operand(node.of, scope);
  if (node.key.kind !== "constant" || typeof node.key.value !== "string") {
    return `dyn(${of}[${key}]) ${yes ? "==" : "!="} null`;
  }
  const isPresent = `${key} in ${of} && dyn(${of}[${key}]) != null`;
  return yes ? `!(${isPresent})` : isPresent;
}

function within(left: PythonNode, right: PythonNode, scope: PythonScope): string {
  const range = operand(right, scope);
  if (scope.isText(range)) return `${range}.contains(${pythonToCel(left, scope)})`;
  return `${operand(left, scope)} in ${range}`;
}

/** Returns a call in CEL. Throws `PythonFault` if there is no equivalent. */
function callToCel({ callee, args, at }: Extract<PythonNode, { kind: "call" }>, scope: PythonScope): string {
  if (callee.kind === "attribute") return method(callee, args, scope);
  const [first, second] = args;
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

/** Methods of texts, with their number of arguments. */
const METHODS: ReadonlyMap<string, readonly [cel: string, count: number]> = new Map([
  ["startswith", ["startsWith", 1]],
  ["endswith", ["endsWith", 1]],
  ["lower", ["lowerAscii", 0]],
  ["upper", ["upperAscii", 0]],
  ["strip", ["trim", 0]],
]);

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
  const known = METHODS.get(name);
  if (known?.[1] !== args.length) throw new PythonFault(at, `.${name}(…)`);
  return `${operand(of, scope)}.${known[0]}(${first ?? ""})`;
}

/** Maximum number of types in `isinstance`: the value is written once for each. */
const TYPES_MAX = 20;

/** Types for `isinstance`, as a test of `@`. */
const INSTANCES: ReadonlyMap<string, string> = new Map([
  ["str", "type(@) == string"],
  ["bool", "type(@) == bool"],
  ["int", "isInteger(@)"],
  ["float", "type(@) in [int, double]"],
  ["list", "type(@) == list"],
  ["dict", "type(@) == map"],
]);

function instance(value: PythonNode, types: PythonNode, scope: PythonScope): string {
  const cel = pythonToCel(value, scope);
  const all = types.kind === "list" ? types.items : [types];
  if (all.length > TYPES_MAX) throw new PythonFault(types.at, `more than ${TYPES_MAX} types`, true);
  const tests = all.map((type) => {
    const test = type.kind === "name" ? INSTANCES.get(type.name) : undefined;
    if (test === undefined) throw new PythonFault(type.at, `isinstance with ${nameOf(type)}`);
    return `(${test.replace("@", () => cel)})`;
  });
  if (tests.length === 0) throw new PythonFault(types.at, "isinstance without a type");
  const any = tests.join(" || ");
  return tests.length === 1 ? any : `(${any})`;
}

function each(
  { element, variable, range, conditions }: Extract<PythonNode, { kind: "each" }>,
  macro: "all" | "exists",
  scope: PythonScope,
): string {
  // A generated name, because Python's may be a keyword or a variable of CEL.
  const taken = [...scope.names.values()].filter((cel) => cel.startsWith("item")).length;
  const item = taken === 0 ? "item" : `item${taken + 1}`;
  const inner = { ...scope, names: new Map([...scope.names, [variable, item]]) };
  const filters = conditions.map((condition) => `.filter(${item}, ${pythonToCel(condition, inner)})`).join("");
  return `${operand(range, scope)}${filters}.${macro}(${item}, ${pythonToCel(element, inner)})`;
}

/** Returns a check of whether an expression is a text by the declared types. */
function isText(about: RuleAbout, fields: readonly RuleField[]): PythonScope["isText"] {
  const texts = new Set(fields.filter(({ type }) => type === "string").map(({ name }) => `evidence["${name}"]`));
  if (about !== "evidence" && about.type === "string") texts.add("value");
  return (cel) => texts.has(cel) || /^(?:string\(.*\)|.*\.(?:trim|lowerAscii|upperAscii)\(\)|".*")$/s.test(cel);
}

/** Returns a constant in CEL. Throws `PythonFault` for a text that is not valid Unicode. */
function constantToCel(value: string | number | bigint | boolean | null, at = 0): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number") return Number.isInteger(value) ? value.toFixed(1) : `${value}`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value))
    throw new PythonFault(at, "a text that is not valid Unicode");
  return JSON.stringify(value);
}
