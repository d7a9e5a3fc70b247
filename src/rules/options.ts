/**
 * The options that a session is started with: the JSON Schema that a workflow declares for them, and the rules over them
 * that skip phases. zod, which checks the schema, is loaded with the first schema; patterns run in linear time.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { RecentMap } from "../workflow/cache.js";
import type { ChildWorkflow } from "../workflow/child-workflow.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { boundedRule, type RuleOutcome } from "./compile.js";
import { loadRuleLanguage } from "./language.js";
import { Patterns } from "./patterns.js";
import type { RuleFault } from "./rule-types.js";

/** The most that a misspelt keyword or option may differ, in letters. */
export const TYPO_MAX = 2;

/** Options with their defaults, or what is wrong with them. */
export type CheckedOptions =
  | { readonly ok: true; readonly options: JsonObject }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Checks options against a schema without faults, and adds the defaults. */
export async function checkBySchema(schema: JsonObject, given: JsonObject): Promise<CheckedOptions> {
  const { issues, options } = await readOptions(schema, given);
  const others = issues.filter(({ code, path }) => !isNaming(code, path, schema, given));
  const problems = [...namingProblems(schema, given), ...issueProblems(others)];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, options };
}

/** Returns a schema in code that takes the options which a JSON Schema without faults takes, and adds the defaults. */
export function optionsInCode(schema: JsonObject): StandardSchemaV1<JsonObject> {
  const standard = {
    version: 1,
    vendor: "phasegate",
    jsonSchema: { input: () => schema, output: () => schema },
    async validate(given: unknown) {
      if (!isJsonObject(given)) return { issues: [{ message: "they must be an object" }] };
      const { issues, options } = await readOptions(schema, given);
      return issues.length > 0 ? { issues } : { value: options };
    },
  } as const;
  return { "~standard": standard };
}

interface OptionIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Returns the options with their defaults, and what is wrong with them. */
async function readOptions(schema: JsonObject, given: JsonObject) {
  const read = schemaOf(await loadReader(), schema).safeParse(given);
  const unmatched = (await patternsOf(schema)).flatMap(({ keys, pattern, matches }): OptionIssue[] => {
    const texts = valuesAt(given, keys).filter((value) => typeof value === "string");
    const bad = texts.find((text) => !matches(text));
    return bad === undefined
      ? []
      : [{ code: "pattern", path: keys, message: `${shown(bad)} does not match ${pattern}` }];
  });
  const issues: OptionIssue[] = [...(read.error?.issues ?? []), ...unmatched];
  const options: unknown = read.data;
  return { issues, options: isJsonObject(options) ? options : given };
}

/** Returns the unknown and the missing options, each with what was meant or what is expected. */
export function namingProblems(schema: JsonObject, given: JsonObject): string[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return [
    ...unknownOptions(schema, given),
    ...missingOptions(schema, given).map(
      (name) => `the option ${shown(name)} is missing: ${describeProperty(properties[name], true)}`,
    ),
  ];
}

/** Returns the names of the options that are required, not given, and have no default. */
function missingOptions(schema: JsonObject, given: JsonObject): string[] {
  return textsIn(schema.required).filter((name) => !Object.hasOwn(given, name) && !hasDefault(schema, name));
}

/**
 * Returns the unknown options: all, where the schema allows no others; else those that are nearly the name of one that is
 * not given. Such an option would be ignored, and a phase skipped for it.
 */
export function unknownOptions(schema: JsonObject, given: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(isJsonObject(schema.properties) ? schema.properties : {});
  const free = names.filter((name) => !Object.hasOwn(given, name));
  const { additionalProperties: others } = schema;
  const isMeant = (key: string) => others === undefined && key.length > 2 && nearest(key, free) !== undefined;
  const unknown = Object.keys(given).filter((key) => !names.includes(key) && (others === false || isMeant(key)));
  return unknown.map((key) => {
    const meant = optionMeant(key, free);
    return `there is no option ${shown(key)}${meant === undefined ? "" : `; did you mean ${shown(meant)}?`}`;
  });
}

/** Returns what is wrong with the options that a phase gives to its workflow, as far as that can be said without its rules' values. */
export function childOptionFaults(
  { options = {} }: Pick<ChildWorkflow, "options">,
  { optionsSchema, dynamic }: Pick<WorkflowStructure, "optionsSchema" | "dynamic">,
): readonly string[] {
  if (optionsSchema === undefined) return [];
  const given = Object.fromEntries(Object.entries(options).filter(([name]) => name !== dynamic?.sourcePathKey));
  const missing = missingOptions(optionsSchema, options).map((name) => `the option ${shown(name)} is missing`);
  return [...unknownOptions(optionsSchema, given), ...missing];
}

