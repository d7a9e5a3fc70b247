/** Checks the options of a storage that are numbers. */
import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";

/** An option that is a whole number: its default, and the least and the greatest value. */
export interface NumberOption {
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

/** Returns the value of an option, or its default if none is given. Throws `INVALID_INPUT` if it is not valid. */
export function numberOption(field: string, given: unknown, { value, min, max }: NumberOption): number {
  if (given === undefined) return value;
  if (typeof given === "number" && Number.isSafeInteger(given) && given >= min && given <= max) return given;
  throw new PhasegateError("INVALID_INPUT", `${field} is not valid: ${shown(given)}`, {
    remedy: `Give a whole number from ${min} to ${max}, or leave it out for ${value}.`,
    details: { field, expected: `a whole number from ${min} to ${max}` },
  });
}
