/**
 * Compiles rules: the values and types they see, operators and functions added to CEL, regular expressions in linear
 * time, and explanations of invalid rules. Division by zero and overflow are errors here, because CEL's `double` allows
 * `1.0 / 0.0 > 80` silently and JSON has no such number.
 */
import type { ASTNode, Environment, TypeCheckResult } from "@marcbachmann/cel-js";
import { saysNothing, typeOfValue, visibleText } from "../workflow/field-types.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { FieldType } from "../workflow/structure.js";
import { PATTERN_MAX, PATTERN_STEPS_MAX } from "./cost.js";
import type { CompiledRule, RuleFault, RuleScope } from "./rule-types.js";
import { literalText, memberOf, nodesOf, TYPE_SIZE_MAX, typeSize } from "./tree.js";

/**
 * The evidence as rules see it: only fields that the gate declares and that were submitted. It is a class so that CEL
 * knows its fields and their types.
 */
export class EvidenceValue extends Map<string, unknown> {}
/** The parameters of a validator as rules see them. */
export class ParamsValue extends Map<string, unknown> {}
/** The session as rules see it. */
export class SessionValue extends Map<string, unknown> {}

/** The CEL type of each field type. */
export const RULE_TYPES: Record<FieldType, string> = {
  boolean: "bool",
  integer: "int",
  number: "double",
  string: "string",
  object: "map<string, dyn>",
  list: "list<dyn>",
  any: "dyn",
};

/** The members of a session that rules can use, with their types. */
export const SESSION_TYPES = {
  id: "string",
  workflow_type: "string",
  target: "string",
  phase: "int",
  attempt: "int",
} as const;

/** Returns a value as rules see it: a declared integer stays an integer, every other number is a double. */
export function ruleValue(value: JsonValue, type: FieldType): unknown {
  return type === "integer" && Number.isSafeInteger(value) ? BigInt(Number(value)) : value;
}

/** Parameters as rules see them, with the type of each. */
export function ruleParams(params: JsonObject): {
  readonly value: ParamsValue;
  readonly types: Record<string, string>;
} {
  const entries = Object.entries(params);
  return {
    value: new ParamsValue(entries.map(([key, value]) => [key, ruleValue(value, typeOfValue(value) ?? "any")])),
    types: Object.fromEntries(entries.map(([key, value]) => [key, RULE_TYPES[typeOfValue(value) ?? "any"]])),
  };
}

type Numeric = bigint | number;

/**
 * Adds operators that mix integers and doubles. JSON has one type of number and CEL has two, so without these `passed +
 * 1 == 13` and `coverage >= 80` would be type errors.
 */
export function registerOperators(environment: Environment): void {
  const mixed: Record<string, (a: Numeric, b: Numeric) => number> = {
    "+": (a, b) => Number(a) + Number(b),
    "-": (a, b) => Number(a) - Number(b),
    "*": (a, b) => Number(a) * Number(b),
    "/": divide,
    "%": (a, b) => Number(a) % Number(b),
  };
  for (const [operator, handler] of Object.entries(mixed)) {
    environment.registerOperator(`int ${operator} double: double`, handler);
    environment.registerOperator(`double ${operator} int: double`, handler);
  }
  environment.registerOperator("double % double: double", (a: number, b: number) => a % b);
  environment.registerOperator("int == double", (a: bigint, b: number) => Number(a) === b);
}

/** Tells CEL that there is nothing to await. */
const SYNC = { async: false };

/**
 * Adds functions for Python lambdas, where Python differs from CEL: exact division, remainder with the divisor's sign,
 * and integers that JSON can't distinguish from doubles. Named validators use `visible`.
 */
export function registerFunctions(environment: Environment): void {
  for (const left of ["int", "double"]) {
    for (const right of ["int", "double"]) {
      environment.registerFunction(`ratio(${left}, ${right}): double`, divide, SYNC);
      environment.registerFunction(`mod(${left}, ${right}): double`, floorMod, SYNC);
    }
  }
  for (const [type, is] of [
    ["int", () => true],
    ["double", (value: number) => Number.isInteger(value)],
    ["string", () => false],
    ["bool", () => false],
    ["list", () => false],
    ["map", () => false],
    ["null", () => false],
  ] as const) {
    environment.registerFunction(`isInteger(${type}): bool`, is, SYNC);
  }
  environment.registerFunction("visible(string): string", visibleText, SYNC);
  environment.registerFunction("visible(list): list", visibleItems, SYNC);
  environment.registerFunction("visible(map): map", visibleEntries, SYNC);
}

