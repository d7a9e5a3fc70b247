import type { TypeCheckResult } from "@marcbachmann/cel-js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import type { RuleFault, RuleScope } from "./rule-types.js";

const VARIABLES = ["evidence", "params", "artifacts", "plan", "session"];
/** Where the language is described. */
export const RULES_PAGE = 'See "The language of rules" in phasegate\'s docs/gates.md.';

/** What other languages call what this one has. */
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

/** Says what is wrong with a rule's text by the language's own finding, and what to write instead. */
export function explainFault(cel: string, error: TypeCheckResult["error"], scope: RuleScope): RuleFault {
  // Without a summary it is no finding of the language: its parser ran out of stack over `!!!!…`.
  const summary = error?.summary ?? "it is nested too deeply";
  const message = `the rule ${shown(cel)} can't be run: ${inWords(summary)}`;
  return { ok: false, message, hint: hintFor(error?.code, summary, scope) };
}

function inWords(summary: string): string {
  const line = summary.replace(/\n[\s\S]*$/, "");
  return line.charAt(0).toLowerCase() + line.slice(1);
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
      return "Make it shorter, or two rules of it.";
    default:
      return RULES_PAGE;
  }
}

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
