/** Rules in the parameters of verifiers: the rule language of gates, with the verifier's own variables. */
import { boundedRule } from "../rules/compile.js";
import { ruleValue } from "../rules/environment.js";
import { loadRuleLanguage } from "../rules/language.js";
import type { CompiledRule, RuleVariables } from "../rules/rule-types.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { wrongParam } from "./define-verifier.js";

/** A compiled rule. */
interface VerifierRule {
  /** Returns why the rule doesn't hold, as part of a sentence; undefined if it holds. */
  fault(variables: Readonly<Record<string, JsonValue>>): string | undefined;
}

/** Reads the rules in parameters. */
export interface VerifierRules {
  /** Returns a compiled rule. Throws `INVALID_INPUT` for a rule that is invalid, or that uses other variables. */
  read(verifier: string, param: string, rule: string, variables: RuleVariables): VerifierRule;
}

/** Maximum number of rules that are kept compiled. */
const KEPT = 256;

/** Loads the rule language. */
export async function loadVerifierRules(): Promise<VerifierRules> {
  const language = await loadRuleLanguage();
  const compiled = new Map<string, CompiledRule>();
  return {
    read(verifier, param, rule, variables) {
      const key = JSON.stringify([rule, variables]);
      const known = compiled.get(key) ?? language.forVariables(variables).compile(rule.trim());
      if (!known.ok) throw wrongParam(verifier, param, `${known.message}. ${known.hint}`);
      const [oldest] = compiled.keys();
      if (oldest !== undefined && compiled.size >= KEPT) compiled.delete(oldest);
      compiled.set(key, known);
      const run = boundedRule(known);
      return {
        fault(given) {
          const values = Object.entries(given).map(([name, value]) => [
            name,
            ruleValue(value, variables[name] ?? "any"),
          ]);
          const outcome = run(Object.fromEntries(values));
          return outcome.holds ? undefined : (outcome.because ?? "doesn't hold");
        },
      };
    },
  };
}

/** The variables of a rule of `json_value`: the value in the file, the value of the field, and all evidence. */
export const JSON_VARIABLES = { value: "any", claimed: "any", evidence: "object" } as const;
/** The variables of a rule of `command`. */
export const COMMAND_VARIABLES = { output: "string", exit: "integer", evidence: "object" } as const;

/** A rule in the parameters of a verifier. */
interface RuleParam {
  readonly param: string;
  readonly rule: string;
  readonly variables: RuleVariables;
}

/** Returns the rule in the parameters of a built-in verifier, if there is one. */
export function ruleParam(verifier: string, params: JsonObject): RuleParam | undefined {
  if (verifier === "json_value" && typeof params.rule === "string") {
    return { param: "rule", rule: params.rule, variables: JSON_VARIABLES };
  }
  const output = verifier === "command" ? params.output : undefined;
  if (!isJsonObject(output) || typeof output.rule !== "string") return undefined;
  return { param: "output.rule", rule: output.rule, variables: COMMAND_VARIABLES };
}
