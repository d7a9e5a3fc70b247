import { PhasegateError } from "../errors.js";

/** Something that can't be a plan: where, what is wrong, and what to write instead. */
export function planError(
  place: { readonly file: string; readonly line?: number; readonly column?: number },
  message: string,
  hint: string,
): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `${place.file} can't be read as a plan: ${message}`, {
    remedy: hint,
    details: place,
  });
}
