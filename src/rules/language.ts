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
 * - python-to-cel.ts: Python lambdas as CEL (python-tokens.ts and python-parser.ts read them)
 * - candidates.ts: example values for a field
 * - tree.ts: reading CEL's syntax tree
 * - rule-types.ts: the types of this folder
 */
import type { Environment } from "@marcbachmann/cel-js";
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
import type { RuleField, RuleLanguage, RuleSubject } from "./rule-types.js";

let loaded: Promise<RuleLanguage> | undefined;

/** Loads the language once. */
export function loadRuleLanguage(): Promise<RuleLanguage> {
  loaded ??= load().catch((error: unknown) => {
    // A failed load may succeed the next time.
    loaded = undefined;
    throw error;
  });
  return loaded;
}

/** Verifiers that check a field's value: the parameter that replaces the value, and a plausible value. */
const LOOKED_AT: ReadonlyMap<string, readonly [param: string, value: string]> = new Map([
  ["file_exists", ["path", "docs/report.md"]],
  ["directory_exists", ["path", "docs"]],
  ["file_matches", ["path", "docs/report.md"]],
  ["markdown_headings", ["path", "docs/report.md"]],
  ["git_commit_exists", ["commit", "0123abc"]],
  ["http_ok", ["url", "https://example.org/"]],
]);

/** Returns plausible values for verifiers. Only the verifiers can tell whether such a file exists. */
export function verifiedValues(type: FieldType, checks: readonly VerifyDefinition[]): JsonValue[] {
  return checks.flatMap(({ verifier, params }): JsonValue[] => {
    const [param, value] = LOOKED_AT.get(verifier) ?? [];
    if (param === undefined || value === undefined || Object.hasOwn(params, param)) return [];
    if (type === "list") return [[value]];
    return type === "string" || type === "any" ? [value] : [];
  });
}

/** Limits on the text of one rule. Its time is limited when it runs. */
const LIMITS = { maxAstNodes: 500, maxDepth: 100, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 16 };

async function load(): Promise<RuleLanguage> {
  const [cel, re2] = await Promise.all([import("@marcbachmann/cel-js"), import("@bufbuild/re2")]);
  const patterns = new Patterns(re2);
  const base = new cel.Environment({ limits: LIMITS, homogeneousAggregateLiterals: false });
  registerOperators(base);
  registerFunctions(base);
  patterns.register(base);
  const gates = withSession(base.clone());
  return {
    forFields(fields, earlier) {
      const environment = withEvidence(gates.clone(), fields);
      return {
        compile: (text, subject) => {
          const scope = { environment: withSubject(environment.clone(), subject), fields, subject, earlier };
          return compileRule(text, scope, patterns);
        },
      };
    },
    forVariables(variables, keys = {}) {
      const environment = base.clone();
      for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, RULE_TYPES[type]);
      return {
        compile: (text) => compileRule(text, { environment, fields: [], subject: {}, variables, keys }, patterns),
      };
    },
  };
}

function withSession(environment: Environment): Environment {
  environment.registerType("session", { ctor: SessionValue, fields: SESSION_TYPES });
  environment.registerVariable("session", "session");
  environment.registerVariable("artifacts", "map<dyn, dyn>");
  environment.registerVariable("options", "map<string, dyn>");
  return environment.registerVariable("plan", "map<string, dyn>");
}

function withEvidence(environment: Environment, fields: readonly RuleField[]) {
  const types = Object.fromEntries(fields.map(({ name, type }) => [name, RULE_TYPES[type]]));
  environment.registerType("evidence", { ctor: EvidenceValue, fields: types });
  environment.registerVariable("evidence", "evidence");
  environment.registerOperator("string in evidence", (name: string, evidence: EvidenceValue) => evidence.has(name));
  return environment;
}

function withSubject(environment: Environment, { value, params }: RuleSubject): Environment {
  if (value !== undefined) environment.registerVariable("value", RULE_TYPES[value]);
  if (params === "any") return environment.registerVariable("params", "map<string, dyn>");
  environment.registerType("params", { ctor: ParamsValue, fields: ruleParams(params ?? {}).types });
  return environment.registerVariable("params", "params");
}
