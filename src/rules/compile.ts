/**
 * Compiles rules and runs them within a bound. CEL's check is completed here: unknown keys, patterns without a time
 * limit and results that are not finite are errors. The second half explains CEL's errors in plain words, for agents and
 * authors.
 */
import type { ASTNode, TypeCheckResult } from "@marcbachmann/cel-js";
import { nearest, shown } from "../workflow/names.js";
import { artifactFault } from "./artifact-keys.js";
import { canGrow, ruleCost } from "./cost.js";
import { LINEAR_MATCHES, type Patterns } from "./patterns.js";
import type { CompiledRule, RuleFault, RuleScope, WhyAndHint } from "./rule-types.js";
import { literalText, memberOf, nodesOf, TYPE_SIZE_MAX, typeSize } from "./tree.js";

/** Parses and type-checks a rule. Never throws because of its text. */
export function compileRule(cel: string, scope: RuleScope, patterns: Patterns): CompiledRule | RuleFault {
  const large = tooLarge(cel, scope);
  if (large !== undefined) return faultOf(cel, ...large);
  const { valid, type, error } = scope.environment.check(cel);
  if (!valid && error?.code !== "no_such_key") return explainFault(cel, error, scope);
  const parsed = scope.environment.parse(cel);
  const nodes = nodesOf(parsed.ast);
  const fault = unknownKey(nodes, scope) ?? artifactFault(nodes, scope.earlier) ?? badPattern(nodes, patterns);
  if (fault !== undefined) return faultOf(cel, ...fault);
  if (!valid) return explainFault(cel, error, scope);
  if (type !== "bool" && scope.givesAny !== true) {
    const found = type === undefined || type === "dyn" ? "a value of any type" : typeInWords(type);
    const hint = `Compare it with something, as in ${cel.length < 40 ? cel : "…"} == true.`;
    return faultOf(cel, `a rule must give true or false, and this one gives ${found}`, hint);
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

/** The result of a rule, and why it could not be evaluated. */
export type RuleOutcome = { readonly holds: true } | { readonly holds: false; readonly because?: string };

/** The value that a rule gives, or why it could not be evaluated. */
export type RuleValue = { readonly value: unknown } | { readonly because: string };

/** Maximum number of steps of one rule: some tens of milliseconds. */
const STEPS_MAX = 1_000_000;

/** Returns a rule that only runs if the size of its input allows it to end in time. Never throws. */
export function boundedRule(
  { tree, patternSteps, run }: CompiledRule,
  stepsMax = STEPS_MAX,
): (variables: Record<string, unknown>) => RuleOutcome {
  const evaluate = boundedValue({ tree, patternSteps, run }, stepsMax);
  return (variables) => {
    const outcome = evaluate(variables);
    if ("because" in outcome) return { holds: false, ...outcome };
    return { holds: outcome.value === true };
  };
}

/** The same for the value that a rule gives. */
export function boundedValue(
  { tree, patternSteps, run }: Pick<CompiledRule, "tree" | "patternSteps" | "run">,
  stepsMax = STEPS_MAX,
): (variables: Record<string, unknown>) => RuleValue {
  const isBounded = canGrow(tree);
  return (variables) => {
    try {
      if (isBounded && ruleCost(tree, variables, patternSteps) > stepsMax) {
        return { because: `was not run: on values of this size it could take more than ${stepsMax} steps` };
      }
      return { value: run(variables) };
    } catch (error) {
      return { because: `can't be evaluated: ${failureInWords(error)}` };
    }
  };
}

/** Maximum length of a rule, in characters. The parser limits nodes and depth, but not signs such as `!!!!…`. */
const TEXT_MAX = 20_000;

/** Returns why a rule is too large to be checked; undefined if it isn't or can't be parsed, which the check reports. */
function tooLarge(cel: string, { environment }: RuleScope): WhyAndHint | undefined {
  const hint = "Make it shorter, or split it into two rules; maps that cel.bind nests in one another grow fastest.";
  if (cel.length > TEXT_MAX) return [`it has more than ${TEXT_MAX} characters`, hint];
  try {
    if (typeSize(environment.parse(cel).ast) <= TYPE_SIZE_MAX) return undefined;
  } catch {
    return undefined;
  }
  return [`the types of its values have names of more than ${TYPE_SIZE_MAX} characters`, hint];
}

/** Finds unknown keys: `has(evidence.misspelt)` passes CEL's check and would always be false. */
function unknownKey(nodes: readonly ASTNode[], { keys }: RuleScope): WhyAndHint | undefined {
  for (const node of nodes) {
    const { of = "", key } = memberOf(node) ?? {};
    const known = keys.get(of);
    if (key === undefined || known === undefined || known.includes(key)) continue;
    const meant = nearest(key, known);
    if (meant !== undefined) return [`there is no ${of}.${key}`, `Did you mean ${shown(meant)}?`];
    const listed = known.length === 0 ? RULES_PAGE : `Write one of: ${known.slice(0, 20).join(", ")}.`;
    return [`there is no ${of}.${key}`, of === "params" ? `Add it to validator_params: {${key}: …}.` : listed];
  }
  return undefined;
}

/** Finds invalid patterns, and sends each call of `matches` to the linear-time engine. */
function badPattern(nodes: readonly ASTNode[], patterns: Patterns): WhyAndHint | undefined {
  for (const node of nodes) {
    if (node.op !== "rcall" || node.args[0] !== "matches") continue;
    node.args[0] = LINEAR_MATCHES;
    const pattern = literalText(node.args[2][0]);
    const fault = pattern === undefined ? undefined : patterns.fault(pattern);
    if (fault === undefined) continue;
    const hint = "Use RE2 syntax (github.com/google/re2/wiki/Syntax): it has no backreferences and no lookaround.";
    return [`its pattern is invalid, or can't be matched in linear time: ${fault}`, hint];
  }
  return undefined;
}

const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%"]);
const FUNCTIONS: ReadonlySet<string> = new Set(["double", "ratio", "mod"]);

/** Makes arithmetic throw if the result is not finite. Needs nodes whose types have been checked. */
function keepFinite(nodes: readonly ASTNode[]): void {
  for (const node of nodes) {
    if (!OPERATORS.has(node.op) && (node.op !== "call" || !FUNCTIONS.has(node.args[0]))) continue;
    // CEL's overloads can't be replaced, but each type-checked node keeps its implementation in `handle`.
    const handle: unknown = Reflect.get(node, "handle");
    if (typeof handle !== "function") throw new TypeError(`CEL runs ${node.op} in another way than expected`);
    const isDivision = node.op === "/" || node.op === "%";
    Reflect.set(node, "handle", (left: unknown, right: unknown, ...rest: unknown[]) => {
      if (isDivision && right === 0) throw new RangeError("division by zero");
      return finite(Reflect.apply(handle, node, [left, right, ...rest]));
    });
  }
}

function finite(value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new RangeError("a result that is too large or not a number");
}

/** Returns the evidence fields that a rule uses; undefined if it may use any. */
function namesIn(nodes: readonly ASTNode[]): ReadonlySet<string> | undefined {
  const uses = nodes.filter(isEvidence).length;
  const names = nodes.flatMap((node) => {
    // `"name" in evidence`, which is also what Python's `.get("name")` and `is not None` become.
    if (node.op === "in") return isEvidence(node.args[1]) ? (literalText(node.args[0]) ?? []) : [];
    const member = memberOf(node);
    return member?.of === "evidence" ? (member.key ?? []) : [];
  });
  return uses === names.length ? new Set(names) : undefined;
}

function isEvidence(node: ASTNode): boolean {
  return node.op === "id" && node.args === "evidence";
}

const RULES_PAGE = 'See "The language of rules" in phasegate\'s docs/gates.md.';

/** Returns why CEL does not accept a rule, and what to write instead. */
function explainFault(cel: string, error: TypeCheckResult["error"], scope: RuleScope): RuleFault {
  // Without a summary, the parser ran out of stack over something like `!!!!…`.
  const summary = error?.summary ?? "it is nested too deeply";
  return faultOf(cel, inWords(summary), hintFor(error?.code, summary, scope));
}

function faultOf(cel: string, why: string, hint: string): RuleFault {
  return { ok: false, why, message: `the rule ${shown(cel)} can't be run: ${why}`, hint };
}

/** Returns why an evaluation failed, as part of a sentence. */
export function failureInWords(error: unknown): string {
  // After its first line, CEL's message quotes the rule.
  return inWords((error instanceof Error ? error.message : String(error)).replace(/\n\n>[\s\S]*/, ""));
}

/** Returns a CEL type in words: `dyn<list<string>>` is a list. */
function typeInWords(type: string): string {
  const name = type.replace(/^(?:dyn<)?(\w+)[\s\S]*/, "$1");
  return TYPES.get(name) ?? type;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["int", "a whole number"],
  ["uint", "a whole number"],
  ["double", "a number"],
  ["bool", "true or false"],
  ["null", "null"],
  ["list", "a list"],
  ["map", "an object"],
  ["dyn", "a value"],
  ["evidence", "the evidence"],
  ["params", "the parameters"],
  ["session", "the session"],
  ["type", "a type"],
]);

/** Says it in plain words, with what the parentheses of the pattern have found. */
type Say = (a: string, b: string, c: string) => string;

/** CEL's messages by their beginning, with the same in plain words. */
const WORDS: readonly (readonly [RegExp, Say])[] = [
  [/^no such overload: !(.+)/s, (of) => `"not" (!) needs true or false, not ${typeInWords(of)}`],
  [/^no such overload: -(.+)/s, (of) => `${typeInWords(of)} can't be negated`],
  [/^no such overload: (.+) in (.+)/s, (_, of) => `"in" can't search ${typeInWords(of)}`],
  [
    /^no such overload: (.+?) (==|!=|<=?|>=?) (.+)/s,
    (a, sign, b) => `${typeInWords(a)} can't be compared with ${typeInWords(b)} (${sign})`,
  ],
  [
    /^no such overload: (.+?) ([-+*/%]) (.+)/s,
    (a, sign, b) => `${typeInWords(a)} and ${typeInWords(b)} can't be combined with ${sign}`,
  ],
  [/^found no matching overload for '([^(]+)\((.*)\)'$/s, unfit],
  [/^No such key: index out of bounds, index (-?\d+)/, (at) => `the list has no element ${at}, counted from 0`],
  [/^No such key: (.*)/s, (key) => `there is no key ${JSON.stringify(key)}`],
  [
    /(?:must be bool|must return bool|requires bool operands), got '([^']+)'/,
    (of) => `true or false is needed, not ${typeInWords(of)}`,
  ],
  [/^Expression of type '(.+)' cannot be range/, (of) => `${typeInWords(of)} is not a list`],
  [/^(int|uint)\(\) type error/, () => "it can't be converted to a whole number"],
  [/^double\(\) type error/, () => "it can't be converted to a number"],
  [/^bool\(\) /, () => "it can't be converted to true or false"],
  [/^integer overflow/, () => "a whole number becomes too large"],
  [/^modulo by zero/, () => "division by zero"],
  [/^string\.join.*must contain only strings/, () => "only a list of texts can be joined"],
  [/^string\.\w+\(.*index out of range/, () => "the text is too short for this part of it"],
];

