/**
 * Reads and checks the rules of a gate: the validators of its fields, and rules between fields. Also chooses the example that
 * agents are shown for each field. The author's own is checked; if it fails or is missing, one that passes is generated.
 */
import type { SourcePosition } from "../../errors.js";
import { earlierPhases } from "../../rules/artifact-keys.js";
import { candidateValues, faultOfValue, SIZE_MAX, type TrialRule, trialRule } from "../../rules/candidates.js";
import { EvidenceValue, ruleValue } from "../../rules/environment.js";
import { loadRuleLanguage, verifiedValues } from "../../rules/language.js";
import { readRuleText } from "../../rules/python-to-cel.js";
import type { CompiledRule, RuleCompiler, RuleField, RuleSubject } from "../../rules/rule-types.js";
import {
  builtInValidator,
  hasUnclearNumber,
  isValidatorName,
  likelyNames,
  UNCLEAR_NUMBER,
  VERIFYING_VALIDATORS,
} from "../../rules/validators.js";
import { exampleOf, USUAL_EXAMPLES } from "../field-types.js";
import type { GatePlace } from "../gate-definition.js";
import type { JsonObject, JsonValue } from "../json.js";
import { isSame } from "../json-schema-values.js";
import { meantOr, shown } from "../names.js";
import type { Report } from "../report.js";
import type { FieldDefinition, RuleDefinition, VerifyDefinition } from "../structure.js";
import type { FieldSeed, GatePart } from "./gate-fields.js";
import type { WrittenRule } from "./gate-schema.js";

interface ReadRules {
  readonly fields: FieldDefinition[];
  readonly rules: RuleDefinition[];
}

/** Reads and checks all rules of a gate. `parts` are the top of the gate and its checkpoint. */
export async function readRules(
  seeds: readonly FieldSeed[],
  parts: readonly GatePart[],
  report: Report,
  place: GatePlace,
): Promise<ReadRules> {
  const table = tableOf(parts, report);
  const cross = parts.flatMap(crossRules);
  const bare = seeds.map(({ definition }) => definition);
  const isPlain = seeds.every(({ validators }) => validators.every((name) => VERIFYING_VALIDATORS.has(name)));
  for (const seed of seeds) refuseUnverifiable(seed, report);
  if (isPlain && table.size === 0 && cross.length === 0) {
    const plain = seeds.map((seed) => withRules(seed, []));
    return { fields: await chooseExamples(plain, report), rules: [] };
  }
  const compiler = (await loadRuleLanguage()).forFields(bare, earlierPhases(place));
  const reading = { compiler, fields: bare, table, report };
  const sound = await checkTable(seeds, reading);
  const ruled: RuledField[] = [];
  for (const seed of seeds) {
    const isRead = await report.spendRules(seed.validators.length, seed.place);
    ruled.push(withRules(seed, isRead ? fieldRules(seed, sound, reading) : []));
  }
  const rules: RuleDefinition[] = [];
  for (const rule of cross) {
    if (!(await report.spendRules(1, rule.place))) break;
    rules.push(...checked(rule, {}, "evidence", reading).map(({ definition }) => definition));
  }
  return { fields: await chooseExamples(ruled, report), rules };
}

interface Rule {
  readonly text: string;
  readonly place: SourcePosition;
  readonly message?: string;
}

/** Returns the validators of both places. A name in both is an error: one rule would hide the other. */
function tableOf(parts: readonly GatePart[], report: Report): Map<string, Rule> {
  const table = new Map<string, Rule>();
  for (const { written, spot } of parts) {
    const { validators = {} } = written;
    if (validators === false || Array.isArray(validators)) continue;
    for (const [name, item] of Object.entries(validators)) {
      const rule = ruleOf(item, spot.place("validators", name));
      const hint = "Give one of them another name, or delete it.";
      if (table.has(name)) report.error("VALUE_WRONG", rule.place, `there are two validators ${shown(name)}`, hint);
      table.set(name, rule);
    }
  }
  return table;
}

