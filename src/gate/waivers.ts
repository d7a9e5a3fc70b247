/**
 * What a waiver changes in a gate. A waived field need not be submitted, and neither its rules nor its verifiers run;
 * everything else of the gate stays as it is. The gate in the definition is never changed: evidence is checked against a
 * copy.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { GateDefinition, OpenGate, PlanGate, SchemaGate, VerifyDefinition } from "../workflow/structure.js";
import { checksOf, revealOf, wholeChecks } from "./check-gate.js";
import { exampleAt, fieldsOf, fixedIn } from "./fields.js";
import { evidenceNames, requiredNames } from "./format.js";
import { ITEMS_FIELD, TASKS_FIELD } from "./plan-gate.js";
import type { Problem } from "./verdict.js";

/** The names that a waiver may be for. */
interface Waivable {
  /**
   * Names of fields; checks of the gate as a whole as `verified_by.1`; in a plan's gate, `tasks_completed.<id>` and
   * `validation_gate.<number>`. If the gate's schema does not tell its fields, as a union does not, those of its example:
   * without a value for the waived field such a schema may check nothing else.
   */
  readonly names: readonly string[];
  /** The fields and checks that the definition excludes from waivers. */
  readonly excluded: readonly string[];
}

/** Returns what can be waived in a gate and is not waived yet; nothing where the gate hides what it asks for. */
export function waivable(gate: GateDefinition, waived: readonly string[] = []): Waivable {
  if (revealOf(gate) === "none" || gate.kind === "open") return { names: [], excluded: [] };
  const fixed = wholeChecks(gate).flatMap(([name, check]) => (check.waivable === false ? [name] : []));
  const excluded = [...excludedNames(gate), ...fixed];
  const fields = fieldNames(gate);
  // A gate that shows names alone does not show its checks.
  const named = revealOf(gate) === "names" ? [] : namedChecks(gate).map(([name]) => name);
  const names = new Set([...fields, ...named].filter((name) => !excluded.includes(name) && !waived.includes(name)));
  return { names: [...names], excluded };
}

/**
 * Returns what of a gate's problems a waiver could be asked for. Failed checks of the gate as a whole are known by their
 * place in `failedChecks`: true where the check has failed, in the order of those that are not waived.
 */
export function waivableProblems(
  gate: GateDefinition,
  waived: readonly string[],
  problems: readonly Problem[],
  failedChecks: readonly boolean[] = [],
): string[] {
  const { names } = waivable(gate, waived);
  const wanted = problems.flatMap(({ field, example }) => {
    if (gate.kind !== "plan") return field.split(".", 1);
    return [field === TASKS_FIELD && typeof example === "string" ? `${TASKS_FIELD}.${example}` : field];
  });
  const ran = wholeChecks(gate).flatMap(([name]) => (waived.includes(name) ? [] : [name]));
  const failed = ran.filter((_, index) => failedChecks[index]);
  return names.filter((name) => wanted.includes(name) || failed.includes(name));
}

/** Returns the names of all that waivers are for. */
export function waivedNames(waived: readonly { readonly fields: readonly string[] }[] = []): string[] {
  return waived.flatMap(({ fields }) => fields);
}

/** Returns the name of a gate's requirement as a waiver has it: a task of a plan may be meant by its id alone. */
export function waiverName(gate: GateDefinition, given: string): string {
  if (gate.kind !== "plan" || gate.tasks.every(({ id }) => id !== given)) return given;
  return `${TASKS_FIELD}.${given}`;
}

/** Returns what a gate says of a requirement, for the person who decides on a waiver; undefined if it says nothing. */
export function requirementText(gate: GateDefinition, name: string): string | undefined {
  const about = descriptionOf(gate, name);
  const checks = namedChecks(gate).flatMap(([named, check]) => (named === name ? [check] : []));
  const ran = checks.map(({ verifier, params }) => {
    return Object.keys(params).length === 0 ? verifier : `${verifier} ${JSON.stringify(params)}`;
  });
  const described = checks.flatMap(({ description }) => description ?? []);
  const said = [about, ...described, ran.length > 0 && `checked by ${ran.join(", ")}`];
  return said.filter((part) => typeof part === "string").join("; ") || undefined;
}

function descriptionOf(gate: GateDefinition, name: string): unknown {
  if (gate.kind === "plan") return gate.items.find((_, index) => name === `${ITEMS_FIELD}.${index + 1}`);
  return fieldsOf(gate).find((field) => field.name === name)?.description;
}

/**
 * Returns the fields of evidence that a gate does not ask for any more, since all that it requires of them is waived: what
 * is submitted in them is kept, but counts for nothing.
 */
export function unaskedFields(gate: GateDefinition, names: readonly string[]): readonly string[] {
  if (gate.kind !== "plan") return names;
  return [TASKS_FIELD, ITEMS_FIELD].filter((field) => {
    const required = planNames(gate).filter((name) => name.startsWith(`${field}.`));
    return required.length > 0 && required.every((name) => names.includes(name));
  });
}

/** Returns a gate without what is waived. */
export function waive(gate: GateDefinition, names: readonly string[]): GateDefinition {
  if (names.length === 0 || gate.kind === "open") return gate;
  const waived = new Set(names);
  const rest = { ...withoutChecks(gate, waived), waived: [...names] };
  if (gate.kind === "plan") {
    const isWaived = (id: string) => waived.has(`${TASKS_FIELD}.${id}`);
    return {
      ...gate,
      ...rest,
      tasks: gate.tasks.map((task) => (isWaived(task.id) ? { ...task, optional: true } : task)),
    };
  }
  if (gate.kind === "schema") return { ...gate, ...rest, ...withoutRequired(gate, waived) };
  const fields = gate.fields.map((field) =>
    waived.has(field.name) ? { ...field, required: false, rules: undefined } : field,
  );
  return { ...gate, ...rest, fields };
}

