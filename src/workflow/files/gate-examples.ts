/**
 * The example that agents are shown for each field of a gate. The author's own example is checked; if it fails or is
 * missing, one is generated that passes the rules.
 */
import { candidateValues, faultOfValue, SIZE_MAX, type TrialRule } from "../../rules/candidates.js";
import { EvidenceValue, ruleValue } from "../../rules/environment.js";
import { verifiedValues } from "../../rules/language.js";
import type { Report } from "../diagnostic.js";
import { exampleOf, USUAL_EXAMPLES } from "../field-types.js";
import type { JsonValue } from "../json.js";
import { shown } from "../names.js";
import type { FieldDefinition, VerifyDefinition } from "../structure.js";
import type { FieldSeed } from "./gate-fields.js";

/** A field with its rules. */
export interface RuledField {
  readonly seed: FieldSeed;
  readonly definition: FieldDefinition;
  /** The rules that values can be tried with. */
  readonly trials: readonly TrialRule[];
  /** True if all rules are built-in validators, so that their meaning is known. */
  readonly isPlain: boolean;
  readonly checks: readonly VerifyDefinition[];
}

/** The number of trials left, by the report of the definition. */
const budgets = new WeakMap<Report, { left: number }>();

/** Maximum number of values that are tried for all fields of a definition. */
const TRIALS_MAX = 20_000;

/** Returns the fields, each with an example that passes its rules, if one is found. */
export async function chooseExamples(fields: readonly RuledField[], report: Report): Promise<FieldDefinition[]> {
  const budget = budgets.get(report) ?? { left: TRIALS_MAX };
  budgets.set(report, budget);
  const alone: FieldDefinition[] = [];
  for (const field of fields) {
    await report.spendRules(0, field.seed.place);
    alone.push(chooseAlone(field, budget, report));
  }
  const evidence = evidenceOf(alone);
  const chosen: FieldDefinition[] = [];
  for (const [index, field] of fields.entries()) {
    await report.spendRules(0, field.seed.place);
    const before = alone[index] ?? field.definition;
    chosen.push(before.example === undefined ? chooseTogether(field, before, alone, evidence, budget) : before);
  }
  return chosen;
}

/** Finds an example by the rules that look at this field only. */
function chooseAlone(field: RuledField, budget: { left: number }, report: Report): FieldDefinition {
  const { seed, trials } = field;
  const { example, ...bare } = field.definition;
  if (example === undefined && trials.length === 0 && field.checks.length === 0) return field.definition;
  const own = trials.filter(({ names }) => names.every((name) => name === bare.name));
  const fault = example === undefined ? undefined : faultOfValue(bare, own, example);
  if (example !== undefined && fault === undefined) return field.definition;
  const sample = firstTaken(field, own, [], budget);
  if (fault !== undefined && seed.examplePlace !== undefined) {
    const message = `the example of ${shown(bare.name)} doesn't pass its gate: ${fault}`;
    const instead = sample === undefined ? "" : `; until then agents are shown ${shown(sample)}`;
    report.warn("EXAMPLE_WRONG", seed.examplePlace, message, `Write one that passes${instead}.`);
  }
  if (sample === undefined && own.length > 0 && budget.left > 0) tellNone(field, own, report);
  return sample === undefined || (bare.rules === undefined && isUsual(field, sample)) ? bare : { ...bare, sample };
}

function firstTaken(
  { definition, trials, checks, seed }: RuledField,
  rules: readonly TrialRule[],
  others: readonly JsonValue[],
  budget: { left: number },
  evidence?: EvidenceValue,
): JsonValue | undefined {
  const { type } = definition;
  const isTaken = (value: JsonValue) => {
    budget.left -= 1;
    return budget.left > 0 && faultOfValue(definition, rules, value, evidence) === undefined;
  };
  // Most fields accept the usual example of their type.
  const usual = [...verifiedValues(type, checks), USUAL_EXAMPLES[type]].find(isTaken);
  if (usual !== undefined || rules.length === 0) return usual;
  const trees = trials.map(({ compiled }) => compiled.tree);
  for (const value of candidateValues(type, trees, seed.params, others)) {
    if (isTaken(value)) return value;
    if (budget.left <= 0) break;
  }
  return undefined;
}

/** Reports that no value passes. For built-in validators this is certain, for other rules it is not. */
function tellNone({ definition, seed, isPlain }: RuledField, rules: readonly TrialRule[], report: Report): void {
  const { name, type, required } = definition;
  const asked = rules.map(({ source }) => shown(source)).join(", ");
  const isKnown =
    isPlain && rules.every(({ source }) => Number(/^min_length_(\d+)$/.exec(source)?.[1] ?? 0) <= SIZE_MAX);
  if (isKnown || (type === "boolean" && required)) {
    const must = type === "boolean" && required ? ", which must be true since it is required," : "";
    const message = `no value of ${shown(name)}${must} can pass ${asked}`;
    const hint = required ? "Change the rule, or write required: false." : "Change the rule, or leave the field out.";
    if (required) report.error("RULE_INVALID", seed.place, message, hint);
    else report.warn("RULE_INVALID", seed.place, message, hint);
    return;
  }
  const message = `no example of ${shown(name)} was found that passes ${asked}: agents are shown none`;
  report.warn("EXAMPLE_MISSING", seed.place, message, "Write example: and a value that passes.");
}

/** Checks whether an example is the usual one of its type, which is shown anyway. */
function isUsual({ definition: { type } }: RuledField, sample: JsonValue): boolean {
  return JSON.stringify(sample) === JSON.stringify(USUAL_EXAMPLES[type]);
}

/** Returns the evidence that rules over several fields are tried with: the required fields. */
function evidenceOf(fields: readonly FieldDefinition[]): EvidenceValue {
  const required = fields.filter((field) => field.required);
  return new EvidenceValue(required.map((field) => [field.name, ruleValue(triedWith(field), field.type)]));
}

function triedWith(field: FieldDefinition): JsonValue {
  return exampleOf(field) ?? USUAL_EXAMPLES[field.type];
}

/**
 * Finds an example by all rules, given the examples of the other fields. Keeps the example that was found alone if
 * there is none.
 */
function chooseTogether(
  field: RuledField,
  chosen: FieldDefinition,
  all: readonly FieldDefinition[],
  evidence: EvidenceValue,
  budget: { left: number },
): FieldDefinition {
  const named = new Set(field.trials.flatMap(({ names }) => names.filter((name) => name !== chosen.name)));
  if (named.size === 0) return chosen;
  const others = all.filter(({ name }) => named.has(name)).map(triedWith);
  const value = firstTaken(field, field.trials, others, budget, evidence);
  return value === undefined ? chosen : { ...chosen, sample: value };
}
