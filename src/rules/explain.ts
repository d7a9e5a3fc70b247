/**
 * Explains CEL's errors in plain words: why a text can't run as a rule and what to write instead, and why a rule could
 * not be evaluated, for agents that did not write it.
 */
import type { TypeCheckResult } from "@marcbachmann/cel-js";
import { nearest, shown } from "../workflow/names.js";
import type { RuleFault, RuleScope } from "./rule-types.js";

/** The page that describes the language. */
export const RULES_PAGE = 'See "The language of rules" in phasegate\'s docs/gates.md.';

/** Returns why CEL does not accept a rule, and what to write instead. */
export function explainFault(cel: string, error: TypeCheckResult["error"], scope: RuleScope): RuleFault {
  // Without a summary, the parser ran out of stack over something like `!!!!…`.
  const summary = error?.summary ?? "it is nested too deeply";
  const message = `the rule ${shown(cel)} can't be run: ${inWords(summary)}`;
  return { ok: false, message, hint: hintFor(error?.code, summary, scope) };
}

/** Returns why an evaluation failed, as part of a sentence. */
export function failureInWords(error: unknown): string {
  // After its first line, CEL's message quotes the rule.
  return inWords((error instanceof Error ? error.message : String(error)).replace(/\n\n>[\s\S]*$/, ""));
}

/** Returns a CEL type in words: `dyn<list<string>>` is a list. */
export function typeInWords(type: string): string {
  const name = /^(?:dyn<)?(\w+)/.exec(type)?.[1] ?? type;
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

type Say = (parts: readonly string[]) => string;

/** CEL's messages by their beginning, with the same in plain words. */
const WORDS: readonly (readonly [RegExp, Say])[] = [
  [/^no such overload: !(.+)$/s, ([of = ""]) => `"not" (!) needs true or false, not ${typeInWords(of)}`],
  [/^no such overload: -(.+)$/s, ([of = ""]) => `${typeInWords(of)} can't be negated`],
  [/^no such overload: (.+) in (.+)$/s, ([, of = ""]) => `"in" can't search ${typeInWords(of)}`],
  [
    /^no such overload: (.+?) (==|!=|<=?|>=?) (.+)$/s,
    ([a = "", sign, b = ""]) => `${typeInWords(a)} can't be compared with ${typeInWords(b)} (${sign})`,
  ],
  [
    /^no such overload: (.+?) ([-+*/%]) (.+)$/s,
    ([a = "", sign, b = ""]) => `${typeInWords(a)} and ${typeInWords(b)} can't be combined with ${sign}`,
  ],
  [/^found no matching overload for '([^(]+)\((.*)\)'$/s, ([called = "", args = ""]) => unfit(called, args)],
  [/^No such key: index out of bounds, index (-?\d+)/, ([at]) => `the list has no element ${at}, counted from 0`],
  [/^No such key: (.*)$/s, ([key = ""]) => `there is no key ${JSON.stringify(key)}`],
  [
    /(?:must be bool|must return bool|requires bool operands), got '([^']+)'/,
    ([of = ""]) => `true or false is needed, not ${typeInWords(of)}`,
  ],
  [/^Expression of type '(.+)' cannot be range/, ([of = ""]) => `${typeInWords(of)} is not a list`],
  [/^(int|uint)\(\) type error/, () => "it can't be converted to a whole number"],
  [/^double\(\) type error/, () => "it can't be converted to a number"],
  [/^bool\(\) /, () => "it can't be converted to true or false"],
  [/^integer overflow/, () => "a whole number becomes too large"],
  [/^modulo by zero/, () => "division by zero"],
  [/^string\.join.*must contain only strings/, () => "only a list of texts can be joined"],
  [/^string\.\w+\(.*index out of range/, () => "the text is too short for this part of it"],
];

/** Returns what CEL says in plain words. What is not in the table stays as it is, in one line. */
function inWords(said: string): string {
  for (const [pattern, say] of WORDS) {
    const found = pattern.exec(said);
    if (found !== null) return say(found.slice(1));
  }
  const line = said.replace(/\n[\s\S]*$/, "").replace(/dyn<(\w+)>/g, "$1");
  return line.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase());
}

/** Returns why a function does not accept its arguments. A method comes with the type before its dot. */
function unfit(called: string, args: string): string {
  const dot = called.lastIndexOf(".");
  const name = called.slice(dot + 1);
  const types = [...(dot === -1 ? [] : [called.slice(0, dot)]), ...args.split(/, (?![^<]*>)/)].filter(
    (type) => type !== "",
  );
  if (types.length === 0) return `there is no ${name}() without arguments`;
  return `there is no ${name}() for ${types.map(typeInWords).join(" and ")}`;
}

function hintFor(code: string | undefined, summary: string, scope: RuleScope): string {
  switch (code) {
    case "unknown_variable":
      return variableHint(summary.slice(summary.indexOf(":") + 1).trim(), scope);
    case "no_matching_overload":
      return functionHint(summary, scope);
    case "no_such_overload":
      return overloadHint(summary);
    case "limit_exceeded":
      return "Make it shorter, or split it into two rules.";
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

function overloadHint(summary: string): string {
  if (/double in list<int>/.test(summary)) return "Write the numbers of the list with a point: [80.0, 90.0].";
  if (/int in list<double>/.test(summary)) return "Write the numbers of the list without a point: [80, 90].";
  if (/null/.test(summary))
    return "A field that was not submitted is missing, not null: write has(evidence.field) or !has(evidence.field).";
  if (/string in string/.test(summary)) return 'Write text.contains("part").';
  return "Convert one side to the type of the other, with string(…), int(…) or double(…).";
}