function withoutChecks(gate: ClosedGate, waived: ReadonlySet<string>): Pick<ClosedGate, "verify"> {
  if (gate.verify === undefined) return {};
  const fields = new Set(fieldsOf(gate).map(({ name }) => name));
  const named = namedChecks(gate);
  // A field may be called like a check of the gate as a whole: then only the field is meant.
  const isMeant = (name: string, { field }: VerifyDefinition) => field !== undefined || !fields.has(name);
  const isWaived = (check: VerifyDefinition) =>
    named.some(([name, one]) => one === check && waived.has(name) && isMeant(name, check));
  return { verify: gate.verify.filter((check) => !isWaived(check)) };
}

/**
 * Validates evidence by a gate's schema, without what is waived. A schema checks fields together only once each is
 * right by itself: so values that it accepts stand in for the waived ones, where such are known.
 */
export async function validateWaived(
  schema: StandardSchemaV1,
  gate: GateDefinition,
  evidence: JsonObject,
): Promise<StandardSchemaV1.Result<unknown>> {
  const result = await schema["~standard"].validate(evidence);
  if (!result.issues || gate.kind !== "schema" || gate.waived === undefined) return result;
  const { waived } = gate;
  const others = result.issues.filter((issue) => !waived.includes(fieldOf(issue)));
  if (others.length > 0 || result.issues.length === 0) return { issues: others };
  const inserted = standIns(gate, waived);
  const completed = await schema["~standard"].validate({ ...evidence, ...inserted });
  if (!completed.issues) return { value: withoutStandIns(completed.value, inserted, evidence) };
  const isComplete = completed.issues.every((issue) => !waived.includes(fieldOf(issue)));
  return isComplete || !tellsFields(gate) ? completed : { value: evidence };
}

function planNames({ tasks, items }: PlanGate): string[] {
  const required = tasks.filter(({ optional }) => !optional).map(({ id }) => `${TASKS_FIELD}.${id}`);
  return [...required, ...items.map((_, index) => `${ITEMS_FIELD}.${index + 1}`)];
}

type ClosedGate = Exclude<GateDefinition, OpenGate>;

function fieldNames(gate: ClosedGate): readonly string[] {
  if (gate.kind === "plan") return planNames(gate);
  if (gate.kind === "fields") return requiredNames(gate);
  return tellsFields(gate) ? evidenceNames(gate) : Object.keys(gate.example ?? {});
}

/**
 * A schema in code says it by its metadata: `z.boolean().meta({ waivable: false })`. What holds such a value can't be waived
 * either, since the value would go with it; on the whole schema it excludes everything.
 */
function excludedNames(gate: ClosedGate): readonly string[] {
  if (gate.kind === "plan") return [];
  if (gate.kind === "fields") return gate.fields.filter((field) => field.waivable === false).map(({ name }) => name);
  if (gate.jsonSchema?.waivable !== false) return fixedIn(gate.jsonSchema);
  return [...evidenceNames(gate), ...Object.keys(gate.example ?? {})];
}

/** Returns the checks of a gate by their names in a waiver: the field, or the number among those of the whole gate. */
function namedChecks(gate: GateDefinition): readonly (readonly [name: string, VerifyDefinition])[] {
  const whole = wholeChecks(gate);
  return checksOf(gate).flatMap((check) =>
    check.field === undefined ? whole.filter(([, one]) => one === check) : [[check.field, check] as const],
  );
}

function withoutRequired({ jsonSchema }: SchemaGate, waived: ReadonlySet<JsonValue>): Pick<SchemaGate, "jsonSchema"> {
  if (!Array.isArray(jsonSchema?.required)) return {};
  const required = jsonSchema.required.filter((name) => !waived.has(name));
  return { jsonSchema: { ...jsonSchema, required } };
}

/** Returns the first part of an issue's path; empty for an issue with the evidence as a whole. */
function fieldOf({ path = [] }: StandardSchemaV1.Issue): string {
  const [first = ""] = path;
  return String(typeof first === "object" ? first.key : first);
}

/** Returns what a schema made of evidence, with the waived fields as they were submitted, if they were. */
function withoutStandIns(value: unknown, inserted: JsonObject, evidence: JsonObject): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return evidence;
  const others = Object.entries(value).filter(([name]) => !Object.hasOwn(inserted, name));
  const submitted = Object.entries(evidence).filter(([name]) => Object.hasOwn(inserted, name));
  return Object.fromEntries([...others, ...submitted]);
}

/** Returns true if a schema is one object whose fields are known: then it checks each by itself. */
function tellsFields({ jsonSchema }: SchemaGate): boolean {
  return isJsonObject(jsonSchema?.properties);
}

function standIns(gate: SchemaGate, waived: readonly string[]): JsonObject {
  const found = waived.flatMap((name): [string, JsonValue][] => {
    const value = exampleAt(gate, [name]);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(found);
}

/** Describes a waiver in one line: who has granted it, why the agent has asked for it, and what the person has noted. */
export function waivedText(waived: {
  readonly fields: readonly string[];
  readonly by: string;
  readonly reason: string;
  readonly note?: string | undefined;
}): string {
  const { fields, by, reason, note } = waived;
  const said = `${fields.join(", ")} waived by ${by}. The agent's reason: ${reason}`;
  return note === undefined ? said : `${said}${/[.!?…]$/.test(said) ? "" : "."} ${by}'s note: ${note}`;
}
