/**
 * Checks evidence against a gate. The entry file of this folder; what is decided where:
 * - judge.ts: in which order a gate runs its checks, and how many attempts are left after a failure (3 in a row, 12 in
 *   total, by default); rules are compiled once for all gates with the same content
 * - check-gate.ts: which problems block a phase and which only warn, what an agent may see of them, and that evidence which
 *   is the author's example is refused
 * - evidence.ts: which evidence is refused before any gate, because it is unsafe or too large
 * - plan-gate.ts: a phase of a plan passes only if every required task and validation item is claimed
 * - claims.ts: which claims need a proof, and how it is read; what `{value: false, why}` says of a boolean
 * - run-gate-rules.ts: a rule that fails or can't be evaluated is a problem
 * - fill-params.ts: what placeholders in a verifier's params may become
 * - format.ts: what an agent is told that a gate expects; forms.ts: the form of it; fields.ts: the fields of a gate of any kind
 * - verdict.ts: what a problem and a verdict are
 * - waivers.ts: what can be waived, and what a waiver changes in a gate
 *
 * Which gate a phase has, the file's or the text's, is decided in workflow/files/choose-gate.ts.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PhasegateError } from "../errors.js";
import { exampleOf, isBlank, isOfType, visibleText } from "../workflow/field-types.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { isSame, listOf } from "../workflow/json-schema-values.js";
import { nearest, shown } from "../workflow/names.js";
import type {
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  Reveal,
  SchemaGate,
  VerifyDefinition,
  WorkflowStructure,
} from "../workflow/structure.js";
import { exampleAt, expectedBy, fieldsOf, propertiesOf, schemaAt } from "./fields.js";
import { checkPlanGate } from "./plan-gate.js";
import {
  type CompiledRules,
  type Enforcement,
  hasRules,
  type Problem,
  type RuleSurroundings,
  type Verdict,
} from "./verdict.js";

/** What a gate needs in addition to the evidence: the results of checks that ran elsewhere. */
export interface GateContext {
  /** The result of the phase's Standard Schema. A schema gate stays shut without it. */
  readonly schemaResult?: StandardSchemaV1.Result<unknown>;
  /** The gate's rules, from `compileRules`. A gate that has rules stays shut without them. */
  readonly rules?: CompiledRules;
  /** What rules can read in addition to the evidence. Default: nothing. */
  readonly surroundings?: RuleSurroundings;
  /** The strictness. Default: `strict`. */
  readonly enforcement?: Enforcement;
}

/**
 * Checks evidence against a gate and returns the verdict. Pure: the same arguments give the same verdict.
 * The evidence must be plain JSON. Reports all problems at once, in the gate's order.
 * @throws {PhasegateError} `INVALID_INPUT` for anything but a gate of a definition.
 */
export function checkGate(gate: GateDefinition, evidence: JsonObject, context: GateContext = {}): Verdict {
  switch (gate.kind) {
    case "open":
      return { passed: true, warnings: [] };
    case "fields":
      return checkFields(gate, evidence, context);
    case "schema":
      return checkSchema(gate, evidence, context.schemaResult);
    case "plan":
      return verdict(checkPlanGate(gate, evidence));
  }
  // Plain JavaScript may pass a gate as it is written.
  throw new PhasegateError("INVALID_INPUT", "checkGate takes the gate of a definition", {
    remedy: "Give definition.structure.phases[0].gate of what defineWorkflow() returns.",
    details: { field: "gate", expected: "a gate of a definition" },
  });
}

/** Returns the problem with one field of evidence, if any. One of the keys that no field has may be a misspelling. */
export function checkField(
  field: FieldDefinition,
  evidence: JsonObject,
  unknownKeys: () => readonly string[],
): Problem | undefined {
  const value = Object.hasOwn(evidence, field.name) ? evidence[field.name] : undefined;
  if (value === undefined || value === null) return field.required ? missing(field, value, unknownKeys) : undefined;
  if (!isOfType(value, field.type)) {
    return problem(field, "wrong_type", `'${field.name}' must be ${article(field.type)}`, value);
  }
  if (!field.required) return undefined;
  if (value === false) {
    return problem(field, "claimed_false", `'${field.name}' is claimed false: it must be done before this gate`, value);
  }
  if (isBlank(value, field.type)) {
    return problem(field, "empty", `'${field.name}' is empty`, value);
  }
  return undefined;
}

/** Returns how much of its requirements a gate shows to agents. */
export function revealOf(gate: GateDefinition): Reveal {
  return "reveal" in gate ? (gate.reveal ?? "fields") : "fields";
}

/**
 * Returns problems as an agent may see them. With `names` it sees only which fields have a problem and
 * whether they are missing; with `none` only how many problems there are. This keeps an agent from fitting
 * its evidence to the check. Hosts keep the full problems.
 */
