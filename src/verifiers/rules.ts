/** Rules in the parameters of verifiers: those of gates, with the verifier's own variables. */
import { isPhasegateError } from "../errors.js";
import { boundedRule } from "../rules/compile.js";
import { ruleValue } from "../rules/environment.js";
import { loadRuleLanguage } from "../rules/language.js";
import type { RuleVariables } from "../rules/rule-types.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { errorOf, WrongParam } from "./params.js";

/** The variables of a rule of `json_value`: the value in the file, the value of the field, and all evidence. */
export const JSON_VARIABLES = { value: "any", claimed: "any", evidence: "object" } as const;
/** The variables of a rule of a command's output. */
export const COMMAND_VARIABLES = { output: "string", exit: "integer", evidence: "object" } as const;

/**
 * Returns a function that tells why a rule doesn't hold, as part of a sentence; undefined if it holds. Throws `WrongParam` for a
 * rule that is invalid, or that uses other variables.
 */
export async function compileRule<V extends RuleVariables>(param: string, rule: string, variables: V) {
  const compiled = (await loadRuleLanguage()).forVariables(variables).compile(rule.trim());
  if (!compiled.ok) throw new WrongParam(param, `${compiled.message}. ${compiled.hint}`);
  const run = boundedRule(compiled);
  return (given: Readonly<Record<keyof V & string, JsonValue>>): string | undefined => {
    const values = Object.entries<JsonValue>(given).map(([name, value]) => [
      name,
      ruleValue(value, variables[name] ?? "any"),
    ]);
    const outcome = run(Object.fromEntries(values));
    return outcome.holds ? undefined : (outcome.because ?? "doesn't hold");
  };
}

/** Returns the rule in the parameters of a built-in verifier, if it is wrong, and why. */
export async function ruleFault(
  verifier: string,
  params: JsonObject,
): Promise<{ readonly rule: string; readonly message: string } | undefined> {
  const output = verifier === "command" ? params.output : undefined;
  const rule = verifier === "json_value" ? params.rule : isJsonObject(output) ? output.rule : undefined;
  if (typeof rule !== "string") return undefined;
  const [param, variables] = output === undefined ? ["rule", JSON_VARIABLES] : ["output.rule", COMMAND_VARIABLES];
  try {
    await compileRule(param, rule, variables);
    return undefined;
  } catch (thrown) {
    const error = errorOf(verifier, thrown);
    if (isPhasegateError(error)) return { rule, message: error.message };
    throw error;
  }
}
