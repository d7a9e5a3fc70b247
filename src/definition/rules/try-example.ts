import { isBlank, isOfType } from "../field-types.js";
import type { JsonObject, JsonValue } from "../json.js";
import { shown } from "../names.js";
import type { FieldDefinition, FieldType } from "../structure.js";
import { boundedRule, type RuleOutcome } from "./bounded-rule.js";
import { nodesOf } from "./rule-tree.js";
import type { CompiledRule } from "./rule-types.js";
import { EvidenceValue, ruleParams, ruleValue } from "./values.js";

/** How many steps a rule may take on a value that is only tried. */
const STEPS_MAX = 10_000;
/** What a workflow's files don't tell. */
const UNKNOWN: ReadonlySet<string> = new Set(["artifacts", "plan", "session"]);

/** A rule of a field, as values are tried by it. */
export interface TrialRule {
  /** As its author wrote it. */
  readonly source: string;
  readonly compiled: CompiledRule;
  /** The fields of evidence that it names. */
  readonly names: readonly string[];
  run(value: JsonValue, type: FieldType, evidence: EvidenceValue): RuleOutcome;
}

/** A rule to try values by; undefined where it hangs on what only a session has. */
export function trialRule(source: string, compiled: CompiledRule, params: JsonObject): TrialRule | undefined {
  if (compiled.names === undefined || nodesOf(compiled.tree).some((node) => node.op === "id" && UNKNOWN.has(node.args)))
    return undefined;
  const bounded = boundedRule(compiled, STEPS_MAX);
  const given = ruleParams(params).value;
  return {
    source,
    compiled,
    names: [...compiled.names],
    run: (value, type, evidence) => bounded({ value: ruleValue(value, type), params: given, evidence }),
  };
}

/** What keeps a field from taking a value, as part of a sentence; undefined where nothing does. */
export function faultOfValue(
  { name, type, required }: FieldDefinition,
  rules: readonly TrialRule[],
  value: JsonValue,
  evidence: EvidenceValue = new EvidenceValue(),
): string | undefined {
  if (!isOfType(value, type)) return `it is not of type ${type}`;
  if (required && value === false) return "a required field must not be false";
  if (required && isBlank(value, type)) return "it is empty";
  const whole = new EvidenceValue([...evidence, [name, ruleValue(value, type)]]);
  for (const { source, run } of rules) {
    const outcome = run(value, type, whole);
    if (!outcome.holds) return `the rule ${shown(source)} ${outcome.because ?? "doesn't hold"}`;
  }
  return undefined;
}
