import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "../definition/json.js";
import { shown } from "../definition/names.js";
import type { FieldGate, GateDefinition } from "../definition/structure.js";
import { checkField } from "./check-field.js";
import type { Enforcement, Problem, Verdict } from "./verdict.js";

/** What a gate needs beside the evidence: results of checks that were run outside, and how to read it. */
export interface GateContext {
  /** What the Standard Schema of the phase said; a schema gate stays shut without it. */
  readonly schemaResult?: StandardSchemaV1.Result<unknown>;
  /** `strict` if not given. */
  readonly enforcement?: Enforcement;
}

/**
 * Checks evidence against a gate, purely: the same arguments give the same verdict. The evidence
 * must have passed {@link checkEvidenceSafety}. All problems are reported at once, in the gate's
 * order.
 */
export function checkGate(gate: GateDefinition, evidence: JsonObject, context: GateContext = {}): Verdict {
  switch (gate.kind) {
    case "open":
      return { passed: true, warnings: [] };
    case "fields":
      return checkFields(gate, evidence, context.enforcement ?? "strict");
    case "schema":
      return checkSchema(gate.example, evidence, context.schemaResult);
  }
}

function checkFields(gate: FieldGate, evidence: JsonObject, enforcement: Enforcement): Verdict {
  const found = gate.fields.flatMap((field) => checkField(field, evidence) ?? []);
  const lenient = enforcement === "as-defined" && !gate.strict;
  const problems = lenient ? found.filter(({ problem }) => problem === "missing") : found;
  return verdict(problems, lenient ? found.filter((problem) => !problems.includes(problem)) : []);
}

function checkSchema(
  example: JsonObject | undefined,
  evidence: JsonObject,
  result: StandardSchemaV1.Result<unknown> | undefined,
): Verdict {
  if (result === undefined) {
    return verdict([{ field: "", problem: "invalid", message: "The gate's schema was not run, so it stays shut" }]);
  }
  return verdict((result.issues ?? []).map((issue) => issueProblem(issue, evidence, example)));
}

function issueProblem(
  issue: StandardSchemaV1.Issue,
  evidence: JsonObject,
  example: JsonObject | undefined,
): Problem {
  const path = (issue.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  const field = path.map(String).join(".");
  const value = at(evidence, path);
  const wanted = at(example, path);
  return {
    field,
    problem: value === undefined && path.length > 0 ? "missing" : "invalid",
    message: field === "" ? issue.message : `'${field}': ${issue.message}`,
    got: value === undefined ? "nothing" : shown(value),
    ...(wanted === undefined ? {} : { example: wanted }),
  };
}

function at(value: unknown, path: readonly PropertyKey[]): Problem["example"] {
  let current: unknown = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return isJson(current) ? current : undefined;
}

/** Everything inside checked evidence, or an author's example, is JSON or absent. */
function isJson(value: unknown): value is NonNullable<Problem["example"]> {
  return value !== undefined;
}

function verdict(problems: readonly Problem[], warnings: readonly Problem[] = []): Verdict {
  return problems.length === 0 ? { passed: true, warnings } : { passed: false, problems, warnings };
}
