import { isJsonObject, type JsonObject } from "../../definition/json.js";
import type { RuleVariables } from "../../definition/rules/rule-types.js";

/** What a rule of `json_value` sees: what stands there, the field's value, and all evidence. */
export const JSON_VARIABLES = { value: "any", claimed: "any", evidence: "object" } as const;
/** What a rule of `command` sees. */
export const COMMAND_VARIABLES = { output: "string", exit: "integer", evidence: "object" } as const;

/** A rule in the params of a verifier. */
export interface RuleParam {
  readonly param: string;
  readonly rule: string;
  readonly variables: RuleVariables;
}

/** The rule that stands in a built-in verifier's params, if one does. */
export function ruleParam(verifier: string, params: JsonObject): RuleParam | undefined {
  if (verifier === "json_value" && typeof params.rule === "string") {
    return { param: "rule", rule: params.rule, variables: JSON_VARIABLES };
  }
  const output = verifier === "command" ? params.output : undefined;
  if (!isJsonObject(output) || typeof output.rule !== "string") return undefined;
  return { param: "output.rule", rule: output.rule, variables: COMMAND_VARIABLES };
}