/** Returns a message of CEL in plain words. A message that is not in the table stays as it is, in one line. */
function inWords(said: string): string {
  for (const [pattern, say] of WORDS) {
    const found = pattern.exec(said);
    if (found === null) continue;
    const [, a = "", b = "", c = ""] = found;
    return say(a, b, c);
  }
  const line = said.replace(/\n[\s\S]*/, "").replace(/dyn<(\w+)>/g, "$1");
  return line.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase());
}

/** Returns why a function does not accept its arguments. A method comes with the type before its dot. */
function unfit(called: string, args: string): string {
  const dot = called.lastIndexOf(".");
  const name = called.slice(dot + 1);
  const types = [...(dot === -1 ? [] : [called]), ...args.split(/, (?![^<]*>)/)].filter((type) => type !== "");
  if (types.length === 0) return `there is no ${name}() without arguments`;
  return `there is no ${name}() for ${types.map(typeInWords).join(" and ")}`;
}

function hintFor(code: string | undefined, summary: string, scope: RuleScope): string {
  if (code === "unknown_variable") return variableHint(summary.slice(summary.indexOf(":") + 1).trim(), scope);
  if (code === "no_matching_overload") return functionHint(summary, scope);
  if (code === "no_such_overload") return OVERLOAD_HINTS.find(([pattern]) => pattern.test(summary))?.[1] ?? CONVERT;
  return code === "limit_exceeded" ? "Make it shorter, or split it into two rules." : RULES_PAGE;
}

