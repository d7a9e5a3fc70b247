/**
 * Finds the code fences with examples of evidence, and checks them against the gate of the text. Also decides which
 * headings, and bold lines in their place, begin a gate.
 */
import type { Code, RootContent } from "mdast";
import { EvidenceValue, ruleParams, ruleValue, SessionValue } from "../../rules/environment.js";
import { loadRuleLanguage } from "../../rules/language.js";
import { PythonFault, type PythonNode, parsePython } from "../../rules/python.js";
import type { RuleCompiler } from "../../rules/rule-types.js";
import { isBlank, isOfType } from "../field-types.js";
import { headingName, type Section, sectionsOf } from "../from-markdown.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { shown } from "../names.js";
import { createReport } from "../report.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../structure.js";
import { readYaml } from "../yaml.js";
import type { Place, Requirement, RequirementFault } from "./requirement.js";
import type { NumberedLine } from "./sentences.js";

type Gate = Pick<FieldGate, "fields" | "rules">;

export interface EvidenceExample extends Place {
  /** The values; undefined if they can't be read. */
  readonly values?: JsonObject;
}

/** Returns a warning for each example that the gate would refuse, and the names of the fields with wrong examples. */
export async function checkExamples(
  gate: Gate,
  examples: readonly EvidenceExample[],
): Promise<{ readonly faults: readonly RequirementFault[]; readonly wrong: ReadonlySet<string> }> {
  if (examples.length === 0) return { faults: [], wrong: new Set() };
  const hasRules = gate.fields.some(({ rules = [] }) => rules.length > 0) || (gate.rules?.length ?? 0) > 0;
  const compiler = hasRules ? (await loadRuleLanguage()).forFields(gate.fields) : undefined;
  const wrong = new Set<string>();
  const faults = examples.flatMap(({ values, ...place }) => {
    if (values === undefined) return [refused(place, "this example can't be read as JSON, YAML or a Python dict")];
    const problems = gate.fields.flatMap((field) => fieldProblem(field, values, compiler));
    for (const { name } of problems) wrong.add(name);
    const between = problems.length > 0 ? [] : betweenProblems(gate, values, compiler);
    return [...problems, ...between].map(({ text }) => refused(place, text));
  });
  const first = examples.find(({ values }) => values !== undefined);
  const missing = gate.fields.filter(({ name, required }) => required && !examples.some((one) => holds(one, name)));
  if (first === undefined || missing.length === 0) return { faults, wrong };
  const names = missing.map(({ name }) => name).join(", ");
  return { faults: [...faults, refused(first, `the example would not pass: it has no ${names}`)], wrong };
}

/** Returns the examples of a text: code fences that name a field of its gate, in order. Never throws. */
export async function findExamples(
  text: string,
  requirements: readonly Requirement[],
): Promise<readonly EvidenceExample[]> {
  const names = new Set(requirements.map(({ field }) => field.name));
  const fences = sectionsFor(sectionsOf(text), requirements).flatMap(({ blocks }) => blocks.flatMap(fencesIn));
  const examples = await Promise.all(fences.map((fence) => exampleIn(fence, names)));
  return examples.flatMap((example) => example ?? []);
}

const GATE = /validation[ -]gate|checkpoint|(?:completion|exit) criteria|\bevidence\b/;
/** Headings about work or examples, not requirements. */
const NO_GATE = /^(?:task|step)\b|\bexamples?\b/;

export function gateHeadingIn(name: string): boolean {
  return GATE.test(name) && !NO_GATE.test(name);
}

/** Returns for each section whether it is below a gate's heading. */
export function gatesAmong(sections: readonly Section[]): boolean[] {
  let depth = Number.POSITIVE_INFINITY;
  return sections.map((section) => {
    const name = headingName(section.heading);
    if (section.depth > depth) return !NO_GATE.test(name);
    const isGate = gateHeadingIn(name);
    depth = isGate ? section.depth : Number.POSITIVE_INFINITY;
    return isGate;
  });
}

export interface Label {
  readonly text: string;
  readonly isBold: boolean;
}

/** Returns the label if a paragraph is a label alone: `**Checkpoint**`, `Evidence:`. */
export function labelOf([first, ...others]: readonly NumberedLine[]): Label | undefined {
  if (first === undefined || others.length > 0) return undefined;
  const [, bold, plain] =
    /^\s*(?:(?:\*\*|__)([^*_]{1,80})(?:\*\*|__):?|((?:[\w-]+ ){0,4}[\w-]+):)\s*$/.exec(first.text) ?? [];
  const text = bold ?? plain;
  return text === undefined ? undefined : { text, isBold: bold !== undefined };
}

function refused({ line, column }: Place, message: string): RequirementFault {
  const hint = "Make the example one that passes, or what is asked for what the example shows.";
  return { severity: "warning", code: "EXAMPLE_REFUSED", message, hint, line, column };
}

interface Problem {
  readonly name: string;
  readonly text: string;
}

function fieldProblem(field: FieldDefinition, values: JsonObject, compiler: RuleCompiler | undefined): Problem[] {
  const { name, type, required, rules = [] } = field;
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined || value === null) return [];
  const problem = (text: string) => [{ name, text: `the example would not pass: ${name} is ${shown(value)}, ${text}` }];
  if (!isOfType(value, type)) return problem(`and must be of type ${type}`);
  if (required && value === false) return problem("and must be true");
  if (required && isBlank(value, type)) return problem("and must not be empty");
  const failed = rules.find((rule) => !isFulfilled(rule, field, values, compiler));
  return failed === undefined ? [] : problem(`and ${failed.source} must hold`);
}

