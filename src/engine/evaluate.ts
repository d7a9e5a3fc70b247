import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "../definition/json.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { checkGate } from "../gate/check-gate.js";
import type { SafeEvidence } from "../gate/evidence-safety.js";
import { compileRules } from "../gate/rules/compile-rules.js";
import type { Verdict } from "../gate/verdict.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { EvidenceRef, ValueRef } from "../session/refs.js";
import type { Verification } from "../session/verification.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedSession } from "./pinned.js";
import { ruleSurroundings } from "./rule-surroundings.js";
import { storeValue } from "./store-value.js";
import { asJson, isSame } from "./through-json.js";
import { verifyEvidence } from "./verify/verify-evidence.js";

/** A gate's word on a submission, ready to be decided on. */
export interface Evaluation {
  readonly verdict: Verdict;
  readonly evidence: EvidenceRef;
  readonly output?: ValueRef;
  /** What the gate's verifiers have found, where any were run. */
  readonly verification?: readonly Verification[];
  readonly payloads: readonly Payload[];
}

/** What is judged, and where. */
interface Submitted {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly phase: PhaseDefinition;
  readonly submission: SafeEvidence;
}

/**
 * Runs what a gate needs that is not pure, and asks the gate. Verifiers come last, and only for evidence that has
 * nothing else wrong with it: they may be slow. What they don't find blocks whatever `strict` and `enforcement` say.
 */
export async function evaluate(context: EngineContext, submitted: Submitted): Promise<Evaluation> {
  const { session, structure, phase, submission } = submitted;
  const { evidence } = submission;
  const stored = storeValue(evidence, submission.characters);
  const schema = phase.gate.kind === "schema" ? await context.pinned.schema(structure, phase) : undefined;
  const schemaResult = schema && (await schema["~standard"].validate(evidence));
  const judging = schemaResult
    ? checkGate(phase.gate, evidence, { schemaResult })
    : withRules(context, submitted, evidence);
  const verdict = judging instanceof Promise ? await judging : judging;
  const made = outputOf(schemaResult, submission, structure);
  const output = made === undefined ? undefined : storeValue(made);
  const judged = {
    evidence: stored.ref,
    ...(output === undefined ? {} : { output: output.ref }),
    payloads: output === undefined ? stored.payloads : [...stored.payloads, ...output.payloads],
  };
  const verifying = verdict.passed ? verifyEvidence(context, session, structure, phase, evidence) : undefined;
  if (verifying === undefined) return { verdict, ...judged };
  const { problems, verification } = await verifying;
  if (problems.length === 0) return { verdict, verification, ...judged };
  return { verdict: { passed: false, problems, warnings: verdict.warnings }, verification, ...judged };
}

/** No pause where the gate has no rules. */
function withRules(
  context: EngineContext,
  { session, structure, phase }: Submitted,
  evidence: JsonObject,
): Verdict | Promise<Verdict> {
  const { enforcement } = context.options;
  const compiling = compileRules(phase.gate);
  if (compiling === undefined) return checkGate(phase.gate, evidence, { enforcement });
  return Promise.all([compiling, ruleSurroundings(context, session, structure, phase)]).then(([rules, surroundings]) =>
    checkGate(phase.gate, evidence, { enforcement, rules, surroundings }),
  );
}

/** What a schema made of the evidence, where that is something else; it must be JSON to be kept. */
function outputOf(
  result: StandardSchemaV1.Result<unknown> | undefined,
  { evidence }: SafeEvidence,
  structure: WorkflowStructure,
): JsonValue | undefined {
  if (result === undefined || result.issues || isSame(result.value, evidence)) return undefined;
  const output = asJson(result.value);
  if (output !== undefined) return output;
  throw new PhasegateError("DEFINITION_INVALID", `a schema of ${structure.type} gives something that is not JSON`, {
    remedy: "Let the output of evidence schemas be plain JSON: no Date, Map, class or undefined in it.",
    details: { workflowType: structure.type, diagnostics: ["the output of the evidence schema is not JSON"] },
  });
}
