import type { JsonValue } from "../../definition/json.js";
import { boundedRule } from "../../definition/rules/bounded-rule.js";
import { loadRuleLanguage } from "../../definition/rules/rule-language.js";
import type { CompiledRule, RuleVariables } from "../../definition/rules/rule-types.js";
import { ruleValue } from "../../definition/rules/values.js";
import { wrongParam } from "./parse-params.js";

/** A rule in the params of a verifier. */
export interface VerifierRule {
  /** What keeps it from holding, as part of a sentence; undefined if it holds. */
  fault(variables: Readonly<Record<string, JsonValue>>): string | undefined;
}

/** Reads the rules in params. */
export interface VerifierRules {
  /** Throws `INVALID_INPUT` for a rule that can't be read, or doesn't fit the variables, with what to write. */
  read(verifier: string, param: string, rule: string, variables: RuleVariables): VerifierRule;
}

/** How many rules are kept compiled. */
const KEPT = 256;

/** Loads the language of rules: the one that gates have. */
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
