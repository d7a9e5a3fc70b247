/**
 * Numbers of JSON are read as doubles, and 9007199254740993 becomes …992. Two numbers that were rounded to the same
 * one say nothing of each other, so such numbers are compared with nothing.
 */
import type { JsonPlace } from "../../definition/folder/scan-json.js";
import type { JsonValue } from "../../definition/json.js";

/** Digits that are enough for any double; more of a fraction are its own business. */
const DIGITS_MAX = 17;

/** The first number at a place, or below it, that another one can't be told from; undefined if there is none. */
export function roundedNumber({ number, entries }: JsonPlace): string | undefined {
  if (number !== undefined) return isExact(number) ? undefined : number;
  for (const inner of entries.values()) {
    const found = roundedNumber(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first whole number in a value that may have been another one before it was read; undefined if there is none. */
export function roundedValue(value: JsonValue): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const inner of Object.values(value)) {
    const found = roundedValue(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a number in a text is the one that is read, or, of a fraction, as near as a double says it. */
function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false;
  const { digits, power } = decimal(text);
  const read = decimal(String(value));
  if (digits === read.digits && power === read.power) return true;
  return !Number.isInteger(value) && digits.length <= DIGITS_MAX;
}

/** A number as digits without zeros around them, and the power of ten that they are multiplied with. */
function decimal(text: string): { readonly digits: string; readonly power: number } {
  const [mantissa = "", exponent = "0"] = text.replace("-", "").toLowerCase().split(/e/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = withoutZerosBehind(all);
  if (digits === "") return { digits, power: 0 };
  return { digits, power: Number(exponent) - fraction.length + (all.length - digits.length) };
}

/** A pattern would take time that grows with the square of the zeros. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
