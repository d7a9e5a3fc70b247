/**
 * The language of rules: CEL (cel.dev) with declared types for what the rules of a gate can see. It is loaded when the
 * first definition has a rule. This is the entry file of the folder.
 *
 * What is decided where:
 * - environment.ts: what rules see, and the operators and functions that they can use
 * - compile.ts: which texts are rules; a rule that could take more than 1,000,000 steps is not run; errors of CEL in
 *   plain words
 * - artifact-keys.ts: which artifacts a rule can read
 * - patterns.ts: regular expressions, in linear time
 * - cost.ts: the upper bound of a rule's steps on given evidence
 * - validators.ts: the named validators
 * - options.ts: which options a session can be started with, and when a phase is skipped; schema-faults.ts: what is wrong
 *   with their schema; json-schema.ts: an `import()` boundary for zod's reader of it
 * - python-to-cel.ts: Python lambdas as CEL; python.ts: reading them
 * - candidates.ts: example values for a field
 * - tree.ts: reading CEL's syntax tree
 * - rule-types.ts: the types of this folder
 */
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import type { JsonValue } from "../workflow/json.js";
import type { FieldType, VerifyDefinition } from "../workflow/structure.js";
import { compileRule } from "./compile.js";
import {
  EvidenceValue,
  ParamsValue,
  RULE_TYPES,
  registerFunctions,
  registerOperators,
  ruleParams,
  SESSION_TYPES,
  SessionValue,
} from "./environment.js";
import { Patterns } from "./patterns.js";
import type { RuleLanguage } from "./rule-types.js";

let loaded: Promise<RuleLanguage> | undefined;

export function loadRuleLanguage(): Promise<RuleLanguage> {
  loaded ??= load().catch((error: unknown) => {
    // A failed load may succeed the next time.
    loaded = undefined;
    throw error;
  });
  return loaded;
}

/** Returns plausible values for verifiers. Only the verifiers can tell whether such a file exists. */
export function verifiedValues(type: FieldType, checks: readonly VerifyDefinition[]): JsonValue[] {
  return checks.flatMap(({ verifier, params }): JsonValue[] => {
    const { value, insteadOfValue } = aboutVerifier(verifier) ?? {};
    if (value === undefined || (insteadOfValue !== undefined && Object.hasOwn(params, insteadOfValue))) return [];
    if (type === "list") return [[value]];
    return type === "string" || type === "any" ? [value] : [];
  });
}

/** Limits on the text of one rule. Its time is limited when it runs. */
const LIMITS = { maxAstNodes: 500, maxDepth: 100, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 16 };

/** What the rules of a gate see besides evidence and parameters, with its types. */
const SURROUNDINGS = {
  session: "session",
  artifacts: "map<dyn, dyn>",
  options: "map<string, dyn>",
  plan: "map<string, dyn>",
};

const GATE_VARIABLES = ["evidence", "params", "artifacts", "plan", "session", "options"];

async function load(): Promise<RuleLanguage> {
  const [cel, re2] = await Promise.all([import("@marcbachmann/cel-js"), import("@bufbuild/re2")]);
  const patterns = new Patterns(re2);
  const base = new cel.Environment({ limits: LIMITS, homogeneousAggregateLiterals: false });
  registerOperators(base);
  registerFunctions(base);
  patterns.register(base);
  const gates = base.clone();
  gates.registerType("session", { ctor: SessionValue, fields: SESSION_TYPES });
  for (const [name, type] of Object.entries(SURROUNDINGS)) gates.registerVariable(name, type);
  return {
    forFields(fields, earlier) {
      const types = Object.fromEntries(fields.map(({ name, type }) => [name, RULE_TYPES[type]]));
      const gate = gates.clone();
      gate.registerType("evidence", { ctor: EvidenceValue, fields: types });
      gate.registerVariable("evidence", "evidence");
      gate.registerOperator("string in evidence", (name: string, evidence: EvidenceValue) => evidence.has(name));
      const known = [
        ["evidence", Object.keys(types)],
        ["session", Object.keys(SESSION_TYPES)],
      ] as const;
      return {
        compile: (text, { value, params = {}, gives }) => {
          const environment = gate.clone();
          if (value !== undefined) environment.registerVariable("value", RULE_TYPES[value]);
          if (gives === "value of item") environment.registerVariable("item", "dyn");
          const isAny = params === "any";
          if (!isAny) environment.registerType("params", { ctor: ParamsValue, fields: ruleParams(params).types });
          environment.registerVariable("params", isAny ? "map<string, dyn>" : "params");
          const keys = new Map(isAny ? known : [...known, ["params", Object.keys(params)]]);
          const own = value !== undefined ? ["value"] : gives === "value of item" ? ["item"] : [];
          const variables = [...own, ...GATE_VARIABLES];
          const givesAny = gives !== undefined;
          return compileRule(text, { environment, variables, keys, fields, earlier, givesAny }, patterns);
        },
      };
    },
    forVariables(variables, keys = {}) {
      const environment = base.clone();
      for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, RULE_TYPES[type]);
      const scope = { environment, variables: Object.keys(variables), keys: new Map(Object.entries(keys)) };
      return { compile: (text) => compileRule(text, scope, patterns) };
    },
  };
}