/** Returns issues of a schema as sentences, each with its place. */
export function issueProblems(
  issues: readonly {
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
    readonly message: string;
  }[],
): string[] {
  return issues.map(({ path = [], message }) => {
    const keys = path.map((key) => String(typeof key === "object" ? key.key : key));
    return `${["options", ...keys].join(".")}: ${message.replace(/^Invalid (?:input|option): /, "")}`;
  });
}

/** Returns each option that a schema describes, in a few words: `list of string, required: what it is`. */
export function describeOptions(schema: JsonObject): Readonly<Record<string, string>> {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = textsIn(schema.required);
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, describeProperty(property, required.includes(name))]),
  );
}

/** Returns the name that is meant. Two letters that have changed places count as two changes. */
export function optionMeant(name: string, names: readonly string[]): string | undefined {
  return nearest(name, names) ?? (name.length > TYPO_MAX + 1 ? nearest(name, names, TYPO_MAX) : undefined);
}

function describeProperty(property: JsonValue | undefined, isRequired: boolean): string {
  if (!isJsonObject(property)) return isRequired ? "any value, required" : "any value";
  const { default: standard, description } = property;
  const how = standard === undefined ? (isRequired ? ", required" : "") : `, default ${shown(standard)}`;
  return `${typeInWords(property)}${how}${typeof description === "string" ? `: ${description}` : ""}`;
}

function typeInWords({ type, enum: values, const: value, items }: JsonObject): string {
  if (Array.isArray(values)) return values.map(shown).join(" | ");
  if (value !== undefined) return shown(value);
  if (type === "array") return isJsonObject(items) ? `list of ${typeInWords(items)}` : "list";
  const types = textsIn(Array.isArray(type) ? type : [type ?? "any value"]);
  return types.length === 0 ? "any value" : types.join(" | ");
}

export function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function hasDefault({ properties }: JsonObject, name: string): boolean {
  const property = isJsonObject(properties) ? properties[name] : undefined;
  return isJsonObject(property) && property.default !== undefined;
}

/** Checks whether an issue is about a name, which `namingProblems` reports in better words. */
function isNaming(code: string, path: readonly PropertyKey[], schema: JsonObject, given: JsonObject): boolean {
  if (code === "unrecognized_keys" && path.length === 0) return true;
  return textsIn(schema.required).some((name) => name === path[0] && !Object.hasOwn(given, name));
}

type FromJsonSchema = typeof import("./json-schema.js").fromJSONSchema;

export async function loadReader(): Promise<FromJsonSchema> {
  return (await import("./json-schema.js")).fromJSONSchema;
}

/** Returns the reader's schema. Patterns are left out: zod would run them on an engine without a time bound. */
export function schemaOf(fromJSONSchema: FromJsonSchema, schema: JsonObject) {
  const bare = withoutPatterns(schema);
  return fromJSONSchema(isJsonObject(bare) ? { type: "object", ...bare } : {});
}

/** Keys with data below them, not schemas. */
export const DATA: ReadonlySet<string> = new Set(["default", "const", "enum", "examples"]);

function withoutPatterns(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isJsonObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== "pattern" || typeof value !== "string");
  return Object.fromEntries(kept.map(([key, value]) => [key, DATA.has(key) ? value : withoutPatterns(value)]));
}

/** A pattern with the place of the values that it is for; `*` stands for each item of a list. */
interface OptionPattern {
  readonly keys: readonly string[];
  readonly pattern: string;
}

const ITEM = "*";

/** Returns the patterns directly in properties and items. */
function plainPatterns(schema: JsonObject, keys: readonly string[] = []): OptionPattern[] {
  const { pattern, properties, items } = schema;
  const inner = Object.entries(isJsonObject(properties) ? properties : {});
  return [
    ...(typeof pattern === "string" ? [{ keys, pattern }] : []),
    ...inner.flatMap(([key, part]) => (isJsonObject(part) ? plainPatterns(part, [...keys, key]) : [])),
    ...(isJsonObject(items) ? plainPatterns(items, [...keys, ITEM]) : []),
  ];
}

