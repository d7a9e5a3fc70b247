import type { StandardSchemaV1 } from "@standard-schema/spec";
import { exampleOf, isBlank, isOfType } from "../workflow/field-types.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
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
import { exampleBy, expectedBy, schemaAt } from "./evidence.js";
import { checkPlanGate } from "./plan-gate.js";
import { type CompiledRules, hasRules, type RuleSurroundings } from "./rule-set.js";
import type { Enforcement, Problem, Verdict } from "./verdict.js";
/** What a gate needs beside the evidence: results of checks that were run outside, and how to read it. */
export interface GateContext {
  /** What the Standard Schema of the phase said; a schema gate stays shut without it. */
  readonly schemaResult?: StandardSchemaV1.Result<unknown>;
  /** The gate's rules, from `compileRules`; a gate that has rules stays shut without them. */
  readonly rules?: CompiledRules;
  /** What the rules see beside the evidence. */
  readonly surroundings?: RuleSurroundings;
  /** `strict` if not given. */
  readonly enforcement?: Enforcement;
}

/** For how many missing fields it is looked up which other field may have been meant. */
const LOOKED_FOR_MAX = 100;

/** A schema names each bad item of a list, of which there may be a million; the log is to stay readable. */
const ISSUES_MAX = 1000;

/**
 * Checks evidence against a gate, purely: the same arguments give the same verdict. The evidence
 * must be plain JSON. All problems are reported at once, in the gate's
 * order.
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
}

function checkFields(gate: FieldGate, evidence: JsonObject, context: GateContext): Verdict {
  const found = fieldProblems(gate, evidence);
  const lenient = context.enforcement === "as-defined" && !gate.strict;
  const blocking = lenient ? found.filter(({ problem }) => problem === "missing") : found;
  const softened = lenient ? found.filter((problem) => !blocking.includes(problem)) : [];
  if (context.rules === undefined) {
    const shut = hasRules(gate) ? [whole("The gate's rules were not run, so it stays shut")] : [];
    return verdict([...blocking, ...shut], softened);
  }
  const unmet = context.rules.check(evidence, context.surroundings ?? {}, new Set(found.map(({ field }) => field)));
  return gate.strict ? verdict([...blocking, ...unmet], softened) : verdict(blocking, [...softened, ...unmet]);
}

function fieldProblems({ fields }: FieldGate, evidence: JsonObject): Problem[] {
  const problems: Problem[] = [];
  let strangers: readonly string[] | undefined;
  let looked = 0;
  // Most evidence is right, and nobody looks for what else it holds; nor for more than the first missing fields.
  const findStrangers = () => {
    looked += 1;
    if (looked > LOOKED_FOR_MAX) return [];
    const names = new Set(fields.map(({ name }) => name));
    strangers ??= Object.keys(evidence).filter((key) => !names.has(key));
    return strangers;
  };
  for (const field of fields) {
    const problem = checkField(field, evidence, findStrangers);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function checkSchema(
  gate: SchemaGate,
  evidence: JsonObject,
  result: StandardSchemaV1.Result<unknown> | undefined,
): Verdict {
  if (result === undefined) return verdict([whole("The gate's schema was not run, so it stays shut")]);
  const { issues } = result;
  if (!issues) return verdict([]);
  if (issues.length === 0) return verdict([whole("The gate's schema refused the evidence without saying why")]);
  const named = issues.slice(0, ISSUES_MAX).map((issue) => issueProblem(issue, evidence, gate));
  const others = issues.length - named.length;
  return verdict(others === 0 ? named : [...named, whole(`${others} more problems are not listed`)]);
}

/** A problem with the evidence as a whole. */
function whole(message: string): Problem {
  return { field: "", problem: "invalid", message };
}

