import { isOfType, typeOfValue } from "../field-types.js";
import type { JsonValue } from "../json.js";
import { findExamples } from "./evidence-examples.js";
import { findRequirements } from "./find-requirements.js";
import type { Requirement } from "./requirement.js";

/** What a phase's text asks for, with the values that it shows. Never throws. */
export async function readRequirements(text: string): Promise<Requirement[]> {
  const found = findRequirements(text);
  if (found.length === 0) return [];
  const examples = await findExamples(text);
  return found.map((requirement) => withExample(requirement, examples.get(requirement.field.name)));
}

/** Of a type that was guessed by words an example knows better. */
function withExample(requirement: Requirement, example: JsonValue | undefined): Requirement {
  const { field, certainty } = requirement;
  if (example === undefined) return requirement;
  if (isOfType(example, field.type)) return { ...requirement, field: { ...field, example } };
  const type = typeOfValue(example);
  if (certainty === "sure" || type === undefined) return requirement;
  // A validator was chosen for the other type.
  return { ...requirement, field: { ...field, type, example }, validators: [] };
}