function ruleOf(item: WrittenRule, place: SourcePosition): Rule {
  if (typeof item === "string") return { text: item, place };
  const { rule = "", error_message: message } = item;
  return { text: rule, place, message };
}

/** Returns the rules about the evidence as a whole: `cross_field_validation`. */
function crossRules({ written: { cross_field_validation: rules }, spot }: GatePart): Rule[] {
  const at = spot.at("cross_field_validation");
  if (Array.isArray(rules))
    return rules.flatMap((item, index) => (item === undefined ? [] : ruleOf(item, at.place(index))));
  const isNothing = rules === undefined || rules === false || (typeof rules === "object" && !("rule" in rules));
  return isNothing ? [] : [ruleOf(rules, at.place())];
}

/** Returns the checks by verifiers that some validators stand for. */
export function verifyOf({ definition, params, validators }: FieldSeed): VerifyDefinition[] {
  const named = validators.filter((name) => VERIFYING_VALIDATORS.has(name));
  return named.map((verifier) => ({ verifier, params, field: definition.name }));
}

/** Reports a verifier on a field that can't name a path: only texts and lists can. */
function refuseUnverifiable(
  { definition: { name, type }, params, validators, place }: FieldSeed,
  report: Report,
): void {
  if (type === "string" || type === "list" || type === "any" || params.path !== undefined) return;
  for (const validator of validators.filter((candidate) => VERIFYING_VALIDATORS.has(candidate))) {
    const message = `the validator ${shown(validator)} doesn't go with ${shown(name)}: a field of type ${type} names no path`;
    const hint = "Make the field a string, or name the path: validator_params: {path: …}.";
    report.error("RULE_INVALID", place, message, hint);
  }
}

interface Reading {
  readonly compiler: RuleCompiler;
  readonly fields: readonly RuleField[];
  readonly table: ReadonlyMap<string, Rule>;
  readonly report: Report;
}

/** Checks every validator that the gate defines, used or not. Returns the names of those that are valid. */
async function checkTable(seeds: readonly FieldSeed[], reading: Reading): Promise<ReadonlySet<string>> {
  const { table, report } = reading;
  const used = new Set(seeds.flatMap(({ validators }) => validators));
  const sound = new Set<string>();
  for (const [name, rule] of table) {
    if (!(await report.spendRules(1, rule.place))) break;
    // Types and parameters are known only at the fields that use the validator.
    const subject: RuleSubject = { value: "any", params: "any" };
    if (compiled(rule, subject, reading) !== undefined) sound.add(name);
    if (used.has(name)) continue;
    const hint = `Write validator: ${name} at the field that it is for, or remove it.`;
    report.warn("VALIDATOR_UNUSED", rule.place, `no field names the validator ${shown(name)}, so it never runs`, hint);
  }
  return sound;
}

function compiled({ text, place }: Rule, subject: RuleSubject | "evidence", { compiler, fields, report }: Reading) {
  const about = subject === "evidence" ? subject : { type: subject.value ?? "any" };
  const read = readRuleText(text, about, fields);
  const result = read.ok ? compiler.compile(read.cel, subject === "evidence" ? {} : subject) : read;
  if (!result.ok) report.error("RULE_INVALID", place, result.message, result.hint);
  return read.ok && result.ok ? { cel: read.cel, compiled: result } : undefined;
}

interface CheckedRule {
  readonly definition: RuleDefinition;
  readonly compiled: CompiledRule;
  /** True if it is a built-in validator. */
  readonly isNamed: boolean;
}

function withRules(seed: FieldSeed, rules: readonly CheckedRule[]): RuledField {
  const { definition, params } = seed;
  return {
    seed,
    definition: rules.length === 0 ? definition : { ...definition, rules: rules.map((rule) => rule.definition) },
    trials: rules.flatMap((rule) => trialRule(rule.definition.source, rule.compiled, params) ?? []),
    isPlain: rules.every(({ isNamed }) => isNamed),
    checks: [...verifyOf(seed), ...seed.verify],
  };
}

