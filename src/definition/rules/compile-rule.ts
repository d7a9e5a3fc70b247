import type { ASTNode, ParseResult } from "@marcbachmann/cel-js";
import { explainFault } from "./explain-fault.js";
import { LINEAR_MATCHES, type Patterns } from "./patterns.js";
import { literalText, memberOf, nodesOf } from "./rule-tree.js";
import type { CompiledRule, RuleFault, RuleScope } from "./rule-types.js";

/** Reads and type-checks a rule. */
export function compileRule(cel: string, scope: RuleScope, patterns: Patterns): CompiledRule | RuleFault {
  let parsed: ParseResult;
  try {
    parsed = scope.environment.parse(cel);
  } catch (error) {
    return explainFault(error, cel, scope);
  }
  const nodes = nodesOf(parsed.ast);
  const fault = unknownMember(nodes, scope) ?? badPattern(nodes, patterns);
  if (fault !== undefined) return fault;
  const { valid, type, error } = parsed.check();
  if (!valid) return explainFault(error, cel, scope);
  if (type !== "bool") {
    const message = `a rule must be true or false, and this one is ${type === "dyn" ? "anything" : `a ${type}`}`;
    return { ok: false, message, hint: `Compare it with something: ${cel.length < 40 ? cel : "…"} == true, say.` };
  }
  return { ok: true, tree: parsed.ast, names: namesIn(nodes), run: (variables) => parsed({ ...variables }) };
}

/** `has(evidence.misspelt)` passes the language's own check, and would be false for ever. */
function unknownMember(nodes: readonly ASTNode[], scope: RuleScope): RuleFault | undefined {
  for (const node of nodes) {
    const member = memberOf(node);
    if (member?.of !== "evidence" || member.key === undefined) continue;
    if (scope.fields.some(({ name }) => name === member.key)) continue;
    return explainFault({ code: "no_such_key", summary: `No such key: ${member.key}`, node }, node.input, scope);
  }
  return undefined;
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