export function conceal(problems: readonly Problem[], reveal: Reveal): readonly Problem[] {
  if (reveal === "fields") return problems;
  // A person's denial is written for the agent, so it is never concealed.
  const denials = problems.filter(({ problem }) => problem === "denied");
  const found = problems.filter(({ problem }) => problem !== "denied");
  if (found.length === 0) return denials;
  if (reveal === "names")
    return [...new Map(found.map((problem) => [problem.field, withoutDetails(problem)])).values(), ...denials];
  const count = found.length === 1 ? "1 thing is" : `${found.length} things are`;
  const message = `The gate isn't met: ${count} missing or wrong. Its requirements are not shown.`;
  return [{ field: "", problem: "invalid", message }, ...denials];
}

export function checksOf(gate: GateDefinition): readonly VerifyDefinition[] {
  return "verify" in gate ? (gate.verify ?? []) : [];
}

/** A gate of any kind, with the names that some have. */
interface Named extends Pick<GateDefinition, "kind"> {
  readonly proofs?: readonly string[] | undefined;
  readonly waived?: readonly string[] | undefined;
}

/** Returns the names of the fields that a gate asks proofs for. */
export function proofsOf({ proofs = [] }: Named): readonly string[] {
  return proofs;
}

/** Returns the names of what is waived in a copy of a gate. */
export function waivedIn({ waived = [] }: Named): readonly string[] {
  return waived;
}

/** Begins the names of checks that belong to the gate as a whole. */
export const WHOLE = "verified_by.";

/**
 * Returns the checks that belong to a gate as a whole, with the names that agents and waivers have for them: `verified_by.1`
 * for the first one. A copy of a gate without what is waived keeps these numbers.
 */
export function wholeChecks(gate: GateDefinition): readonly (readonly [name: string, VerifyDefinition])[] {
  // A field may be called like a check: then a waiver of that name is for the field.
  const fields = fieldsOf(gate).map(({ name }) => name);
  const waived = new Set(waivedIn(gate).filter((name) => !fields.includes(name)));
  let number = 0;
  return checksOf(gate).flatMap((check) => {
    if (check.field !== undefined) return [];
    do number += 1;
    while (waived.has(`${WHOLE}${number}`));
    return [[`${WHOLE}${number}`, check] as const];
  });
}

/** Returns the names of all verifiers that a workflow's gates need, each once. A host needs them all to run it. */
export function verifierNames({ phases, dynamic }: WorkflowStructure): readonly string[] {
  const checks = [...phases.flatMap(({ gate }) => checksOf(gate)), ...(dynamic?.verify ?? [])];
  return [...new Set(checks.map(({ verifier }) => verifier))];
}

function checkFields(gate: FieldGate, evidence: JsonObject, context: GateContext): Verdict {
  const found = fieldProblems(gate, evidence);
  const lenient = context.enforcement === "as-defined" && !gate.strict;
  const blocking = lenient ? found.filter(({ problem }) => problem === "missing" || problem === "copied") : found;
  const softened = lenient ? found.filter((problem) => !blocking.includes(problem)) : [];
  if (context.rules === undefined) {
    const shut = hasRules(gate) ? [whole("The gate's rules were not run, so it stays shut")] : [];
    return verdict([...blocking, ...shut], softened);
  }
  const faulty = new Set(found.map(({ field }) => field));
  const leftOut = new Set(waivedIn(gate).filter((name) => (ownValue(evidence, name) ?? null) === null));
  const unmet = context.rules.check(evidence, context.surroundings ?? {}, faulty, leftOut);
  return gate.strict ? verdict([...blocking, ...unmet], softened) : verdict(blocking, [...softened, ...unmet]);
}

/** After this many problems, missing fields get no hint at a similar name that was sent. */
const SUGGESTIONS_MAX = 100;

function fieldProblems(gate: FieldGate, evidence: JsonObject): Problem[] {
  const problems: Problem[] = [];
  const unknownKeys = () => {
    if (problems.length >= SUGGESTIONS_MAX) return [];
    const names = new Set(gate.fields.map(({ name }) => name));
    return Object.keys(evidence).filter((key) => !names.has(key));
  };
  for (const field of gate.fields) {
    const problem = checkField(field, evidence, unknownKeys);
    if (problem !== undefined) problems.push(problem);
  }
  return [...problems, ...copiedProblems(gate, evidence)];
}

function problem(field: FieldDefinition, kind: Problem["problem"], message: string, value?: JsonValue): Problem {
  const because = field.description === undefined ? "" : `: ${field.description}`;
  return {
    field: field.name,
    problem: kind,
    message: `${message}${because}`,
    got: value === undefined ? "nothing" : shown(value),
    expected: field.type === "boolean" && field.required ? "true" : article(field.type),
    example: exampleOf(field),
  };
}

