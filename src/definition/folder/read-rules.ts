/** The rules of a gate: what its fields' validators say, and what must hold between fields. */
import { shown } from "../names.js";
import { VERIFYING_VALIDATORS } from "../rules/named-validators.js";
import { loadRuleLanguage } from "../rules/rule-language.js";
import { trialRule } from "../rules/try-example.js";
import type { FieldDefinition, RuleDefinition, VerifyDefinition } from "../structure.js";
import { type CheckedRule, checked, checkTable, fieldRules } from "./field-rules.js";
import type { ObjectReader } from "./object-reader.js";
import type { FieldSeed } from "./read-field.js";
import { readCrossRules, readValidatorTable, type WrittenRule } from "./read-validators.js";
import type { Report } from "./report.js";
import { type RuledField, settleExamples } from "./settle-examples.js";

/** What came of reading rules. */
export interface ReadRules {
  readonly fields: readonly FieldDefinition[];
  readonly rules: readonly RuleDefinition[];
  /** Checks that validators stand for. */
  readonly verify: readonly VerifyDefinition[];
}

/** Reads and checks all rules of a gate. `readers` are the top of the gate and its checkpoint. */
export async function readRules(
  seeds: readonly FieldSeed[],
  readers: readonly ObjectReader[],
  report: Report,
): Promise<ReadRules> {
  const table = tableOf(readers, report);
  const cross = readers.flatMap(readCrossRules);
  const bare = seeds.map(({ definition }) => definition);
  const isPlain = seeds.every(({ validators }) => validators.every((name) => VERIFYING_VALIDATORS.has(name)));
  const verify = seeds.flatMap(verifyOf);
  for (const seed of seeds) refuseUnverifiable(seed, report);
  if (isPlain && table.size === 0 && cross.length === 0) {
    return { fields: await settleExamples(seeds.map(withoutRules), report), rules: [], verify };
  }
  const compiler = (await loadRuleLanguage()).forFields(bare);
  const reading = { compiler, fields: bare, table, report };
  const sound = await checkTable(seeds, reading);
  const ruled: RuledField[] = [];
  for (const seed of seeds) {
    const isRead = await report.hasRoom(seed.validators.length, seed.place);
    ruled.push(isRead ? withRules(seed, fieldRules(seed, sound, reading)) : withoutRules(seed));
  }
  const rules: RuleDefinition[] = [];
  for (const rule of cross) {
    if (!(await report.hasRoom(1, rule.place))) break;
    rules.push(...checked(rule, {}, "evidence", reading).map(({ definition }) => definition));
  }
  return { fields: await settleExamples(ruled, report), rules, verify };
}

/** The validators of both places; a name that stands in both would hide one of its rules. */
function tableOf(readers: readonly ObjectReader[], report: Report): Map<string, WrittenRule> {
  const table = new Map<string, WrittenRule>();
  for (const [name, rule] of readers.flatMap((reader) => readValidatorTable(reader))) {
    const hint = "Give one of them another name, or delete it.";
    if (table.has(name)) report.error("VALUE_WRONG", rule.place, `there are two validators ${shown(name)}`, hint);
    table.set(name, rule);
  }
  return table;
}

function withoutRules(seed: FieldSeed): RuledField {
  return { seed, definition: seed.definition, trials: [], isPlain: true, checks: checksOfSeed(seed) };
}

function withRules(seed: FieldSeed, rules: readonly CheckedRule[]): RuledField {
  if (rules.length === 0) return withoutRules(seed);
  const { definition, params } = seed;
  return {
    seed,
    definition: { ...definition, rules: rules.map((rule) => rule.definition) },
    trials: rules.flatMap((rule) => trialRule(rule.definition.source, rule.compiled, params) ?? []),
    isPlain: rules.every(({ isNamed }) => isNamed),
    checks: checksOfSeed(seed),
  };
}

/** What a field's `verify` and its validators ask verifiers. */
function checksOfSeed(seed: FieldSeed): VerifyDefinition[] {
  return [...verifyOf(seed), ...seed.verify];
}

function verifyOf({ definition, params, validators }: FieldSeed): VerifyDefinition[] {
  const named = validators.filter((name) => VERIFYING_VALIDATORS.has(name));
  return named.map((verifier) => ({ verifier, params, field: definition.name }));
}

/** A verifier looks up what a field names, and only texts and lists of them can name anything. */
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
