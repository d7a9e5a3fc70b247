/**
 * Runs the rules of a gate. Loaded on demand, since it imports the rule language. A rule that can't be
 * compiled or evaluated is a problem, never an error: the gate stays shut.
 */
import { earlierPhases } from "../rules/artifact-keys.js";
import { boundedRule, type RuleOutcome } from "../rules/compile.js";
import { EvidenceValue, type ParamsValue, ruleParams, ruleValue, SessionValue } from "../rules/environment.js";
import { loadRuleLanguage } from "../rules/language.js";
import type { CompiledRule } from "../rules/rule-types.js";
import type { GatePlace } from "../workflow/gate-definition.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../workflow/structure.js";
import { type CompiledRules, type Problem, type RuleSession, type RuleSurroundings, rulesOf } from "./verdict.js";

/** The variables of a rule by name. `value` and `params` are replaced for each rule. */
type Variables = Record<string, unknown>;

/** A rule with everything that it needs except the evidence. */
interface ReadyRule {
  readonly rule: RuleDefinition;
  readonly field: FieldDefinition | undefined;
  readonly params: ParamsValue;
  readonly compiled: CompiledRule;
  readonly run: (variables: Variables) => RuleOutcome;
}

/** Compiles the rules of a gate. With its place, a rule that reads an artifact of no earlier phase is a fault. */
export async function createRules(gate: FieldGate, place?: GatePlace): Promise<CompiledRules> {
  const language = await loadRuleLanguage();
  const compiler = language.forFields(gate.fields, place && earlierPhases(place));
  const broken: Problem[] = [];
  const ready: ReadyRule[] = [];
  for (const { rule, field } of rulesOf(gate)) {
    const params = rule.params ?? {};
    const compiled = compiler.compile(rule.cel, field === undefined ? { params } : { value: field.type, params });
    // Its author reads the hint; an agent could not follow it.
    const hint = compiled.ok || place === undefined ? "" : ` (${compiled.hint})`;
    if (!compiled.ok) broken.push(ruleProblem(rule, field, undefined, `can't be run: ${compiled.why}${hint}`));
    else ready.push({ rule, field, params: ruleParams(params).value, compiled, run: boundedRule(compiled) });
  }
  const read = fieldsRead(gate, ready);
  return {
    faults: broken,
    check(evidence, surroundings, faulty, waived = new Set()) {
      const variables = variablesOf(read, evidence, surroundings);
      const problems = [...broken];
      for (const one of ready) {
        if (isSkipped(one, faulty, waived)) continue;
        const problem = checkRule(one, evidence, variables);
        if (problem !== undefined) problems.push(problem);
      }
      return problems;
    },
  };
}

/** Describes a rule that does not hold, or could not be evaluated. */
function ruleProblem(
  rule: RuleDefinition,
  field: FieldDefinition | undefined,
  evidence: JsonObject | undefined,
  because = "doesn't hold",
): Problem {
  const about = field === undefined ? "The rule" : `'${field.name}': the rule`;
  const said = rule.message === undefined ? "" : `: ${rule.message}`;
  const example = field?.example ?? field?.sample;
  const value = field === undefined ? undefined : evidence?.[field.name];
  return {
    field: field?.name ?? "",
    problem: "invalid",
    message: `${about} ${shown(rule.source)} ${because}${said}`,
    got: value === undefined ? undefined : shown(value),
    expected: rule.source,
    example,
  };
}

/** Returns the fields that some rule reads by name; all of them where a rule may read any. */
function fieldsRead({ fields }: FieldGate, ready: readonly ReadyRule[]): readonly FieldDefinition[] {
  return fields.filter(({ name }) => ready.some(({ compiled: { names } }) => names === undefined || names.has(name)));
}

const NO_SESSION = new SessionValue();

function variablesOf(
  read: readonly FieldDefinition[],
  evidence: JsonObject,
  surroundings: RuleSurroundings,
): Variables {
  const given = new EvidenceValue();
  for (const { name, type } of read) {
    const value = submittedValue(evidence, name);
    if (value !== undefined) given.set(name, ruleValue(value, type));
  }
  return { ...surroundingsOf(surroundings), evidence: given, value: undefined, params: undefined };
}

/** Returns the variables of a rule that are not the evidence. */
export function surroundingsOf({ artifacts = {}, plan = {}, session, options = {} }: RuleSurroundings): Variables {
  return { artifacts, plan, session: session === undefined ? NO_SESSION : sessionValue(session), options };
}

/** Returns the submitted value of a field; `null` counts as nothing. */
function submittedValue(evidence: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(evidence, name) ? (evidence[name] ?? undefined) : undefined;
}

function sessionValue(session: RuleSession): SessionValue {
  return new SessionValue([
    ["id", session.id],
    ["workflow_type", session.workflowType],
    ["target", session.target],
    ["phase", BigInt(session.phase)],
    ["attempt", BigInt(session.attempt)],
  ]);
}

/** Returns the problem with a rule; undefined if it holds, or its field was not submitted. */
function checkRule({ rule, field, params, run }: ReadyRule, evidence: JsonObject, variables: Variables) {
  if (field !== undefined) {
    const value = submittedValue(evidence, field.name);
    if (value === undefined) return undefined;
    variables.value = ruleValue(value, field.type);
  }
  variables.params = params;
  const outcome = run(variables);
  return outcome.holds ? undefined : ruleProblem(rule, field, evidence, outcome.because);
}

/**
 * Returns true if a problem with something that the rule reads was already reported; or if a rule of the gate as a whole
 * reads something that is waived. A rule of another field stays: that field is not waived.
 */
function isSkipped(
  { field, compiled: { names } }: ReadyRule,
  faulty: ReadonlySet<string>,
  waived: ReadonlySet<string>,
): boolean {
  const reads = (some: ReadonlySet<string>) => [...some].some((name) => names?.has(name));
  if (field === undefined) return reads(faulty) || reads(waived);
  return faulty.has(field.name) || reads(faulty);
}
