import type { Environment } from "@marcbachmann/cel-js";
import type { JsonValue } from "../json.js";
import { saysNothing, visibleText } from "../visible-text.js";

type Numeric = bigint | number;

/**
 * JSON has one kind of number and the language two: declared integers are `int`, all other numbers `double`.
 * These overloads let them meet, as `passed + 1 == 13` and `coverage >= 80` are meant.
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

/**
 * Functions beside the language's own. Lambdas are read as these where Python means something else than CEL:
 * a division that has no remainder, a remainder with the divisor's sign, whole numbers that JSON can't tell
 * from others. Named validators ask for what is visible of a value.
 */
export function registerFunctions(environment: Environment): void {
  for (const left of ["int", "double"]) {
    for (const right of ["int", "double"]) {
      environment.registerFunction(`ratio(${left}, ${right}): double`, divide, SYNC);
      environment.registerFunction(`mod(${left}, ${right}): double`, floorMod, SYNC);
    }
  }
  for (const [type, is] of [
    ["int", () => true],
    ["double", (value: number) => Number.isInteger(value)],
    ["string", () => false],
    ["bool", () => false],
    ["list", () => false],
    ["map", () => false],
    ["null", () => false],
  ] as const) {
    environment.registerFunction(`isInteger(${type}): bool`, is, SYNC);
  }
  environment.registerFunction("visible(string): string", visibleText, SYNC);
  environment.registerFunction("visible(list): list", visibleItems, SYNC);
  environment.registerFunction("visible(map): map", visibleEntries, SYNC);
}

/** Told so, the language doesn't look whether there is something to wait for. */
export const SYNC = { async: false };

function divide(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return Number(a) / Number(b);
}

function floorMod(a: Numeric, b: Numeric): number {
  if (Number(b) === 0) throw new RangeError("division by zero");
  return ((Number(a) % Number(b)) + Number(b)) % Number(b);
}

/** Without what says nothing: `["", null]` is as good as empty. */
function visibleItems(list: readonly JsonValue[]): JsonValue[] {
  return list.filter((item) => !saysNothing(item));
}

function visibleEntries(map: Readonly<Record<string, JsonValue>>): Map<string, JsonValue> {
  return new Map(Object.entries(map).filter(([, value]) => !saysNothing(value)));
}