function issueProblem(issue: StandardSchemaV1.Issue, evidence: JsonObject, gate: SchemaGate): Problem {
  const path = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  const field = path.map(String).join(".");
  const value = at(evidence, path);
  const schema = path.length === 0 ? undefined : schemaAt(gate.jsonSchema, path);
  const expected = schema === undefined ? undefined : expectedBy(schema);
  const wanted = at(gate.example, path) ?? (schema === undefined ? undefined : exampleBy(schema));
  return {
    field,
    problem: value === undefined ? "missing" : "invalid",
    message: sentence(field, value === undefined, issue.message),
    got: value === undefined ? "nothing" : shown(value),
    ...(expected === undefined ? {} : { expected }),
    ...(wanted === undefined ? {} : { example: wanted }),
  };
}

function sentence(field: string, missing: boolean, message: string): string {
  if (field === "") return message;
  return missing ? `'${field}' is missing: ${message}` : `'${field}': ${message}`;
}

/** What lies at a path; own keys only. */
function at(value: JsonValue | undefined, path: readonly PropertyKey[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

function verdict(problems: readonly Problem[], warnings: readonly Problem[] = []): Verdict {
  return problems.length === 0 ? { passed: true, warnings } : { passed: false, problems, warnings };
}

/**
 * What is wrong with one field of evidence; undefined if nothing is. `strangers` gives the keys of
 * the evidence that no field of the gate has: one of them may have been meant.
 */
export function checkField(
  field: FieldDefinition,
  evidence: JsonObject,
  strangers: () => readonly string[],
): Problem | undefined {
  const value = Object.hasOwn(evidence, field.name) ? evidence[field.name] : undefined;
  if (value === undefined || value === null) return field.required ? missing(field, value, strangers) : undefined;
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

function missing(field: FieldDefinition, value: null | undefined, strangers: () => readonly string[]): Problem {
  const similar = nearest(field.name, strangers());
  const meant = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
  return problem(field, "missing", `Required evidence '${field.name}' not provided${meant}`, value);
}

function problem(
  field: FieldDefinition,
  kind: Problem["problem"],
  message: string,
  value: JsonValue | undefined,
): Problem {
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

/** How much of what a gate asks for its agents are shown. */
export function revealOf(gate: GateDefinition): Reveal {
  return "reveal" in gate ? (gate.reveal ?? "fields") : "fields";
}

/**
 * Problems as an agent may see them, so that it can't write to the test: with `names`, only which fields
 * there is something with, and whether they are missing; with `none`, only how many. Hosts keep the whole.
 */
export function conceal(problems: readonly Problem[], reveal: Reveal): readonly Problem[] {
  if (reveal === "fields" || problems.length === 0) return problems;
  // A person's words are for the agent: they hide what they want to hide.
  const said = problems.filter(({ problem }) => problem === "denied");
  const found = problems.filter(({ problem }) => problem !== "denied");
  if (found.length === 0) return said;
  if (reveal === "names") return [...new Map(found.map((problem) => [problem.field, bare(problem)])).values(), ...said];
  const count = found.length === 1 ? "1 thing is" : `${found.length} things are`;
  const message = `The gate isn't met: ${count} missing or wrong. What it asks for isn't shown.`;
  return [{ field: "", problem: "invalid", message }, ...said];
}

function bare({ field, problem }: Problem): Problem {
  const kind = problem === "missing" ? problem : "invalid";
  if (field === "") return { field, problem: kind, message: "The evidence as a whole doesn't meet the gate" };
  const message = kind === "missing" ? `Required evidence '${field}' not provided` : `'${field}' doesn't meet the gate`;
  return { field, problem: kind, message };
}

const NONE: readonly VerifyDefinition[] = [];

/** The checks against reality that a gate asks for, in their order. */
export function checksOf(gate: GateDefinition): readonly VerifyDefinition[] {
  return "verify" in gate ? (gate.verify ?? NONE) : NONE;
}

/** The names of all verifiers that a workflow's gates need, each once: a host that lacks one can't run it. */
export function verifierNames({ phases }: WorkflowStructure): readonly string[] {
  return [...new Set(phases.flatMap(({ gate }) => checksOf(gate).map(({ verifier }) => verifier)))];
}
