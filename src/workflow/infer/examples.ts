/** Whether the examples in a phase's text would pass the gate that is read out of it. */

import type { Code, RootContent } from "mdast";
import { EvidenceValue, ruleParams, ruleValue, SessionValue } from "../../rules/compile.js";
import { loadRuleLanguage } from "../../rules/language.js";
import { parsePython } from "../../rules/python-parser.js";
import { PythonFault, type PythonNode } from "../../rules/python-tokens.js";
import type { RuleCompiler } from "../../rules/rule-types.js";
import { isOfType, visibleText } from "../field-types.js";
import { headingName } from "../from-markdown.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { type Section, sectionsOf } from "../markdown-blocks.js";
import { shown } from "../names.js";
import { createReport } from "../report.js";
import type { Place, Requirement, RequirementFault } from "../requirement.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../structure.js";
import { readYaml } from "../yaml.js";
import type { NumberedLine } from "./sentences.js";

type Gate = Pick<FieldGate, "fields" | "rules">;

/** A fence with evidence in it. */
export interface EvidenceExample extends Place {
  /** Undefined where it can't be read. */
  readonly values?: JsonObject;
}

/** What an example shows that the gate wouldn't take, as warnings; and the names of fields that it shows wrongly. */
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

/** The examples of a text: fences that name a field of its gate, in their order. Never throws. */
export async function findExamples(
  text: string,
  requirements: readonly Requirement[],
): Promise<readonly EvidenceExample[]> {
  const names = new Set(requirements.map(({ field }) => field.name));
  const fences = sectionsFor(sectionsOf(text), requirements).flatMap(({ blocks }) => blocks.flatMap(fencesIn));
  const examples = await Promise.all(fences.map((fence) => exampleIn(fence, names)));
  return examples.flatMap((example) => example ?? []);
}

/** Which headings, and which lines in bold that stand for one, say that a gate's requirements follow. */

const GATE = /validation[ -]gate|checkpoint|(?:completion|exit) criteria|\bevidence\b/;
/** Headings of what is done, or shown, not of what is asked. */
const NO_GATE = /^(?:task|step)\b|\bexamples?\b/;

/** Whether a heading's name is a gate's. */
export function gateHeadingIn(name: string): boolean {
  return GATE.test(name) && !NO_GATE.test(name);
}

/** For each section whether it stands below a gate's heading. */
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

/** A line that stands for a heading. */
export interface Label {
  readonly text: string;
  readonly isBold: boolean;
}

/** A paragraph that is a label alone: `**Checkpoint**`, `Evidence:`. */
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
  if (required && isBlank(value)) return problem("and must not be empty");
  const failed = rules.find((rule) => !isFulfilled(rule, field, values, compiler));
  return failed === undefined ? [] : problem(`and ${failed.source} must hold`);
}

function isBlank(value: JsonValue): boolean {
  return typeof value === "string" && visibleText(value) === "";
}

/** Rules see what isn't there before a session is. */
const ABSENT = /\b(?:artifacts|session|plan)\b/;
/** Rules on an example as large as this are left to the gate, which bounds them, in characters. */
const RUN_MAX = 8192;

/** Whether a rule holds; so does one that can't be run here. */
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
  // A rule of one field may look at others, which the example may not show.
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
    // The gate takes a rule that can't be worked out for one that doesn't hold, and so does this.
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

/** The sections of evidence and of examples, those below a gate's heading, and those that ask for something. */
function sectionsFor(sections: readonly Section[], requirements: readonly Requirement[]): readonly Section[] {
  const gates = gatesAmong(sections);
  return sections.filter(({ heading, line }, index) => {
    if (gates[index] === true || /\b(?:evidence|examples?)\b/.test(headingName(heading))) return true;
    const end = sections[index + 1]?.line ?? Number.POSITIVE_INFINITY;
    return requirements.some((requirement) => line <= requirement.line && requirement.line < end);
  });
}

/** Evidence as a phase's text shows it: in code fences below the headings of requirements, evidence or examples. */

const LANGUAGES = new Set(["json", "jsonc", "json5", "yaml", "yml", "python", "py", ""]);

function fencesIn(block: RootContent): Code[] {
  if (block.type === "code") return LANGUAGES.has(block.lang?.toLowerCase() ?? "") ? [block] : [];
  return "children" in block ? block.children.flatMap(fencesIn) : [];
}

/** A name that something is given to. */
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

/** A dict, or a name that one is given to. JSON without true, false and null is one, too. */
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