function article(type: FieldType): string {
  if (type === "any") return "any value that is not empty";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function missing(field: FieldDefinition, value: null | undefined, unknownKeys: () => readonly string[]): Problem {
  const similar = nearest(field.name, unknownKeys());
  const meant = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
  return problem(field, "missing", `Required evidence '${field.name}' not provided${meant}`, value);
}

function whole(message: string): Problem {
  return { field: "", problem: "invalid", message };
}

function verdict(problems: readonly Problem[], warnings: readonly Problem[] = []): Verdict {
  return problems.length === 0 ? { passed: true, warnings } : { passed: false, problems, warnings };
}

/** Limits the issues that are listed: a schema reports each bad item of a list, and the log must stay readable. */
const ISSUES_LISTED_MAX = 1000;

function checkSchema(
  gate: SchemaGate,
  evidence: JsonObject,
  result: StandardSchemaV1.Result<unknown> | undefined,
): Verdict {
  if (result === undefined) return verdict([whole("The gate's schema was not run, so it stays shut")]);
  const { issues } = result;
  if (!issues) return verdict(copiedProblems(gate, evidence));
  if (issues.length === 0) return verdict([whole("The gate's schema refused the evidence without saying why")]);
  const named = issues.slice(0, ISSUES_LISTED_MAX).map((issue) => issueProblem(issue, evidence, gate));
  const others = issues.length - named.length;
  return verdict(others === 0 ? named : [...named, whole(`${others} more problems are not listed`)]);
}

function issueProblem(issue: StandardSchemaV1.Issue, evidence: JsonObject, gate: SchemaGate): Problem {
  const path = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  const field = path.map(String).join(".");
  const value = at(evidence, path);
  const schema = path.length === 0 ? undefined : schemaAt(gate.jsonSchema, path);
  const wanted = exampleAt(gate, path);
  return {
    field,
    problem: value === undefined ? "missing" : "invalid",
    message: sentence(field, value === undefined, issue.message),
    got: value === undefined ? "nothing" : shown(value),
    expected: schema && expectedBy(schema),
    // A check of several values may refuse what another one of its place accepts.
    example: isSame(wanted, value) ? undefined : wanted,
  };
}

/** Returns the value at a path; follows own keys only. */
function at(value: JsonValue | undefined, path: readonly PropertyKey[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

function sentence(field: string, missing: boolean, message: string): string {
  if (field === "") return message;
  return missing ? `'${field}' is missing: ${message}` : `'${field}': ${message}`;
}

function withoutDetails({ field, problem }: Problem): Problem {
  const kind = problem === "missing" ? problem : "invalid";
  if (field === "") return { field, problem: kind, message: "The evidence as a whole doesn't meet the gate" };
  const message = kind === "missing" ? `Required evidence '${field}' not provided` : `'${field}' doesn't meet the gate`;
  return { field, problem: kind, message };
}

/**
 * Returns a problem for each field whose value is its example: a text, a list or an object. A number may be the same by
 * chance, so it is one only where everything that was submitted, apart from booleans, is an example.
 */
function copiedProblems(gate: FieldGate | SchemaGate, evidence: JsonObject): Problem[] {
  const examples = examplesOf(gate);
  if (![...examples.values()].some((values) => values.length > 0)) return [];
  const submitted = Object.entries(evidence).flatMap(([name, value]) => {
    const known = examples.get(name);
    if (known === undefined || value === null || typeof value === "boolean") return [];
    return [{ name, value, isExample: known.includes(comparable(value)) }];
  });
  const same = submitted.filter(({ isExample }) => isExample);
  const certain = same.filter(({ value }) => typeof value !== "number");
  const copied = certain.length === 0 && same.length === submitted.length ? same : certain;
  return copied.map(({ name, value }) => ({
    field: name,
    problem: "copied",
    message: `'${name}' is the example of the gate's author: submit what your own work gave`,
    got: shown(value),
    expected: "a value of your own, not the example",
  }));
}

/**
 * Returns the examples of each field in a form that can be compared; none for fields where an example may be right, or whose
 * value a verifier checks.
 */
function examplesOf(gate: FieldGate | SchemaGate): ReadonlyMap<string, readonly string[]> {
  const checked = new Set(gate.verify?.map(({ field }) => field));
  const examples = new Map<string, readonly string[]>();
  if (gate.kind === "fields") {
    for (const { name, example, allowExample } of gate.fields) {
      examples.set(name, example === undefined || allowExample || checked.has(name) ? [] : [comparable(example)]);
    }
    return examples;
  }
  const { example = {}, jsonSchema, allowExample } = gate;
  const own = new Map(Object.entries(example).map(([name, value]) => [name, [value]]));
  const properties = propertiesOf(jsonSchema);
  for (const name of [...own.keys(), ...properties.keys()]) {
    const all = [...listOf(own.get(name)), ...listOf(properties.get(name)?.examples)];
    examples.set(name, allowExample || checked.has(name) ? [] : all.map(comparable));
  }
  return examples;
}

/** Returns a value as a text that is the same for texts which differ only in blanks, hidden characters and case. */
function comparable(value: JsonValue): string {
  return canonicalJson(plain(value));
}

function plain(value: JsonValue): JsonValue {
  if (typeof value === "string") return visibleText(value).replace(/\s/g, "").toLowerCase();
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
