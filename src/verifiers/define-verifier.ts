/**
 * Defines a verifier: parses its parameters and handles its errors. Errors that an agent can fix are problems at the
 * gate; all others are thrown. Rules in parameters are those of gates, with the verifier's own variables.
 */
import * as z from "zod";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { checkPlaceholders } from "../gate/fill-params.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../ports/verifier.js";
import { boundedRule } from "../rules/compile.js";
import { ruleValue } from "../rules/environment.js";
import { loadRuleLanguage } from "../rules/language.js";
import type { CompiledRule, RuleVariables } from "../rules/rule-types.js";
import { keyWeight, RecentMap } from "../workflow/cache.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { orNearest, shown } from "../workflow/names.js";
import { innermostIssue } from "../workflow/zod-issues.js";

/** A request before there is evidence. */
type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

/** A verifier whose parameters have a schema. */
interface VerifierSpec<S extends z.ZodObject> {
  readonly name: string;
  readonly params: S;
  /** Parameters in which no placeholder is filled in. */
  readonly verbatim?: readonly string[];
  readonly keepsSnapshot?: true;
  readonly mayWrite?: true;
  /** Throws `INVALID_INPUT` for what the schema can't express. Texts may still contain placeholders. */
  checkParams?(params: z.infer<S>): void;
  snapshot?(params: z.infer<S>, request: SnapshotRequest): Promise<JsonValue>;
  verify(params: z.infer<S>, request: VerifyRequest, signal: AbortSignal): Promise<VerifyResult>;
}

/** Errors that an agent can fix: a path outside the project, a file that is missing, too large or not text. */
const FIXABLE = ["PATH_REFUSED", "FILE_NOT_FOUND", "TOO_LARGE", "INVALID_INPUT"] as const;

/** Returns a verifier that checks its parameters when a definition is loaded, and again before it runs. */
export function defineVerifier<S extends z.ZodObject>(spec: VerifierSpec<S>): Verifier {
  const { name, verbatim = [], snapshot, keepsSnapshot, mayWrite } = spec;
  const read = (params: unknown) => parseParams(name, spec.params, params);
  return {
    verbatim,
    ...(keepsSnapshot === undefined ? {} : { keepsSnapshot }),
    ...(mayWrite === undefined ? {} : { mayWrite }),
    check(params) {
      checkPlaceholders(params, { verbatim });
      spec.checkParams?.(read(params));
    },
    ...(snapshot === undefined ? {} : { snapshot: async (request) => snapshot(read(request.params), request) }),
    async verify(request, { signal }) {
      signal.throwIfAborted();
      try {
        const params = read(request.params);
        spec.checkParams?.(params);
        return await spec.verify(params, request, signal);
      } catch (error) {
        if (!isPhasegateError(error) || !FIXABLE.some((code) => code === error.code)) throw error;
        return { ok: false, message: `${error.message}. ${error.remedy}` };
      }
    },
  };
}

/** Returns the error for a parameter with which a verifier can't run. */
export function wrongParam(
  verifier: string,
  param: string,
  reason: string,
  known: readonly string[] = [],
): PhasegateError<"INVALID_INPUT"> {
  const name = param === "" ? verifier : `${shown(param).slice(1, -1)} of ${verifier}`;
  return new PhasegateError("INVALID_INPUT", `${name}: ${reason}`, {
    remedy:
      known.length === 0
        ? "Correct the parameter, or the evidence that it is filled from."
        : `${verifier} has these parameters: ${known.join(", ")}.`,
    details: { field: param === "" ? verifier : `${verifier}.${param}`, expected: reason },
  });
}

/** A text that is not empty. */
export const textParam = z.string().min(1);

/** A whole number, 0 or more. */
export const countParam = z.int().min(0);

/** Reads the parameters of a verifier. Throws `INVALID_INPUT` for the first one that is wrong. */
function parseParams<S extends z.ZodObject>(verifier: string, schema: S, params: unknown): z.infer<S> {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  const issue = result.error.issues.map(innermostIssue)[0];
  const path = issue?.path.map(String).join(".") ?? "";
  const known = Object.keys(schema.shape);
  if (issue?.code !== "unrecognized_keys" || path !== "") {
    throw wrongParam(verifier, path, issue?.message ?? "is not valid", known);
  }
  const unknown = issue.keys[0] ?? "";
  const meant = orNearest(unknown, known, (near) => `'${near}'`);
  throw wrongParam(verifier, unknown, `there is no such parameter${meant}`, known);
}

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

/** Limits the rules that are kept compiled, in characters: a compiled one takes many times as much. */
const RULES_WEIGHT = 256 * 1024;

/** Loads the rule language. */
export async function loadVerifierRules(): Promise<VerifierRules> {
  const language = await loadRuleLanguage();
  const compiled = new RecentMap<string, CompiledRule>(RULES_WEIGHT, keyWeight);
  return {
    read(verifier, param, rule, variables) {
      const key = JSON.stringify([rule, variables]);
      const known = compiled.get(key) ?? language.forVariables(variables).compile(rule.trim());
      if (!known.ok) throw wrongParam(verifier, param, `${known.message}. ${known.hint}`);
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
