/**
 * The values that rules see, and the operators and functions that are added to CEL. Division by zero is an error here,
 * because CEL's `double` allows `1.0 / 0.0 > 80` silently and JSON has no such number.
 */
import type { Environment } from "@marcbachmann/cel-js";
import { saysNothing, typeOfValue, visibleText } from "../workflow/field-types.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { FieldType } from "../workflow/structure.js";

/**
 * The evidence as rules see it: only fields that the gate declares and that were submitted. It is a class so that CEL
 * knows its fields and their types.
 */
export class EvidenceValue extends Map<string, unknown> {}
/** The parameters of a validator as rules see them. */
export class ParamsValue extends Map<string, unknown> {}
/** The session as rules see it. */
export class SessionValue extends Map<string, unknown> {}

export const RULE_TYPES: Record<FieldType, string> = {
  boolean: "bool",
  integer: "int",
  number: "double",
  string: "string",
  object: "map<string, dyn>",
  list: "list<dyn>",
  any: "dyn",
};

/** The members of a session that rules can use, with their types. */
export const SESSION_TYPES = {
  id: "string",
  workflow_type: "string",
  target: "string",
  phase: "int",
  attempt: "int",
} as const;

/** Returns a value as rules see it: a declared integer stays an integer, every other number is a double. */
export function ruleValue(value: JsonValue, type: FieldType): unknown {
  return type === "integer" && Number.isSafeInteger(value) ? BigInt(Number(value)) : value;
}

/** Returns parameters as rules see them, with the type of each. */
export function ruleParams(params: JsonObject) {
  const entries = Object.entries(params);
  return {
    value: new ParamsValue(entries.map(([key, value]) => [key, ruleValue(value, typeOfValue(value) ?? "any")])),
    types: Object.fromEntries(entries.map(([key, value]) => [key, RULE_TYPES[typeOfValue(value) ?? "any"]])),
  };
}

type Numeric = bigint | number;

/**
 * Adds operators that mix integers and doubles. JSON has one type of number and CEL has two, so without these `passed +
 * 1 == 13` and `coverage >= 80` would be type errors.
 */
export function registerOperators(environment: Environment): void {
  const mixed: Record<string, (a: Numeric, b: Numeric) => number> = {
    "+": (a, b) => Number(a) + Number(b),
    "-": (a, b) => Number(a) - Number(b),
    "*": (a, b) => Number(a) * Number(b),
    "/": divide,
    "%": (a, b) => Number(a) % Number(b),
  };
  for (const [operator, handler] of Object.entries(mixed)) {
    environment.registerOperator(`int ${operator} double: double`, handler);
    environment.registerOperator(`double ${operator} int: double`, handler);
  }
  environment.registerOperator("double % double: double", (a: number, b: number) => a % b);
  environment.registerOperator("int == double", (a: bigint, b: number) => Number(a) === b);
}

/** Tells CEL that there is nothing to await. */
const SYNC = { async: false };

/**
 * Adds functions for Python lambdas, where Python differs from CEL: exact division, remainder with the divisor's sign,
 * and integers that JSON can't distinguish from doubles. Named validators use `visible`.
 */
export function registerFunctions(environment: Environment): void {
  for (const left of ["int", "double"]) {
    for (const right of ["int", "double"]) {
      environment.registerFunction(`ratio(${left}, ${right}): double`, divide, SYNC);
      environment.registerFunction(`mod(${left}, ${right}): double`, floorMod, SYNC);
    }
  }
  environment.registerFunction("isInteger(int): bool", () => true, SYNC);
  environment.registerFunction("isInteger(double): bool", (value: number) => Number.isInteger(value), SYNC);
  for (const type of ["string", "bool", "list", "map", "null"]) {
    environment.registerFunction(`isInteger(${type}): bool`, () => false, SYNC);
  }
  environment.registerFunction("visible(string): string", visibleText, SYNC);
  // `["", null]` counts as empty.
  const items = (list: readonly JsonValue[]) => list.filter((item) => !saysNothing(item));
  const entries = (map: JsonObject) => new Map(Object.entries(map).filter(([, value]) => !saysNothing(value)));
  environment.registerFunction("visible(list): list", items, SYNC);
  environment.registerFunction("visible(map): map", entries, SYNC);
}

function divide(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return Number(a) / Number(b);
}

function floorMod(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return ((Number(a) % Number(b)) + Number(b)) % Number(b);
}
