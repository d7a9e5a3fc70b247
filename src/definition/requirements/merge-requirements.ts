/** One field for each name, however often a text speaks of it. */
import { RESERVED } from "../names.js";
import type { FieldType } from "../structure.js";
import { type Finding, type Found, isFault, type Requirement, type RequirementFault, unclear } from "./requirement.js";

/** Brings findings together. What a later place asks for is added to what an earlier one does. */
export function mergeRequirements(findings: readonly Finding[]): Found {
  const requirements = new Map<string, Requirement>();
  const numbers = new Map<string, number>();
  const faults: RequirementFault[] = findings.filter(isFault);
  for (const finding of findings) {
    if (isFault(finding)) continue;
    const { name } = finding.field;
    const known = requirements.get(name);
    if (known !== undefined && isSame(known, finding)) {
      requirements.set(name, merged(known, finding));
      faults.push(...differences(known, finding));
    } else {
      const free = freeName(name, requirements, numbers);
      requirements.set(free, { ...finding, field: { ...finding.field, name: free } });
    }
  }
  return { requirements: [...requirements.values()], faults: faults.sort(byPlace) };
}

function byPlace(one: RequirementFault, other: RequirementFault): number {
  return one.line - other.line || one.column - other.column;
}

/** Two checkboxes may read alike, and are two claims; what is named twice is one field. */
function isSame(known: Requirement, { named, field }: Requirement): boolean {
  if (named) return known.named || known.field.type === "boolean";
  return known.named && known.field.type === field.type;
}

/** `numbers` remembers where to go on, so that many boxes that read alike take linear time. */
function freeName(name: string, taken: ReadonlyMap<string, Requirement>, numbers: Map<string, number>): string {
  const isFree = (candidate: string) => !taken.has(candidate) && !RESERVED.has(candidate);
  if (isFree(name)) return name;
  for (let number = numbers.get(name) ?? 2; ; number += 1) {
    numbers.set(name, number + 1);
    if (isFree(`${name}_${number}`)) return `${name}_${number}`;
  }
}

function merged(known: Requirement, again: Requirement): Requirement {
  const takes = takesType(known, again);
  const type = takes ? again.field.type : known.field.type;
  return {
    ...known,
    ...(takes ? { typed: true, certainty: again.certainty } : {}),
    field: { ...known.field, type, required: known.field.required || again.field.required },
    validators: [...new Set([...known.validators, ...(fits(type, again.field.type) ? again.validators : [])])],
  };
}

/** Whether a later place knows better of which type a field is, and what an earlier one asks goes with it. */
function takesType(known: Requirement, again: Requirement): boolean {
  return !known.typed && again.typed && (known.validators.length === 0 || fits(again.field.type, known.field.type));
}

/** Whether what is asked of one type can be asked of another. */
function fits(type: FieldType, other: FieldType): boolean {
  const isNumber = (one: FieldType) => one === "integer" || one === "number";
  return type === other || (isNumber(type) && isNumber(other));
}

/** What a later place says that doesn't go with an earlier one. */
function differences(known: Requirement, again: Requirement): RequirementFault[] {
  const { name, required } = known.field;
  const takes = takesType(known, again);
  const type = takes ? again.field.type : known.field.type;
  const parts: string[] = [];
  if (again.typed && !takes && type !== again.field.type) {
    parts.push(`of type ${type} in line ${known.line}, and of type ${again.field.type} here; ${type} counts`);
  }
  if (!fits(type, again.field.type) && again.validators.length > 0) {
    parts.push(`to fulfil ${again.validators.join(", ")}, which is not asked of type ${type} and isn't read`);
  }
  if (known.named && again.named && required !== again.field.required) {
    parts.push("required in one of two places, and optional in the other; required counts");
  }
  const hint = "Say it in one place, or the same in both.";
  return parts.map((part) => ({ ...unclear(again, `${name} is ${part}`, hint), code: "REQUIREMENT_DIFFERS" }));
}
