/** The fields of evidence that no verifier has looked at: to an approver they are the agent's words. */
import type { JsonObject } from "../workflow/json.js";

/** Returns the names of the fields without a check of their own. Rules look at the form of a value, not at its truth. */
export function uncheckedFields(
  evidence: JsonObject,
  verification: readonly { readonly field?: string | undefined; readonly ok: boolean }[],
): string[] {
  const checked = new Set(verification.filter(({ ok }) => ok).map(({ field }) => field));
  return Object.keys(evidence).filter((name) => !checked.has(name));
}

/** Says of fields that nothing has looked at them. */
export const UNCHECKED = "Claims of the agent that no check has looked at";
