import { isOfType, typeOfValue } from "../field-types.js";
import type { JsonValue } from "../json.js";
import { type EvidenceExample, findExamples } from "./evidence-examples.js";
import { findRequirements } from "./find-requirements.js";
import type { Found, Requirement } from "./requirement.js";

/** A phase's text as a gate. */
export interface DocumentGate extends Found {
  readonly examples: readonly EvidenceExample[];
}

/**
 * What a phase's text asks for, with the values that it shows. `defined` are the names of validators that the
 * gate defines itself. Never throws.
 */
export async function readRequirements(text: string, defined: ReadonlySet<string> = new Set()): Promise<DocumentGate> {
  const found = findRequirements(text, defined);
  if (found.requirements.length === 0) return { ...found, examples: [] };
  const examples = await findExamples(text, found.requirements);
  return { ...found, requirements: found.requirements.map((one) => withExample(one, examples)), examples };
}

/** Of a type that nothing but a guess speaks for an example knows better. */
function withExample(requirement: Requirement, examples: readonly EvidenceExample[]): Requirement {
  const { field, certainty, validators } = requirement;
  const example = valueIn(examples, field.name);
  if (example === undefined) return requirement;
  if (isOfType(example, field.type)) return { ...requirement, field: { ...field, example } };
  const type = typeOfValue(example);
  // A validator was chosen for the guessed type; without it the gate would ask for less.
  if (certainty === "sure" || type === undefined || validators.length > 0) return requirement;
  return { ...requirement, field: { ...field, type, example }, typed: true };
}

function valueIn(examples: readonly EvidenceExample[], name: string): JsonValue | undefined {
  for (const { values } of examples) {
    if (values !== undefined && Object.hasOwn(values, name)) return values[name];
  }
  return undefined;
}
