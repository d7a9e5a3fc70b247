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

/** The longest source, in characters. */
export const PLAN_MAX = 5 * 1024 * 1024;

/** Throws `PLAN_PARSE` for a source that is too long. */
export function checkLength(text: string, file: string): void {
  if (text.length <= PLAN_MAX) return;
  throw planError({ file, line: 1 }, `it has more than ${PLAN_MAX} characters`, "Split it into several plans.");
}
