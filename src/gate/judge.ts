/**
 * Takes evidence to a gate, and counts the attempts. Phases, routed steps and the steps of skills share it. Rules
 * come first; verifiers, which may be slow, run only for evidence without other problems. Rules are compiled once for all
 * gates with the same content.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { keyWeight, RecentMap } from "../workflow/cache.js";
import { hasChildCheck } from "../workflow/child-workflow.js";
import type { GatePlace } from "../workflow/gate-definition.js";
import type { JsonObject } from "../workflow/json.js";
import type { GateDefinition } from "../workflow/structure.js";
import { checkGate } from "./check-gate.js";
import {
  type CompiledRules,
  type Enforcement,
  hasRules,
  type Problem,
  type RuleSurroundings,
  rulesOf,
  type Verdict,
} from "./verdict.js";

/** The verdict of a gate, with the results of its verifiers if any were run. */
export interface Judged<Verification> {
  readonly verdict: Verdict;
  readonly verification?: readonly Verification[];
}

/** The results of verifiers, and the problems among them: these always block, also with a lenient `strict` or `enforcement`. */
export interface Verified<Verification> {
  readonly problems: readonly Problem[];
  readonly verification: readonly Verification[];
}

/** The part of a gate's checks that comes from the engine. */
interface Checks<Verification> {
  readonly enforcement?: Enforcement;
  /** Problems that were found before: they block like the gate's own. */
  readonly found?: readonly Problem[];
  /** The result of the gate's schema; required for a gate with one. */
  readonly schemaResult?: StandardSchemaV1.Result<unknown>;
  /** Returns what rules can read in addition to the evidence. Called only if the gate has rules. */
  readonly surroundings: () => RuleSurroundings | Promise<RuleSurroundings>;
  /** Runs the gate's verifiers; undefined if there are none. Called only if nothing else is wrong. */
  readonly verify?: () => Promise<Verified<Verification>> | undefined;
}

export async function judge<Verification>(
  gate: GateDefinition,
  evidence: JsonObject,
  { enforcement, found = [], schemaResult, surroundings, verify }: Checks<Verification>,
): Promise<Judged<Verification>> {
  const rules = await compileRules(gate);
  const more = rules === undefined ? {} : { rules, surroundings: await surroundings() };
  const verdict = withFound(checkGate(gate, evidence, { enforcement, schemaResult, ...more }), found);
  const verified = verdict.passed ? await verify?.() : undefined;
  if (verified === undefined) return { verdict };
  return { verdict: withFound(verdict, verified.problems), verification: verified.verification };
}

function withFound(verdict: Verdict, found: readonly Problem[]): Verdict {
  if (found.length === 0) return verdict;
  const problems = verdict.passed ? found : [...found, ...verdict.problems];
  return { passed: false, problems, warnings: verdict.warnings };
}

/** Limits how often a gate may be tried. */
export interface AttemptLimits {
  /** After this many failures in a row the session is `failed`. Default 3. */
  readonly maxAttempts: number;
  /**
   * After this many failures in total at one phase the session is `failed`, and an agent's retry grants no more attempts.
   * Default 12.
   */
  readonly maxAttemptsTotal: number;
}

interface Failures {
  /** Since the phase was entered or last retried. */
  readonly inARow: number;
  readonly inTotal: number;
}

/** Returns the number of attempts left; 0 if the last failure was the last attempt. */
export function attemptsLeft({ inARow, inTotal }: Failures, limits: AttemptLimits): number {
  return Math.max(0, Math.min(limits.maxAttempts - inARow, limits.maxAttemptsTotal - inTotal));
}

/** Limits the rules that are cached compiled, in characters: a compiled one takes many times as much. */
const RULES_WEIGHT = 512 * 1024;

const byContent = new RecentMap<string, Promise<CompiledRules>>(RULES_WEIGHT, keyWeight);

/**
 * Returns the rules of a gate, compiled once for all gates with the same content; undefined if it has none.
 * A rule that can't be compiled does not reject: checking it gives a problem, so that the gate stays shut.
 * Rejects only if the rule language can't be loaded.
 */
export function compileRules(gate: GateDefinition): Promise<CompiledRules> | undefined {
  if (gate.kind !== "fields" || !hasRules(gate)) return undefined;
  const content = JSON.stringify([gate.fields, gate.rules]);
  const known = byContent.get(content);
  if (known !== undefined) return known;
  const compiled = import("./run-gate-rules.js").then(({ createRules }) => createRules(gate));
  byContent.set(content, compiled);
  // Loading the language may succeed the next time. This caller gets the rejection.
  compiled.catch(() => byContent.delete(content));
  return compiled;
}

/** Returns the rules of a gate that can't be run at its place: a rule may read artifacts that no earlier phase has. */
export async function ruleFaults(gate: GateDefinition, place: GatePlace): Promise<readonly Problem[]> {
  if (hasChildCheck(gate)) {
    const { childGateFaults } = await import("../rules/child-rules.js");
    return (await childGateFaults(gate, place)).map(({ at, message, hint }) => {
      const where = ["workflow", ...at].join(".");
      return { field: "", problem: "invalid", message: `${where}: ${message}. ${hint}` };
    });
  }
  if (gate.kind !== "fields") return [];
  const readsArtifacts = rulesOf(gate).some(({ rule }) => rule.cel.includes("artifacts"));
  if (!readsArtifacts) return (await compileRules(gate))?.faults ?? [];
  const { createRules } = await import("./run-gate-rules.js");
  return (await createRules(gate, place)).faults;
}
