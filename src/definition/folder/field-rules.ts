import type { SourcePosition } from "../../errors.js";
import type { JsonObject } from "../json.js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import { isValidatorName, likelyNames, namedValidator, VERIFYING_VALIDATORS } from "../rules/named-validators.js";
import { readRuleText } from "../rules/read-rule.js";
import type { CompiledRule, RuleCompiler, RuleField, RuleSubject } from "../rules/rule-types.js";
import type { RuleDefinition } from "../structure.js";
import type { FieldSeed } from "./read-field.js";
import type { WrittenRule } from "./read-validators.js";
import type { Report } from "./report.js";

/** A rule as it is pinned, and as it is run. */
export interface CheckedRule {
  readonly definition: RuleDefinition;
  readonly compiled: CompiledRule;
  /** Whether it is a validator that is built in. */
  readonly isNamed: boolean;
}

/** What rules of one gate are read with. */
export interface Reading {
  readonly compiler: RuleCompiler;
  readonly fields: readonly RuleField[];
  readonly table: ReadonlyMap<string, WrittenRule>;
  readonly report: Report;
}

/** Checks each validator that the gate defines, used or not; gives those that can be used. */
export async function checkTable(
  seeds: readonly FieldSeed[],
  { table, report, ...reading }: Reading,
): Promise<ReadonlySet<string>> {
  const used = new Set(seeds.flatMap(({ validators }) => validators));
  const sound = new Set<string>();
  for (const [name, rule] of table) {
    if (!(await report.hasRoom(1, rule.place))) break;
    // Of which type the value is, and which parameters there are, is for the fields to say.
    const subject: RuleSubject = { value: "any", params: "any" };
    if (compiled(rule, subject, { ...reading, table, report }) !== undefined) sound.add(name);
    if (used.has(name)) continue;
    const hint = `Write validator: ${name} at the field that it is for, or remove it.`;
    report.warn("VALIDATOR_UNUSED", rule.place, `no field names the validator ${shown(name)}: nothing runs it`, hint);
  }
  return sound;
}

/** The rules that a field's validators are, where they are sound. */
export function fieldRules(
  { definition, place, validators, params }: FieldSeed,
  sound: ReadonlySet<string>,
  reading: Reading,
) {
  const subject = { value: definition.type, params };
  return validators.flatMap((text): CheckedRule[] => {
    const defined = reading.table.get(text);
    if (defined !== undefined) {
      // One that is wrong in itself has been reported where it is defined.
      return sound.has(text) ? checked({ ...defined, place }, params, subject, reading, text) : [];
    }
    if (VERIFYING_VALIDATORS.has(text)) return [];
    const named = namedValidator(text, definition.type);
    if (named === undefined && isValidatorName(text)) return unknownValidator(text, place, reading);
    if (named === undefined) return checked({ text, place }, params, subject, reading);
    if (named.cel !== undefined) {
      return checked({ text: named.cel, place }, params, subject, reading, text).map((rule) => ({
        ...rule,
        isNamed: true,
      }));
    }
    const message = `the validator ${shown(text)} doesn't go with a field of type ${definition.type}`;
    reading.report.error("RULE_INVALID", place, message, "Give the field another type, or write a rule.");
    return [];
  });
}

/** A rule as it is pinned, where it is sound. `name` is what its author called it. */
export function checked(
  rule: WrittenRule,
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
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(message === undefined ? {} : { message }),
  };
  return [{ definition, compiled: sound.compiled, isNamed: false }];
}

/** A rule's text in CEL; undefined, with an error, if it can't be run. */
function compiled(
  { text, place }: WrittenRule,
  subject: RuleSubject | "evidence",
  { compiler, fields, report }: Reading,
) {
  const about = subject === "evidence" ? subject : { type: subject.value ?? "any" };
  const read = readRuleText(text, about, fields);
  const result = read.ok ? compiler.compile(read.cel, subject === "evidence" ? {} : subject) : read;
  if (!result.ok) report.error("RULE_INVALID", place, result.message, result.hint);
  return read.ok && result.ok ? { cel: read.cel, compiled: result } : undefined;
}

function unknownValidator(name: string, place: SourcePosition, { table, report, fields }: Reading): [] {
  const hint = () => {
    const meant = nearest(name, [...table.keys(), ...likelyNames(name)]);
    if (meant !== undefined) return `Did you mean ${meant}?`;
    const other = fields.some((field) => field.name === name) ? `evidence.${name}` : "value != 0";
    return `Define it below "validators:", or write a rule, such as ${other}.`;
  };
  report.error("VALIDATOR_UNKNOWN", place, `there is no validator ${shown(name)}`, hint);
  return [];
}
