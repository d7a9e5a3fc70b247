import type { JsonObject } from "../../definition/json.js";
import { wrongParam } from "./parse-params.js";

/** How rules are evaluated: phasegate's own rules are CEL, and this room doesn't know them. */
export interface RuleEvaluator {
  /** Whether a rule holds. A rejection says that it couldn't be found out, and blocks the gate. */
  readonly evaluateRule?: ((rule: string, variables: JsonObject) => boolean | Promise<boolean>) | undefined;
  /** Throws for a rule that can't be evaluated with variables of these names: called when a definition is loaded. */
  readonly checkRule?: ((rule: string, variables: readonly string[]) => void) | undefined;
}

/** Throws `INVALID_INPUT` for a rule that nobody here can evaluate, and what `checkRule` throws. */
export function checkRule(verifier: string, rule: string, names: readonly string[], rules: RuleEvaluator): void {
  if (rules.evaluateRule === undefined) {
    throw wrongParam(verifier, "rule", "this host evaluates no rules: it must give evaluateRule to createVerifiers");
  }
  rules.checkRule?.(rule, names);
}

/** Whether a rule holds; only `true` is true. */
export async function ruleHolds(
  verifier: string,
  rule: string,
  variables: JsonObject,
  rules: RuleEvaluator,
): Promise<boolean> {
  checkRule(verifier, rule, Object.keys(variables), rules);
  return (await rules.evaluateRule?.(rule, variables)) === true;
}