function variableHint(name: string, { fields, variables }: RuleScope): string {
  const names = fields?.map((field) => field.name) ?? [];
  if (names.includes(name)) return `Write evidence.${name}.`;
  if (name === "value" && fields !== undefined)
    return "A rule of the whole gate has no value: write evidence. and the field's name.";
  const meant = nearest(name, variables);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  const field = nearest(name, names);
  if (field !== undefined) return `Did you mean evidence.${field}?`;
  return `A rule can use ${variables.join(", ")}; put texts in quotes.`;
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
  if (known.has(name)) return `${name} needs values of other types, or another number of them. ${RULES_PAGE}`;
  const equivalent = FOREIGN.get(name);
  if (equivalent !== undefined) return `Write ${equivalent}.`;
  const meant = nearest(name, known);
  return meant === undefined ? RULES_PAGE : `Did you mean ${meant}?`;
}

const OVERLOAD_HINTS: readonly (readonly [RegExp, string])[] = [
  [/double in list<int>/, "Write the numbers of the list with a point: [80.0, 90.0]."],
  [/int in list<double>/, "Write the numbers of the list without a point: [80, 90]."],
  [/null/, "A field that was not submitted is missing, not null: write has(evidence.field) or !has(evidence.field)."],
  [/string in string/, 'Write text.contains("part").'],
];
const CONVERT = "Convert one side to the type of the other, with string(…), int(…) or double(…).";
