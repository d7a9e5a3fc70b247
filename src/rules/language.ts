/**
 * The language of rules: CEL (cel.dev), with declared types for what a gate's rules can see. Loaded when the
 * first definition has a rule, so that nobody else pays for it.
 */
import type { Environment } from "@marcbachmann/cel-js";
import type { JsonValue } from "../workflow/json.js";
import type { FieldType, VerifyDefinition } from "../workflow/structure.js";
import {
  compileRule,
  EvidenceValue,
  ParamsValue,
  Patterns,
  RULE_TYPES,
  registerFunctions,
  registerOperators,
  ruleParams,
  SESSION_TYPES,
  SessionValue,
} from "./compile.js";
import type { RuleField, RuleLanguage, RuleSubject } from "./rule-types.js";

let loaded: Promise<RuleLanguage> | undefined;

/** Loads the language once. */
export function loadRuleLanguage(): Promise<RuleLanguage> {
  loaded ??= load().catch((error: unknown) => {
    // What could not be loaded now may be there the next time.
    loaded = undefined;
    throw error;
  });
  return loaded;
}

/** Verifiers that look at a field's value: the param that they look at instead, and a value that looks right. */
const LOOKED_AT: ReadonlyMap<string, readonly [param: string, value: string]> = new Map([
  ["file_exists", ["path", "docs/report.md"]],
  ["directory_exists", ["path", "docs"]],
  ["file_matches", ["path", "docs/report.md"]],
  ["markdown_headings", ["path", "docs/report.md"]],
  ["git_commit_exists", ["commit", "0123abc"]],
  ["http_ok", ["url", "https://example.org/"]],
]);

/** A value of the form that verifiers look at: whether it is true only they can tell. */
export function verifiedValues(type: FieldType, checks: readonly VerifyDefinition[]): JsonValue[] {
  return checks.flatMap(({ verifier, params }): JsonValue[] => {
    const [param, value] = LOOKED_AT.get(verifier) ?? [];
    if (param === undefined || value === undefined || Object.hasOwn(params, param)) return [];
    if (type === "list") return [[value]];
    return type === "string" || type === "any" ? [value] : [];
  });
}

/** Bounds on one rule's text. The time that it takes is bounded when it runs. */
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
    forFields(fields) {
      const environment = withEvidence(gates.clone(), fields);
      return {
        compile: (text, subject) =>
          compileRule(text, { environment: withSubject(environment.clone(), subject), fields, subject }, patterns),
      };
    },
    forVariables(variables) {
      const environment = base.clone();
      for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, RULE_TYPES[type]);
      return {
        compile: (text) => compileRule(text, { environment, fields: [], subject: {}, variables }, patterns),
      };
    },
  };
}

function withSession(environment: Environment): Environment {
  environment.registerType("session", { ctor: SessionValue, fields: SESSION_TYPES });
  environment.registerVariable("session", "session");
  environment.registerVariable("artifacts", "map<dyn, dyn>");
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