/**
 * Throws a `RangeError` for a pattern that is too long or compiles to too many steps. The steps are counted in its
 * text, because compiling a long repeated part takes seconds and gigabytes.
 */
export function requireSmallPattern(pattern: string): void {
  if (pattern.length > PATTERN_MAX) throw new RangeError(`a pattern is longer than ${PATTERN_MAX} characters`);
  if (stepsAtMost(pattern) <= PATTERN_STEPS_MAX) return;
  throw new RangeError(`a pattern becomes more than ${PATTERN_STEPS_MAX} steps: repeat less, or a shorter part`);
}

type Re2 = typeof import("@bufbuild/re2");
type Pattern = InstanceType<Re2["RE2JS"]>;

/** The replacement for `matches`: CEL's own runs on an engine without a time bound. */
const LINEAR_MATCHES = "matches_linear";

/** Maximum number of compiled patterns in the cache, and of their steps together; each step takes some 500 bytes. */
const KEPT = 256;
const KEPT_STEPS = 100_000;

/** Regular expressions in RE2 syntax, matched in linear time. */
export class Patterns {
  readonly #re2: Re2;
  readonly #compiled = new Map<string, Pattern>();
  #steps = 0;

  constructor(re2: Re2) {
    this.#re2 = re2;
  }

  /** Returns what is wrong with a pattern; undefined if nothing is. */
  fault(pattern: string): string | undefined {
    try {
      this.#compile(pattern);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Returns the maximum number of engine steps per character; 0 for an invalid pattern. */
  steps(pattern: string): number {
    try {
      return stepsOf(this.#compile(pattern));
    } catch {
      return 0;
    }
  }

  register(environment: Environment): void {
    const matches = (text: string, pattern: string) => this.#compile(pattern).test(text);
    environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, matches, SYNC);
  }

  #compile(pattern: string): Pattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    requireSmallPattern(pattern);
    const compiled = new this.#re2.RE2JS(pattern);
    this.#steps += stepsOf(compiled);
    this.#compiled.set(pattern, compiled);
    for (const [oldest, old] of this.#compiled) {
      if (oldest === pattern || (this.#compiled.size <= KEPT && this.#steps <= KEPT_STEPS)) break;
      this.#compiled.delete(oldest);
      this.#steps -= stepsOf(old);
    }
    return compiled;
  }
}

/** Parses and type-checks a rule. Never throws because of its text. */
export function compileRule(cel: string, scope: RuleScope, patterns: Patterns): CompiledRule | RuleFault {
  const large = tooLarge(cel, scope);
  if (large !== undefined) return large;
  const { valid, type, error } = scope.environment.check(cel);
  if (!valid && error?.code !== "no_such_key") return explainFault(cel, error, scope);
  const parsed = scope.environment.parse(cel);
  const nodes = nodesOf(parsed.ast);
  const fault = unknownMember(cel, nodes, scope) ?? badPattern(nodes, patterns);
  if (fault !== undefined) return fault;
  if (!valid) return explainFault(cel, error, scope);
  if (type !== "bool") {
    const message = `a rule must be true or false, and this one is ${type === "dyn" ? "anything" : `a ${type}`}`;
    return { ok: false, message, hint: `Compare it with something: ${cel.length < 40 ? cel : "…"} == true, say.` };
  }
  parsed.check();
  keepFinite(nodes);
  return {
    ok: true,
    tree: parsed.ast,
    names: namesIn(nodes),
    patternSteps: (pattern) => patterns.steps(pattern),
    run: (variables) => parsed(variables),
  };
}

function divide(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return Number(a) / Number(b);
}

function floorMod(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return ((Number(a) % Number(b)) + Number(b)) % Number(b);
}

/** Removes items without content: `["", null]` counts as empty. */
function visibleItems(list: readonly JsonValue[]): JsonValue[] {
  return list.filter((item) => !saysNothing(item));
}

function visibleEntries(map: Readonly<Record<string, JsonValue>>): Map<string, JsonValue> {
  return new Map(Object.entries(map).filter(([, value]) => !saysNothing(value)));
}

/** A part of a pattern: text between `\Q` and `\E`, a character class, a repetition, or one character. */
const PART =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** Returns an upper bound for the steps of a pattern: two for each part, times its repetitions. */
function stepsAtMost(pattern: string): number {
  const around: number[] = [];
  let [all, last] = [0, 0];
  for (const [part, least, most] of pattern.matchAll(PART)) {
    if (part === "(") {
      around.push(all);
      [all, last] = [0, 0];
    } else if (part === ")") {
      last = all + 2;
      all = (around.pop() ?? 0) + last;
    } else if (least === undefined) {
      const own = part.startsWith("\\Q") ? 2 * part.length : 2;
      last = /^[*+?]$/.test(part) ? last + own : own;
      all += own;
    } else {
      const again = last * Math.max(Number(least), Number(most ?? 0));
      all += again;
      last += again;
    }
  }
  return around.reduce((sum, outer) => sum + outer, all);
}

function stepsOf(pattern: Pattern): number {
  return pattern.re2().prog.numInst();
}

/** Maximum length of a rule, in characters. The parser limits nodes and depth, but not signs such as `!!!!…`. */
const TEXT_MAX = 20_000;

/** Returns why a rule is too large to be checked; undefined if it isn't or can't be parsed, which the check reports. */
function tooLarge(cel: string, { environment }: RuleScope): RuleFault | undefined {
  const hint = "Make it shorter, or two rules of it; names that cel.bind gives to maps of one another grow fastest.";
  const fault = (why: string) => ({ ok: false, message: `the rule ${shown(cel)} can't be run: ${why}`, hint }) as const;
  if (cel.length > TEXT_MAX) return fault(`it has more than ${TEXT_MAX} characters`);
  try {
    if (typeSize(environment.parse(cel).ast) <= TYPE_SIZE_MAX) return undefined;
  } catch {
    return undefined;
  }
  return fault(`the types of its values have names of more than ${TYPE_SIZE_MAX} characters`);
}

/** Explains an error of CEL, and says what to write instead. */
function explainFault(cel: string, error: TypeCheckResult["error"], scope: RuleScope): RuleFault {
  // Without a summary, the parser ran out of stack over something like `!!!!…`.
  const summary = error?.summary ?? "it is nested too deeply";
  const message = `the rule ${shown(cel)} can't be run: ${inWords(summary)}`;
  return { ok: false, message, hint: hintFor(error?.code, summary, scope) };
}

function inWords(summary: string): string {
  const line = summary.replace(/\n[\s\S]*$/, "");
  return line.charAt(0).toLowerCase() + line.slice(1);
}

/** The page that describes the language. */
const RULES_PAGE = 'See "The language of rules" in phasegate\'s docs/gates.md.';

function hintFor(code: string | undefined, summary: string, scope: RuleScope): string {
  switch (code) {
    case "unknown_variable":
      return variableHint(summary.slice(summary.indexOf(":") + 1).trim(), scope);
    case "no_matching_overload":
      return functionHint(summary, scope);
    case "no_such_overload":
      return overloadHint(summary);
    case "limit_exceeded":
      return "Make it shorter, or two rules of it.";
    default:
      return RULES_PAGE;
  }
}

const VARIABLES = ["evidence", "params", "artifacts", "plan", "session"];

function variableHint(name: string, { fields, subject, variables: given }: RuleScope): string {
  if (fields.some((field) => field.name === name)) return `Write evidence.${name}.`;
  if (name === "value" && given === undefined)
    return "A rule of the whole gate has no value: write evidence. and the field's name.";
  const usual = subject.value === undefined ? VARIABLES : ["value", ...VARIABLES];
  const variables = given === undefined ? usual : Object.keys(given);
  const meant = nearest(name, variables);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  const field = nearest(
    name,
    fields.map((candidate) => candidate.name),
  );
  if (field !== undefined) return `Did you mean evidence.${field}?`;
  return `A rule can use ${variables.join(", ")}; a text stands in quotes.`;
}

/** Functions of other languages, with what to use here. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ["len", "size(…)"],
  ["length", "size(…)"],
  ["match", "text.matches(pattern)"],
  ["test", "text.matches(pattern)"],
  ["search", "text.matches(pattern)"],
  ["includes", "text.contains(part), or item in list"],
  ["any", "list.exists(item, …)"],
  ["some", "list.exists(item, …)"],
  ["every", "list.all(item, …)"],
  ["strip", "text.trim()"],
  ["str", "string(…)"],
  ["float", "double(…)"],
]);

function functionHint(summary: string, { environment }: RuleScope): string {
  const name = /'(?:[^'(]*\.)?(\w+)\(/.exec(summary)?.[1] ?? "";
  const known = new Set(environment.getDefinitions().functions.map((candidate) => candidate.name));
  if (known.has(name)) return `${name} doesn't take values of these types, or not so many.`;
  const twin = FOREIGN.get(name);
  if (twin !== undefined) return `Write ${twin}.`;
  const meant = nearest(name, known);
  return meant === undefined ? RULES_PAGE : `Did you mean ${meant}?`;
}

function overloadHint(summary: string): string {
  if (/double in list<int>/.test(summary)) return "Write the numbers of the list with a point: [80.0, 90.0].";
  if (/int in list<double>/.test(summary)) return "Write the numbers of the list without a point: [80, 90].";
  if (/null/.test(summary))
    return "A field that wasn't handed in isn't there: write has(evidence.field) or !has(evidence.field).";
  if (/string in string/.test(summary)) return 'Write text.contains("part").';
  return "The two sides must be of types that go together; string(…), int(…) and double(…) turn one into the other.";
}

/** Finds unknown keys: `has(evidence.misspelt)` passes CEL's check and would always be false. */
function unknownMember(cel: string, nodes: readonly ASTNode[], scope: RuleScope): RuleFault | undefined {
  for (const node of nodes) {
    const member = memberOf(node);
    const keys = member === undefined ? undefined : keysOf(member.of, scope);
    if (member?.key === undefined || keys === undefined || keys.includes(member.key)) continue;
    const meant = nearest(member.key, keys);
    const message = `the rule ${shown(cel)} can't be run: there is no ${member.of}.${member.key}`;
    return { ok: false, message, hint: meant === undefined ? keyHint(member, keys) : `Did you mean ${shown(meant)}?` };
  }
  return undefined;
}

/** Returns the keys that a name can have; undefined if it can have any. */
function keysOf(name: string, { fields, subject, variables }: RuleScope): readonly string[] | undefined {
  if (variables !== undefined) return undefined;
  if (name === "evidence") return fields.map((field) => field.name);
  if (name === "session") return Object.keys(SESSION_TYPES);
  return name === "params" && subject.params !== "any" ? Object.keys(subject.params ?? {}) : undefined;
}

function keyHint(
  { of, key }: { readonly of: string; readonly key: string | undefined },
  keys: readonly string[],
): string {
  if (of === "params") return `Give it in validator_params: {${key}: …}.`;
  return keys.length === 0 ? RULES_PAGE : `There is ${keys.slice(0, 20).join(", ")}.`;
}

/** Finds invalid patterns, and sends each call of `matches` to the linear-time engine. */
function badPattern(nodes: readonly ASTNode[], patterns: Patterns): RuleFault | undefined {
  for (const node of nodes) {
    if (node.op !== "rcall" || node.args[0] !== "matches") continue;
    node.args[0] = LINEAR_MATCHES;
    const pattern = literalText(node.args[2][0]);
    const fault = pattern === undefined ? undefined : patterns.fault(pattern);
    if (fault === undefined) continue;
    const hint = "Patterns are RE2's (github.com/google/re2/wiki/Syntax): without backreferences and lookaround.";
    return { ok: false, message: `the pattern can't be matched in linear time, or is none: ${fault}`, hint };
  }
  return undefined;
}

const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%"]);
const FUNCTIONS: ReadonlySet<string> = new Set(["double", "ratio", "mod"]);

/** Makes arithmetic throw if the result is not finite. For nodes whose types have been checked. */
function keepFinite(nodes: readonly ASTNode[]): void {
  for (const node of nodes) {
    if (!OPERATORS.has(node.op) && (node.op !== "call" || !FUNCTIONS.has(node.args[0]))) continue;
    // CEL's overloads can't be replaced, but each type-checked node keeps its implementation in `handle`.
    const handle: unknown = Reflect.get(node, "handle");
    if (typeof handle !== "function") throw new TypeError(`the language runs ${node.op} in another way`);
    const isDivision = node.op === "/" || node.op === "%";
    Reflect.set(node, "handle", (left: unknown, right: unknown, ...rest: unknown[]) => {
      if (isDivision && right === 0) throw new RangeError("division by zero");
      return finite(Reflect.apply(handle, node, [left, right, ...rest]));
    });
  }
}

function finite(value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new RangeError("a result that is too large, or no number");
}

function namesIn(nodes: readonly ASTNode[]): ReadonlySet<string> | undefined {
  const members = nodes.flatMap((node) => {
    const member = memberOf(node);
    return member?.of === "evidence" ? [member] : [];
  });
  const uses = nodes.filter((node) => node.op === "id" && node.args === "evidence").length;
  const names = members.flatMap(({ key }) => key ?? []);
  return uses === names.length ? new Set(names) : undefined;
}