/** Rules can use these only in a session. */
const ABSENT = /\b(?:artifacts|session|plan|options)\b/;
/** Maximum size of an example that rules run on, in characters: the gate bounds larger ones. */
const RUN_MAX = 8192;

/** Checks whether a rule holds. A rule that can't run here counts as fulfilled. */
function isFulfilled(
  { cel, params = {} }: RuleDefinition,
  about: FieldDefinition | readonly FieldDefinition[],
  values: JsonObject,
  compiler: RuleCompiler | undefined,
): boolean {
  const field = "type" in about ? about : undefined;
  const compiled = compiler?.compile(cel, field === undefined ? { params } : { value: field.type, params });
  if (compiled?.ok !== true || ABSENT.test(cel) || JSON.stringify(values).length > RUN_MAX) return true;
  const fields = "type" in about ? [about] : about;
  // A rule of one field may use others, which the example may lack.
  if (field !== undefined && /\bevidence\b/.test(cel)) return true;
  const given = new EvidenceValue(
    fields.flatMap(({ name, type }) =>
      Object.hasOwn(values, name) ? [[name, ruleValue(values[name] ?? null, type)] as const] : [],
    ),
  );
  const value = field === undefined ? undefined : ruleValue(values[field.name] ?? null, field.type);
  const variables = {
    evidence: given,
    value,
    params: ruleParams(params).value,
    artifacts: {},
    plan: {},
    session: new SessionValue(),
  };
  try {
    return compiled.run(variables) === true;
  } catch {
    // A gate refuses when a rule can't be evaluated, and so does this check.
    return false;
  }
}

function betweenProblems(
  { fields, rules = [] }: Gate,
  values: JsonObject,
  compiler: RuleCompiler | undefined,
): Problem[] {
  const isWhole = fields.every(({ name, required }) => !required || Object.hasOwn(values, name));
  const failed = isWhole ? rules.filter((rule) => !isFulfilled(rule, fields, values, compiler)) : [];
  return failed.map(({ source }) => ({ name: "", text: `the example would not pass: ${source} doesn't hold` }));
}

function holds({ values = {} }: EvidenceExample, name: string): boolean {
  return Object.hasOwn(values, name) && values[name] !== null;
}

/** Returns the sections about evidence and examples, those below a gate's heading, and those with requirements. */
function sectionsFor(sections: readonly Section[], requirements: readonly Requirement[]): readonly Section[] {
  const gates = gatesAmong(sections);
  return sections.filter(({ heading, line }, index) => {
    if (gates[index] === true || /\b(?:evidence|examples?)\b/.test(headingName(heading))) return true;
    const end = sections[index + 1]?.line ?? Number.POSITIVE_INFINITY;
    return requirements.some((requirement) => line <= requirement.line && requirement.line < end);
  });
}

const LANGUAGES = new Set(["json", "jsonc", "json5", "yaml", "yml", "python", "py", ""]);

function fencesIn(block: RootContent): Code[] {
  if (block.type === "code") return LANGUAGES.has(block.lang?.toLowerCase() ?? "") ? [block] : [];
  return "children" in block ? block.children.flatMap(fencesIn) : [];
}

const NAMED = /(?<=^|[\s{,"'])([A-Za-z_][\w-]*)["']?\s*[:=]/g;

async function exampleIn(fence: Code, names: ReadonlySet<string>): Promise<EvidenceExample | undefined> {
  const { line = 1, column = 1 } = fence.position?.start ?? {};
  const value = await exampleValue(fence.value, fence.lang?.toLowerCase() ?? "");
  if (value === undefined) {
    const isMeant = [...fence.value.matchAll(NAMED)].some(([, name = ""]) => names.has(name));
    return isMeant && (fence.lang ?? "") !== "" ? { line, column } : undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { evidence } = value;
  const values = isJsonObject(evidence) && !names.has("evidence") ? evidence : value;
  return Object.keys(values).some((name) => names.has(name)) ? { values, line, column } : undefined;
}

async function exampleValue(text: string, language: string): Promise<JsonValue | undefined> {
  const bare = /^json[c5]?$/.test(language) ? text.replace(/^[ \t]*\/\/.*$/gm, "") : text;
  return fromPython(bare) ?? (/^py/.test(language) ? undefined : await fromYaml(bare));
}

/** Returns the value of a Python dict, or of a variable with one. JSON without true, false and null is also Python. */
function fromPython(text: string): JsonValue | undefined {
  try {
    return plainValue(parsePython(text.replace(/^\s*[A-Za-z_]\w*\s*=\s*(?=\{)/, "")));
  } catch (error) {
    if (error instanceof PythonFault) return undefined;
    throw error;
  }
}

function plainValue(node: PythonNode): JsonValue {
  if (node.kind === "list") return node.items.map(plainValue);
  if (node.kind === "constant") return typeof node.value === "bigint" ? Number(node.value) : node.value;
  const below = node.kind === "minus" ? plainValue(node.of) : undefined;
  if (typeof below === "number") return -below;
  if (node.kind !== "dict") throw new PythonFault(node.at, "no value");
  return Object.fromEntries(node.entries.map(([key, value]) => [String(plainValue(key)), plainValue(value)]));
}

async function fromYaml(text: string): Promise<JsonValue | undefined> {
  return (await readYaml("", text, createReport()))?.value;
}
