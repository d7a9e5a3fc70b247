import { ruleParam } from "../adapters/verifiers/rule-params.js";
import { loadVerifierRules } from "../adapters/verifiers/verifier-rules.js";
import type { Diagnostic } from "../definition/diagnostic.js";
import type { WorkflowStructure } from "../definition/structure.js";
import { isPhasegateError } from "../errors.js";
import { checksOf } from "../gate/checks-of.js";

/** An error for each rule in the params of a built-in verifier that can't be run. */
export async function verifierRuleFaults(
  { phases }: WorkflowStructure,
  source: (file: string) => Promise<string | undefined>,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const { number, gate } of phases) {
    for (const { verifier, params } of checksOf(gate)) {
      const fault = await faultOf(verifier, params);
      if (fault === undefined) continue;
      const file = `phases/${number}/gate-definition.yaml`;
      const place = placeOf(fault.rule, await source(file));
      const hint = "docs/verifiers.md says what can stand in it.";
      found.push({ file, ...place, severity: "error", code: "RULE_INVALID", message: fault.message, hint });
    }
  }
  return found;
}

async function faultOf(verifier: string, params: Parameters<typeof ruleParam>[1]) {
  const given = ruleParam(verifier, params);
  if (given === undefined) return undefined;
  try {
    (await loadVerifierRules()).read(verifier, given.param, given.rule, given.variables);
    return undefined;
  } catch (error) {
    if (isPhasegateError(error)) return { rule: given.rule, message: error.message };
    throw error;
  }
}

/** Where a rule's text stands, as far as it is written in the file as it is read. */
function placeOf(rule: string, text: string | undefined): { line?: number; column?: number } {
  const at = text?.indexOf(rule) ?? -1;
  if (text === undefined || at < 0) return {};
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
