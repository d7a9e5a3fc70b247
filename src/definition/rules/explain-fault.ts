import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import { LINEAR_MATCHES } from "./patterns.js";
import type { RuleFault, RuleScope } from "./rule-types.js";
import { SESSION_TYPES } from "./values.js";

const VARIABLES = ["evidence", "params", "artifacts", "plan", "session"];
const SEE = 'See "The language of rules" in phasegate\'s docs/gates.md.';

/** Says what is wrong with a rule's text, and what to write instead. */
export function explainFault(error: unknown, cel: string, scope: RuleScope): RuleFault {
  const code = textAt(error, "code");
  const summary = textAt(error, "summary") ?? (error instanceof Error ? error.message : String(error));
  const message = `the rule ${shown(cel)} can't be run: ${inWords(summary)}`;
  return { ok: false, message, hint: hintFor(code, summary, error, scope) };
}

function inWords(summary: string): string {
  const [first = ""] = summary.replaceAll(LINEAR_MATCHES, "matches").split("\n");
  return first.charAt(0).toLowerCase() + first.slice(1);
}

function hintFor(code: string | undefined, summary: string, error: unknown, scope: RuleScope): string {
  switch (code) {
    case "unknown_variable":
      return variableHint(summary.slice(summary.indexOf(":") + 1).trim(), scope);
    case "no_such_key":
      return keyHint(summary.slice(summary.indexOf(":") + 1).trim(), error, scope);
    case "no_matching_overload":
      return functionHint(summary, scope);
    case "no_such_overload":
      return overloadHint(summary);
    case "limit_exceeded":
      return "Make it shorter, or two rules of it.";
    default:
      return SEE;
  }
}

function variableHint(name: string, { fields, subject }: RuleScope): string {
  if (fields.some((field) => field.name === name)) return `Write evidence.${name}.`;
  if (name === "value") return "A rule of the whole gate has no value: write evidence. and the field's name.";
  const variables = subject.value === undefined ? VARIABLES : ["value", ...VARIABLES];
  const meant = nearest(name, variables);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  const field = nearest(
    name,
    fields.map((candidate) => candidate.name),
  );
  if (field !== undefined) return `Did you mean evidence.${field}?`;
  return `A rule can use ${variables.join(", ")}; a text stands in quotes.`;
}

function keyHint(key: string, error: unknown, { fields, subject }: RuleScope): string {
  const owner = ownerOf(error);
  const params = typeof subject.params === "object" ? Object.keys(subject.params) : [];
  const keys =
    owner === "session" ? Object.keys(SESSION_TYPES) : owner === "params" ? params : fields.map(({ name }) => name);
  const meant = nearest(key, keys);
  if (meant !== undefined) return `Did you mean ${shown(meant)}?`;
  if (owner === "params") return `Give it in validator_params: {${key}: …}.`;
  return keys.length === 0 ? SEE : `There is ${keys.slice(0, 20).join(", ")}.`;
}

/** The variable in which a key was looked for. */
function ownerOf(error: unknown): string | undefined {
  const node = memberAt(error, "node");
  const owner: unknown = Array.isArray(memberAt(node, "args"))
    ? Reflect.get(Object(memberAt(node, "args")), 0)
    : undefined;
  return textAt(owner, "args");
}

function functionHint(summary: string, { environment }: RuleScope): string {
  const name = /'(?:[^'(]*\.)?(\w+)\(/.exec(summary)?.[1] ?? "";
  const known = new Set(environment.getDefinitions().functions.map((candidate) => candidate.name));
  const calls = name === LINEAR_MATCHES || known.has(name);
  if (calls) return `${name === LINEAR_MATCHES ? "matches" : name} doesn't take values of these types, or not so many.`;
  known.delete(LINEAR_MATCHES);
  const meant = nearest(name, [...known, "matches", "has", "all", "exists", "exists_one", "map", "filter"]);
  if (name === "len") return "Write size(…).";
  return meant === undefined ? SEE : `Did you mean ${meant}?`;
}

function overloadHint(summary: string): string {
  if (/double in list<int>/.test(summary)) return "Write the numbers of the list with a point: [80.0, 90.0].";
  if (/int in list<double>/.test(summary)) return "Write the numbers of the list without a point: [80, 90].";
  if (/null/.test(summary))
    return "A field that wasn't handed in isn't there: write has(evidence.field) or !has(evidence.field).";
  if (/string in string/.test(summary)) return 'Write text.contains("part").';
  return "The two sides must be of types that go together; string(…), int(…) and double(…) turn one into the other.";
}

function memberAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined;
}

function textAt(value: unknown, key: string): string | undefined {
  const found = memberAt(value, key);
  return typeof found === "string" ? found : undefined;
}
