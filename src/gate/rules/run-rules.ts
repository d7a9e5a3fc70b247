import type { JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { loadRuleLanguage } from "../../definition/rules/rule-language.js";
import type { CompiledRule } from "../../definition/rules/rule-types.js";
import { EvidenceValue, type ParamsValue, ruleParams, ruleValue, SessionValue } from "../../definition/rules/values.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../../definition/structure.js";
import type { Problem } from "../verdict.js";
import { ruleCost } from "./rule-cost.js";
import { needsCost } from "./rule-growth.js";
import { ruleProblem } from "./rule-problem.js";
import { type CompiledRules, type RuleSurroundings, rulesOf } from "./rule-set.js";

/** How many steps one rule may take: some tens of milliseconds. */
const STEPS_MAX = 1_000_000;

/** A rule with all that it is run with but the evidence. */
interface ReadyRule {
  readonly rule: RuleDefinition;
  readonly field?: FieldDefinition;
  readonly params: ParamsValue;
  readonly compiled: CompiledRule;
  /** Whether its cost depends on how large the evidence is. */
  readonly costs: boolean;
}

/** Compiles the rules of a gate. */
export async function createRules(gate: FieldGate): Promise<CompiledRules> {
  const language = await loadRuleLanguage();
  const compiler = language.forFields(gate.fields);
  const ready: (ReadyRule | Problem)[] = rulesOf(gate).map(({ rule, field }) => {
    const params = rule.params ?? {};
    const compiled = compiler.compile(rule.cel, field === undefined ? { params } : { value: field.type, params });
    if (!compiled.ok) return ruleProblem(rule, field, undefined, `can't be run: ${compiled.message}`);
    const place = field === undefined ? {} : { field };
    return { rule, ...place, params: ruleParams(params).value, compiled, costs: needsCost(compiled.tree) };
  });
  return {
    check(evidence, surroundings, faulty) {
      const variables = variablesOf(gate, evidence, surroundings);
      return ready.flatMap((one) => {
        if ("problem" in one) return [one];
        return isMoot(one, evidence, faulty) ? [] : (checkRule(one, evidence, variables) ?? []);
      });
    },
  };
}

type Variables = Readonly<Record<string, unknown>>;

function variablesOf(gate: FieldGate, evidence: JsonObject, around: RuleSurroundings): Variables {
  const given = new EvidenceValue();
  for (const { name, type } of gate.fields) {
    const value = Object.hasOwn(evidence, name) ? evidence[name] : undefined;
    if (value !== undefined && value !== null) given.set(name, ruleValue(value, type));
  }
  return { evidence: given, artifacts: around.artifacts ?? {}, plan: around.plan ?? {}, session: sessionOf(around) };
}

function sessionOf({ session }: RuleSurroundings): SessionValue {
  if (session === undefined) return new SessionValue();
  return new SessionValue([
    ["id", session.id],
    ["workflow_type", session.workflowType],
    ["target", session.target],
    ["phase", BigInt(session.phase)],
    ["attempt", BigInt(session.attempt)],
  ]);
}

/** Whether there is nothing to check, or a problem with what it looks at has been told. */
function isMoot({ field, compiled }: ReadyRule, evidence: JsonObject, faulty: ReadonlySet<string>): boolean {
  if (field !== undefined) {
    const value = Object.hasOwn(evidence, field.name) ? evidence[field.name] : undefined;
    if (value === undefined || value === null || faulty.has(field.name)) return true;
  }
  return [...(compiled.names ?? [])].some((name) => faulty.has(name));
}

function checkRule({ rule, field, params, compiled, costs }: ReadyRule, evidence: JsonObject, all: Variables) {
  const given = all.evidence;
  const value = field !== undefined && given instanceof EvidenceValue ? given.get(field.name) : undefined;
  const variables: Variables = field === undefined ? { ...all, params } : { ...all, params, value };
  const steps = costs ? ruleCost(compiled.tree, variables) : 0;
  if (steps > STEPS_MAX) {
    const message = `was not run: on evidence of this size it could take more than ${STEPS_MAX} steps`;
    return ruleProblem(rule, field, evidence, message);
  }
  try {
    return compiled.run(variables) === true ? undefined : ruleProblem(rule, field, evidence, undefined);
  } catch (error) {
    return ruleProblem(rule, field, evidence, `can't be worked out: ${reasonOf(error)}`);
  }
}

/** What the language says, without the picture of the rule that it draws below. */
function reasonOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : shown(error)).split("\n");
  return first.replace(/dyn<(\w+)>/g, "$1");
}
