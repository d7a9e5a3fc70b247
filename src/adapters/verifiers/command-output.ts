import * as z from "zod";
import type { JsonObject } from "../../definition/json.js";
import { isOftenEnough } from "./how-often.js";
import { checkPattern, countMatches, patternParams } from "./line-matcher.js";
import { textParam } from "./parse-params.js";
import { COMMAND_VARIABLES } from "./rule-params.js";
import { harmless, shownPath } from "./shown-text.js";
import type { VerifierRules } from "./verifier-rules.js";

/** What the output of a command must show: a pattern so often, or a rule. */
export const outputParams = z
  .strictObject({
    ...patternParams,
    pattern: patternParams.pattern.optional(),
    /** Over `output` (a text), `exit` and `evidence`. */
    rule: textParam.optional(),
  })
  .transform((params, context) => {
    const { rule, pattern, ...counts } = params;
    if (rule === undefined && pattern !== undefined) return { pattern, ...counts };
    if (rule !== undefined && Object.keys(params).length === 1) return { rule };
    const message = "what the output must show is a pattern and how often, or a rule and nothing else";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

type OutputParams = z.infer<typeof outputParams>;

/** Throws `INVALID_INPUT` for a pattern or a rule that can't be used. */
export function checkOutput(verifier: string, params: OutputParams, rules: VerifierRules): void {
  if ("rule" in params) rules.read(verifier, "output.rule", params.rule, COMMAND_VARIABLES);
  else checkPattern(verifier, params);
}

/** What is wrong with the output of a command; undefined if nothing is. */
export async function judgeOutput(
  verifier: string,
  params: OutputParams,
  variables: { readonly output: string; readonly exit: number; readonly evidence: JsonObject },
  rules: VerifierRules,
  signal: AbortSignal,
): Promise<string | undefined> {
  if ("rule" in params) {
    const fault = rules.read(verifier, "output.rule", params.rule, COMMAND_VARIABLES).fault({ ...variables });
    return fault === undefined ? undefined : `of its output the rule ${harmless(params.rule)} ${fault}`;
  }
  const found = await countMatches(verifier, params, variables.output, signal);
  const { ok, wanted } = isOftenEnough(found, params);
  return ok ? undefined : `its output matches ${shownPath(params.pattern)} ${found} times; wanted: ${wanted}`;
}
