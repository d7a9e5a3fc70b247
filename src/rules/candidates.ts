/**
 * Example values that may pass a field's rules, the most plausible first. They are made from the constants in the
 * rules; the caller tries each.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import { isBlank, isOfType, USUAL_EXAMPLES } from "../workflow/field-types.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import type { FieldDefinition, FieldType } from "../workflow/structure.js";
import { boundedRule, type RuleOutcome } from "./compile.js";
import { EvidenceValue, ruleParams, ruleValue } from "./environment.js";
import type { CompiledRule } from "./rule-types.js";
import { memberOf, nodesOf } from "./tree.js";

/** Maximum length of a generated text or list. */
export const SIZE_MAX = 1000;

/**
 * Yields values of a type to try, without duplicates. `others` are values that the rules may compare with. Large lists are
 * made only if no value before them passes.
 */
export function* candidateValues(
  type: FieldType,
  trees: readonly ASTNode[],
  params: JsonObject,
  others: readonly JsonValue[],
): Generator<JsonValue> {
  const constants = constantsOf(trees, [params, ...others]);
  const may = (own: FieldType) => type === own || type === "any";
  const kinds: readonly (() => readonly JsonValue[])[] = [
    () => [USUAL_EXAMPLES[type], ...others],
    () => (may("boolean") ? [true, false] : []),
    () => (may("integer") || may("number") ? numbersOf(constants) : []),
    () => (may("string") ? textsOf(constants) : []),
    () => (may("list") ? listsOf(constants) : []),
    () => (may("object") ? objectsOf(constants) : []),
  ];
  const seen = new Set<string>();
  for (const kind of kinds) {
    for (const value of kind()) {
      const text = JSON.stringify(value);
      if (seen.has(text)) continue;
      seen.add(text);
      yield value;
    }
  }
}

/** A rule that can be run on example values. */
export interface TrialRule {
  /** The rule as its author wrote it. */
  readonly source: string;
  readonly compiled: CompiledRule;
  /** The evidence fields that it uses. */
  readonly names: readonly string[];
  run(value: JsonValue, type: FieldType, evidence: EvidenceValue): RuleOutcome;
}

/** Names that only a session has. */
const UNKNOWN: ReadonlySet<string> = new Set(["artifacts", "plan", "session", "options"]);

/** Maximum number of steps of a rule on a trial value. */
const STEPS_MAX = 10_000;

/** Returns a rule for trials; undefined if it depends on a session. */
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

/** Returns why a field refuses a value, as part of a sentence; undefined if it accepts it. */
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

interface Constants {
  readonly numbers: readonly number[];
  readonly texts: readonly string[];
  /** Keys of objects, below the value. */
  readonly keys: readonly string[];
}

function constantsOf(trees: readonly ASTNode[], values: readonly JsonValue[]): Constants {
  const nodes = trees.flatMap(nodesOf);
  const literals: unknown[] = [...nodes.flatMap((node) => (node.op === "value" ? [node.args] : [])), ...leaves(values)];
  const texts = literals.filter((literal) => typeof literal === "string");
  const numbers = literals
    .filter((literal) => typeof literal === "number" || typeof literal === "bigint")
    .map(Number)
    .sort((a, b) => a - b);
  const keys = nodes.flatMap((node) => {
    const { of = "", key } = memberOf(node) ?? {};
    return key === undefined || ["evidence", "params", "artifacts", "plan", "session", "options"].includes(of)
      ? []
      : [key];
  });
  return { numbers: [...new Set(numbers)], texts: [...new Set(texts)], keys: [...new Set([...keys, ...texts])] };
}

/** Returns the scalars in values, at any depth. */
function leaves(values: readonly JsonValue[]): JsonValue[] {
  return values.flatMap((value) => (value instanceof Object ? leaves(Object.values(value)) : [value]));
}

/** Returns numbers between two bounds, then the bounds, then numbers beyond them. */
function numbersOf({ numbers }: Constants): number[] {
  const between = numbers.slice(1).map((number, index) => (number + (numbers[index] ?? 0)) / 2);
  const made = [...between.map(Math.round), ...between, ...numbers, 0, 1, -1];
  const near = numbers.flatMap((number) => [number + 1, number - 1, Math.ceil(number), Math.floor(number)]);
  return [...made, ...near, ...numbers.flatMap((number) => [number + 0.5, number - 0.5, number * 2])];
}

/** Texts that match common patterns. */
const USUAL_TEXTS = ["done", "docs/report.md", "1.2.3", "v1.2.3", "main", "abc", "ABC-123", "2026-01-31", "0123abc"];

function textsOf(constants: Constants): string[] {
  const { texts } = constants;
  const sized = sizesOf(constants).map(textOfSize);
  const around = texts.flatMap((text) => [`${text}report`, `report${text}`]);
  const pairs = texts.slice(0, 5).flatMap((one) => texts.slice(0, 5).map((other) => `${one}report${other}`));
  return [...sized.filter((text) => text.length > 3), ...around, ...pairs, ...texts, ...USUAL_TEXTS, ...sized];
}

/** Returns the sizes that rules may require. */
function sizesOf({ numbers }: Constants): number[] {
  const sizes = numbers.flatMap((number) => [Math.ceil(number), Math.floor(number) + 1, Math.floor(number) - 1]);
  return [...new Set([1, 2, 3, ...sizes])].filter((size) => size > 0 && size <= SIZE_MAX);
}

/** Returns a text of a given length without spaces at its ends. */
function textOfSize(size: number): string {
  const text = String(USUAL_EXAMPLES.string);
  return size <= text.length ? text.slice(0, size).replace(/ $/, "s") : `${text.padEnd(size - 1, ", and more")}.`;
}

function listsOf(constants: Constants): JsonValue[][] {
  const sizes = sizesOf(constants);
  const made = [...textsOf(constants).slice(0, 30), ...numbersOf(constants).slice(0, 30)];
  const items = [...constants.texts, ...made, true, false];
  const counted = sizes.map((size) => Array.from({ length: size }, (_, index) => `item ${index + 1}`));
  const alike = [...items, ...objectsOf(constants).slice(0, 20)].flatMap((item) =>
    sizes.slice(0, 8).map((size) => Array.from({ length: size }, () => item)),
  );
  const whole = [[...constants.texts], [...constants.numbers]].filter(({ length }) => length > 0 && length <= SIZE_MAX);
  return [...counted, ...whole, ...alike, []];
}

function objectsOf(constants: Constants): JsonObject[] {
  const values = [true, "value", ...constants.texts, ...numbersOf(constants).slice(0, 10), ["first item"], false];
  const keyed = constants.keys.length === 0 ? [] : values.map((value) => objectOf(constants.keys, value));
  const keysOf = (size: number) => Array.from({ length: size }, (_, index) => `key_${index + 1}`);
  return [...keyed, ...sizesOf(constants).map((size) => objectOf(keysOf(size), "value"))];
}

function objectOf(keys: readonly string[], value: JsonValue): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, value]));
}