function fieldRules(seed: FieldSeed, sound: ReadonlySet<string>, reading: Reading): CheckedRule[] {
  const { definition, place, validators, params } = seed;
  const { type } = definition;
  const subject = { value: type, params };
  return validators.flatMap((text): CheckedRule[] => {
    const defined = reading.table.get(text);
    if (defined !== undefined) {
      // An invalid validator was reported where it is defined.
      return sound.has(text) ? checked({ ...defined, place }, params, subject, reading, text) : [];
    }
    if (VERIFYING_VALIDATORS.has(text)) return [];
    const named = builtInValidator(text, type);
    if (named === undefined && isValidatorName(text)) return unknownValidator(text, place, reading);
    if (named === undefined) return checked({ text, place }, params, subject, reading);
    if (named.cel !== undefined) {
      const [rule] = checked({ text: named.cel, place }, params, subject, reading, text);
      return rule === undefined ? [] : [{ ...rule, isNamed: true }];
    }
    const message = `the validator ${shown(text)} doesn't go with a field of type ${type}`;
    reading.report.error("RULE_INVALID", place, message, "Give the field another type, or write a rule.");
    return [];
  });
}

/** Returns a rule in pinned form, in a list of one; empty if it is invalid. `name` is the author's name for it. */
function checked(
  rule: Rule,
  params: JsonObject,
  subject: RuleSubject | "evidence",
  reading: Reading,
  name?: string,
): CheckedRule[] {
  const sound = compiled(rule, subject, reading);
  if (sound === undefined) return [];
  const { text, message } = rule;
  const definition = {
    source: name ?? text.trim(),
    cel: sound.cel,
    params: Object.keys(params).length === 0 ? undefined : params,
    message,
  };
  return [{ definition, compiled: sound.compiled, isNamed: false }];
}

function unknownValidator(name: string, place: SourcePosition, { table, report, fields }: Reading): [] {
  const hint = () => {
    if (hasUnclearNumber(name)) return UNCLEAR_NUMBER;
    const other = fields.some((field) => field.name === name) ? `evidence.${name}` : "value != 0";
    const otherwise = `Define it below "validators:", or write a rule, such as ${other}.`;
    return meantOr(name, [...table.keys(), ...likelyNames(name)], otherwise);
  };
  report.error("VALIDATOR_UNKNOWN", place, `there is no validator ${shown(name)}`, hint);
  return [];
}

interface RuledField {
  readonly seed: FieldSeed;
  readonly definition: FieldDefinition;
  /** The rules that values can be tried with. */
  readonly trials: readonly TrialRule[];
  /** True if all rules are built-in validators, so that their meaning is known. */
  readonly isPlain: boolean;
  /** The checks of the field, from its validators and from `verify`. */
  readonly checks: readonly VerifyDefinition[];
}

/** The number of trials left, by the report of the definition. */
const budgets = new WeakMap<Report, { left: number }>();

const TRIALS_MAX = 20_000;

/** Returns the fields, each with an example that passes its rules, if one is found. */
async function chooseExamples(fields: readonly RuledField[], report: Report): Promise<FieldDefinition[]> {
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
  // The usual example of a type is shown anyway.
  const isUsual = bare.rules === undefined && sample !== undefined && isSame(sample, USUAL_EXAMPLES[bare.type]);
  return sample === undefined || isUsual ? bare : { ...bare, sample };
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
    return report[required ? "error" : "warn"]("RULE_INVALID", seed.place, message, hint);
  }
  const message = `no example of ${shown(name)} was found that passes ${asked}: agents are shown none`;
  report.warn("EXAMPLE_MISSING", seed.place, message, "Write example: and a value that passes.");
}

/** Returns the evidence that rules over several fields are tried with: the required fields. */
function evidenceOf(fields: readonly FieldDefinition[]): EvidenceValue {
  const required = fields.filter((field) => field.required);
  return new EvidenceValue(required.map((field) => [field.name, ruleValue(triedWith(field), field.type)]));
}

function triedWith(field: FieldDefinition): JsonValue {
  return exampleOf(field) ?? USUAL_EXAMPLES[field.type];
}

/** Finds an example by all rules, given those of the other fields; else keeps the one that was found alone. */
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