let patterns: Promise<Patterns> | undefined;

/** Returns the patterns in a schema, ready to be matched, each with what is wrong with it. */
export async function patternsOf(schema: JsonObject) {
  const plain = plainPatterns(schema);
  if (plain.length === 0) return [];
  patterns ??= import("@bufbuild/re2").then((re2) => new Patterns(re2));
  const engine = await patterns;
  return plain.map(({ keys, pattern }) => ({
    keys,
    pattern,
    fault: engine.fault(pattern),
    matches: (text: string) => engine.matches(text, pattern),
  }));
}

function valuesAt(value: JsonValue | undefined, [key, ...rest]: readonly string[]): (JsonValue | undefined)[] {
  if (key === undefined) return [value];
  if (key === ITEM) return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : [];
  return isJsonObject(value) && Object.hasOwn(value, key) ? valuesAt(value[key], rest) : [];
}

/** The part of a structure that decides which phases are skipped. */
export type SkippingWorkflow = Pick<WorkflowStructure, "optionsSchema" | "dynamic"> & {
  readonly phases: readonly Pick<PhaseDefinition, "skipWhen">[];
};

/** A rule that was compiled, or why it can't be. */
type ReadySkip = ((variables: Record<string, unknown>) => RuleOutcome) | RuleFault;

/** The rules that were used last, since each call of a session needs its own again. */
const compiled = new RecentMap<string, ReadySkip>(256);

async function compileSkip(cel: string, workflow: SkippingWorkflow): Promise<ReadySkip> {
  // If the schema allows no others, these are all options.
  const keys = workflow.optionsSchema?.additionalProperties === false ? declaredOptions(workflow) : undefined;
  const id = JSON.stringify([cel, keys]);
  const known = compiled.get(id);
  if (known !== undefined) return known;
  const language = await loadRuleLanguage();
  const rule = language.forVariables({ options: "object" }, keys === undefined ? {} : { options: keys }).compile(cel);
  const ready = rule.ok ? boundedRule(rule) : rule;
  compiled.set(id, ready);
  return ready;
}

/**
 * Returns the options that a workflow declares, with the one that names its plan; undefined without a schema, or if its
 * `additionalProperties` say that there are others.
 */
export function declaredOptions(workflow: Omit<SkippingWorkflow, "phases">): readonly string[] | undefined {
  const { optionsSchema, dynamic } = workflow;
  const { properties, additionalProperties: others = false } = optionsSchema ?? {};
  if (optionsSchema === undefined || others !== false) return undefined;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return dynamic === undefined ? names : [...names, dynamic.sourcePathKey];
}

/** Returns why a rule over the options can't run; undefined if it can. */
export async function skipFault(cel: string, workflow: SkippingWorkflow): Promise<RuleFault | undefined> {
  const ready = await compileSkip(cel, workflow);
  return typeof ready === "function" ? undefined : ready;
}

/** A phase that is skipped: the reason in the author's words, and the rule that holds. */
export interface Skip {
  readonly reason: string;
  readonly rule: string;
}

/** Returns why the phase at a position, from 0, is skipped; undefined if it is not. */
export type Skips = (position: number) => Skip | undefined;

/**
 * Returns which phases are skipped with these options. A rule that can't be evaluated, for example because an option is
 * missing, skips nothing.
 */
export async function skipsWith(workflow: SkippingWorkflow, options: JsonObject): Promise<Skips> {
  const skips = new Map<number, Skip>();
  for (const [position, { skipWhen }] of workflow.phases.entries()) {
    if (skipWhen === undefined) continue;
    const ready = await compileSkip(skipWhen.cel, workflow);
    if (typeof ready !== "function" || !ready({ options }).holds) continue;
    skips.set(position, { reason: skipWhen.reason, rule: skipWhen.cel });
  }
  return (position) => skips.get(position);
}

/** Matches `No supporting_docs in options`, with the name of the option. */
const NO_OPTION = /^no\s+[`'"]?([A-Za-z_]\w*)[`'"]?\s+in\s+(?:the\s+)?options\.?$/i;

/** Returns the rule that a condition in words stands for; undefined if it can't be read. A blank option counts as missing. */
export function skipPhrase(words: string): string | undefined {
  const name = NO_OPTION.exec(words.trim())?.[1];
  return name === undefined ? undefined : `!has(options.${name}) || options.${name} in [null, "", [], false]`;
}
