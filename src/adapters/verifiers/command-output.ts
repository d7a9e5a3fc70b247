import * as z from "zod";
import type { JsonObject } from "../../definition/json.js";
import { isOftenEnough } from "./how-often.js";
import { checkPattern, countMatches, patternParams } from "./line-matcher.js";
import { textParam } from "./parse-params.js";
import { checkRule, type RuleEvaluator, ruleHolds } from "./rules.js";
import { harmless, shownPath } from "./shown-text.js";

/** What the output of a command must show: a pattern so often, or a rule. */
export const outputParams = z.union([
  z.strictObject(patternParams),
  /** Over `output` (a text), `exit` and `evidence`. */
  z.strictObject({ rule: textParam }),
]);

type OutputParams = z.infer<typeof outputParams>;

/** Throws `INVALID_INPUT` for a pattern or a rule that can't be used. */
export function checkOutput(verifier: string, params: OutputParams, rules: RuleEvaluator): void {
  if ("rule" in params) checkRule(verifier, params.rule, ["output", "exit", "evidence"], rules);
  else checkPattern(verifier, params);
}

/** What is wrong with the output of a command; undefined if nothing is. */
export async function judgeOutput(
  verifier: string,
  params: OutputParams,
  variables: { readonly output: string; readonly exit: number; readonly evidence: JsonObject },
  rules: RuleEvaluator,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ("rule" in params) {
    const holds = await ruleHolds(verifier, params.rule, { ...variables }, rules);
    return holds ? undefined : `its output does not satisfy ${harmless(params.rule)}`;
  }
  const found = await countMatches(verifier, params, variables.output, signal);
  const { ok, wanted } = isOftenEnough(found, params);
  return ok ? undefined : `its output matches ${shownPath(params.pattern)} ${found} times; wanted: ${wanted}`;
}
