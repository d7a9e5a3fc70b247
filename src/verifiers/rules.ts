/** Rules in the parameters of verifiers: the language of gates with the verifier's own variables. */
import { ruleValue } from "../rules/compile.js";
import { loadRuleLanguage } from "../rules/language.js";
import type { CompiledRule, RuleVariables } from "../rules/rule-types.js";
import { boundedRule } from "../rules/run.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { wrongParam } from "./define-verifier.js";

/** A rule in the params of a verifier. */
interface VerifierRule {
  /** Returns what keeps it from holding, as part of a sentence; undefined if it holds. */
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

/** What a rule of `json_value` sees: what stands there, the field's value, and all evidence. */
export const JSON_VARIABLES = { value: "any", claimed: "any", evidence: "object" } as const;
/** What a rule of `command` sees. */
export const COMMAND_VARIABLES = { output: "string", exit: "integer", evidence: "object" } as const;

/** A rule in the params of a verifier. */
interface RuleParam {
  readonly param: string;
  readonly rule: string;
  readonly variables: RuleVariables;
}

/** Returns the rule that stands in a built-in verifier's params, if one does. */
export function ruleParam(verifier: string, params: JsonObject): RuleParam | undefined {
  if (verifier === "json_value" && typeof params.rule === "string") {
    return { param: "rule", rule: params.rule, variables: JSON_VARIABLES };
  }
  const output = verifier === "command" ? params.output : undefined;
  if (!isJsonObject(output) || typeof output.rule !== "string") return undefined;
  return { param: "output.rule", rule: output.rule, variables: COMMAND_VARIABLES };
}
