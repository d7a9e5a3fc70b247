/**
 * Booleans that an agent can't claim: it submits `{value: false, why: "…"}` in their place. The gate reads `false`; where that can be
 * waived, the submission asks for the waiver.
 */
import { isInvisible } from "../workflow/field-types.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { GateDefinition } from "../workflow/structure.js";
import { ITEMS_FIELD, requiredItems } from "./plan-gate.js";
import { propertiesOf } from "./schema-hints.js";
import type { Enforcement, Problem } from "./verdict.js";
import { waivable, waive } from "./waivers.js";

/** Returns the names of the required booleans that an agent may ask to have waived, as a waiver has them. */
export function waivableBooleans(gate: GateDefinition): readonly string[] {
  const names = gate.kind === "plan" ? Object.keys(requiredItems(gate)).map(itemName) : booleansIn(gate);
  return waivable(gate, waivedIn(gate)).names.filter((name) => names.includes(name));
}

/** What a submission says of a gate's booleans. */
interface SaidFalse {
  /** The evidence with plain booleans, and without those that can be waived. */
  readonly evidence: JsonObject;
  /** The gate without those that can be waived: what else is wrong is told, too. */
  readonly gate: GateDefinition;
  /** The names of those that can be waived, with the reasons. */
  readonly unmet: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

/** Reads the booleans that are said to be false. Returns undefined where no boolean is. */
export function readFalse(
  gate: GateDefinition,
  evidence: JsonObject,
  enforcement: Enforcement = "strict",
): SaidFalse | undefined {
  if (!Object.values(evidence).some((value) => typeof value === "object")) return undefined;
  const reasons = new Map<string, string>();
  const read = (name: string, value: JsonValue): JsonValue => {
    const why = isJsonObject(value) ? reasonIn(value) : undefined;
    if (why === undefined) return value;
    reasons.set(name, why);
    return false;
  };
  const booleans = booleansIn(gate);
  const plain = mapped(evidence, (name, value) => {
    if (gate.kind === "plan" && name === ITEMS_FIELD && isJsonObject(value))
      return mapped(value, (item, claim) => read(itemName(item), claim));
    return booleans.includes(name) ? read(name, value) : value;
  });
  if (reasons.size === 0) return undefined;
  // Such a gate takes false, and warns.
  const isSoft = gate.kind === "fields" && !gate.strict && enforcement === "as-defined";
  const names = isSoft ? [] : waivableBooleans(gate);
  const unmet = new Map([...reasons].filter(([name]) => names.includes(name)));
  return {
    evidence: Object.fromEntries(Object.entries(plain).filter(([name]) => !unmet.has(name))),
    gate: unmet.size === 0 ? gate : waive(gate, [...waivedIn(gate), ...unmet.keys()]),
    unmet,
    problems: [...unmet.keys()].map((field): Problem => {
      const message = `'${field}' is said to be false: only a person can waive it`;
      return { field, problem: "claimed_false", message, got: "false", expected: "true" };
    }),
  };
}

/** The longest reason, in characters. */
const WHY_MAX = 1000;

function reasonIn({ value, why, ...others }: JsonObject): string | undefined {
  if (value !== false || typeof why !== "string" || Object.keys(others).length > 0) return undefined;
  return isInvisible(why) || why.length > WHY_MAX ? undefined : why.trim();
}

function itemName(number: string): string {
  return `${ITEMS_FIELD}.${number}`;
}

function waivedIn(gate: GateDefinition): readonly string[] {
  return gate.kind === "open" ? [] : (gate.waived ?? []);
}

/** With proofs, a claim is an object. */
function booleansIn(gate: GateDefinition): readonly string[] {
  if (gate.kind === "fields") return gate.fields.filter(({ type }) => type === "boolean").map(({ name }) => name);
  if (gate.kind !== "schema") return [];
  const properties = propertiesOf(gate.jsonSchema) ?? [];
  return [...properties].flatMap(([name, { type }]) =>
    type === "boolean" || gate.proofs?.includes(name) ? [name] : [],
  );
}

function mapped(object: JsonObject, change: (name: string, value: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(name, value)]));
}
