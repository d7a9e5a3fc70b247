/** Finds evidence that is the example of the workflow's author, which agents see, handed back. */
import { visibleText } from "../workflow/field-types.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { listOf } from "../workflow/json-schema-values.js";
import { shown } from "../workflow/names.js";
import type { FieldGate, SchemaGate } from "../workflow/structure.js";
import type { Problem } from "./verdict.js";

/**
 * Returns a problem for each field whose value is its example: a text, a list or an object. A number may be the same by
 * chance, so it is one only where everything that was submitted, apart from booleans, is an example.
 */
export function copiedProblems(gate: FieldGate | SchemaGate, evidence: JsonObject): Problem[] {
  const examples = examplesOf(gate);
  if (![...examples.values()].some((values) => values.length > 0)) return [];
  const submitted = Object.entries(evidence).filter(
    ([name, value]) => examples.has(name) && value !== null && typeof value !== "boolean",
  );
  const same = submitted.filter(([name, value]) => examples.get(name)?.includes(comparable(value)));
  const certain = same.filter(([, value]) => typeof value !== "number");
  const copied = certain.length === 0 && same.length === submitted.length ? same : certain;
  return copied.map(([name, value]) => ({
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
  if (gate.kind === "fields") {
    return new Map(
      gate.fields.map(({ name, example, allowExample }) => [
        name,
        example === undefined || allowExample || checked.has(name) ? [] : [comparable(example)],
      ]),
    );
  }
  const { example = {}, jsonSchema, allowExample } = gate;
  const properties = isJsonObject(jsonSchema?.properties) ? jsonSchema.properties : {};
  const names = [...new Set([...Object.keys(example), ...Object.keys(properties)])];
  const own = new Map(Object.entries(example));
  return new Map(
    names.map((name) => {
      const property = properties[name];
      const value = own.get(name);
      const all = [
        ...(value === undefined ? [] : [value]),
        ...listOf(isJsonObject(property) ? property.examples : undefined),
      ];
      return [name, allowExample || checked.has(name) ? [] : all.map(comparable)];
    }),
  );
}

/** Returns a value as a text that is the same for texts which differ only in blanks, hidden characters and case. */
function comparable(value: JsonValue): string {
  return canonicalJson(plain(value));
}

function plain(value: JsonValue): JsonValue {
  if (typeof value === "string") return visibleText(value).toLowerCase();
  if (Array.isArray(value)) return value.map(plain);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
