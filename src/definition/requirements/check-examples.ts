/** Whether the examples in a phase's text would pass the gate that is read out of it. */
import { isOfType } from "../field-types.js";
import type { JsonObject, JsonValue } from "../json.js";
import { shown } from "../names.js";
import { loadRuleLanguage } from "../rules/rule-language.js";
import type { RuleCompiler } from "../rules/rule-types.js";
import { EvidenceValue, ruleParams, ruleValue, SessionValue } from "../rules/values.js";
import type { FieldDefinition, FieldGate, RuleDefinition } from "../structure.js";
import { visibleText } from "../visible-text.js";
import type { EvidenceExample } from "./evidence-examples.js";
import type { Place, RequirementFault } from "./requirement.js";

type Gate = Pick<FieldGate, "fields" | "rules">;

/** Rules see what isn't there before a session is. */
const ABSENT = /\b(?:artifacts|session|plan)\b/;
/** Rules on an example as large as this are left to the gate, which bounds them, in characters. */
const RUN_MAX = 8192;

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

function holds({ values = {} }: EvidenceExample, name: string): boolean {
  return Object.hasOwn(values, name) && values[name] !== null;
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

function betweenProblems(
  { fields, rules = [] }: Gate,
  values: JsonObject,
  compiler: RuleCompiler | undefined,
): Problem[] {
  const isWhole = fields.every(({ name, required }) => !required || Object.hasOwn(values, name));
  const failed = isWhole ? rules.filter((rule) => !isFulfilled(rule, fields, values, compiler)) : [];
  return failed.map(({ source }) => ({ name: "", text: `the example would not pass: ${source} doesn't hold` }));
}

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
