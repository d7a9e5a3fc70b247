import type { ASTNode } from "@marcbachmann/cel-js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import { explainFault, RULES_PAGE } from "./explain-fault.js";
import { keepFinite } from "./finite.js";
import { LINEAR_MATCHES, type Patterns } from "./patterns.js";
import { literalText, memberOf, nodesOf } from "./rule-tree.js";
import type { CompiledRule, RuleFault, RuleScope } from "./rule-types.js";
import { TYPE_SIZE_MAX, typeSize } from "./type-size.js";
import { SESSION_TYPES } from "./values.js";

/** The longest text of a rule, in characters. The parser bounds its nodes and its depth, but not signs: `!!!!…`. */
const TEXT_MAX = 20_000;

/** Reads and type-checks a rule. Never throws for what the text holds. */
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

/** Why a rule is too large to be checked; undefined where it isn't. What can't be parsed is for the check to say. */
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

/** `has(evidence.misspelt)` passes the language's own check, and would be false for ever. */
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

/** The keys that there can be under a name; undefined where there can be any. */
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

/** Also sends each call of `matches` to the engine that takes linear time. */
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

function namesIn(nodes: readonly ASTNode[]): ReadonlySet<string> | undefined {
  const members = nodes.flatMap((node) => {
    const member = memberOf(node);
    return member?.of === "evidence" ? [member] : [];
  });
  const uses = nodes.filter((node) => node.op === "id" && node.args === "evidence").length;
  const names = members.flatMap(({ key }) => key ?? []);
  return uses === names.length ? new Set(names) : undefined;
}
