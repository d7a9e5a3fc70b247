/**
 * Submits evidence to the gate of the current phase. Order: safety of the evidence, state, earlier
 * approvals, schema or fields and rules, then verifiers, and a person's approval last. After a conflict
 * with another writer the verdict is reused if nothing that it depends on has changed: verifiers may be
 * slow or not repeatable.
 */

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { hashEvidence } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { checksOf } from "../gate/check-gate.js";
import { checkEvidenceSafety, type SafeEvidence } from "../gate/evidence.js";
import { type Judged, judge } from "../gate/judge.js";
import { keyedRequest } from "../log/machine.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { JsonValue } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { asJson, isSame, loadEvidence, storeValue } from "./artifacts.js";
import { checkWorkflow, execute, loadPlanned, requirePhase, sessionNotFound } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { type CompleteResult, describe, groundOfRules, ruleSurroundings } from "./gate-answer.js";
import type { PhasedSession } from "./pinned.js";
import { submissionRefusal } from "./state/commands.js";
import { approvalOf } from "./state/decide-gate.js";
import type { EvidenceRef, ValueRef, Verification } from "./state/events.js";
import { type Begun, beginPhase, withBegun } from "./verify/snapshots.js";
import { verifyEvidence } from "./verify/verify.js";

/** A submission of evidence. */
export interface CompleteRequest<Phase extends number = number, Evidence = unknown> {
  /** The number of the phase that it is for. */
  readonly phase: Phase;
  /** The evidence; plain JSON. */
  readonly evidence: Evidence;
  /** A repeated call with the same key gets the same answer. */
  readonly idempotencyKey?: string;
}

/** A request whose evidence was checked and copied on arrival. */
interface CopiedRequest extends Omit<CompleteRequest, "evidence"> {
  readonly submission: SafeEvidence;
}

/** Takes evidence to the gate of the current phase, and advances the session if it passes. */
export async function completePhase(
  context: EngineContext,
  id: SessionId,
  { phase, submission, idempotencyKey }: CopiedRequest,
): Promise<CompleteResult> {
  const request =
    idempotencyKey === undefined
      ? undefined
      : keyedRequest(idempotencyKey, ["completePhase", phase, submission.evidence]);
  const executed = await execute(context, id, createJudge(context, id, phase, submission), request);
  // The session already waits for an approval of the same evidence: that question is the answer again.
  const outcome = "answer" in executed ? await context.kernel.again(id, executed.answer.asked) : executed;
  return describe(context, outcome, await context.pinned.structure(outcome), Object.keys(submission.evidence));
}

/** The verdict on a submission with everything that is recorded. */
interface Evaluation extends Judged<Verification> {
  readonly evidence: EvidenceRef;
  readonly output?: ValueRef;
  readonly payloads: readonly Payload[];
}

/** A verdict with what it depends on, and the snapshots of the next phase. */
interface KeptVerdict {
  readonly ground: string;
  readonly evaluation: Evaluation & { readonly evidenceHash?: string };
  readonly begun: Begun | undefined;
}

/**
 * Returns a function that judges the submission on the current state. After a conflict it is called again
 * and reuses its verdict, if nothing that it depends on has changed.
 */
function createJudge(context: EngineContext, id: SessionId, number: number, submission: SafeEvidence) {
  const { pinned, options } = context;
  let kept: KeptVerdict | undefined;
  return async (session: PhasedSession | undefined, confirm: () => Promise<void>) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
    checkWorkflow(context, session);
    const known = pinned.structure(session);
    const structure = known instanceof Promise ? await known : known;
    const refusal = submissionRefusal(session.head, number, structure, options.limits);
    if (refusal !== undefined) throw refusal;
    const checking = context.approvalGuard.check(session, structure);
    if (checking !== undefined) await checking;
    const { structureVersion, submission: last, awaiting, baseline } = session.head;
    if (awaiting !== undefined && awaiting.evidenceHash === hashEvidence(submission.evidence)) {
      return { answer: { asked: awaiting.version } };
    }
    const phase = requirePhase(structure, number);
    const merge = last?.merge === true ? last.version : 0;
    // After a rollback the artifacts and snapshots are other ones.
    const ground = `${structureVersion} ${merge} ${baseline} ${groundOfRules(session, phase.gate)}`;
    if (kept?.ground !== ground) {
      // Verifiers must not run for a phase that another host has already completed.
      if (checksOf(phase.gate).length > 0) await confirm();
      const merged = last?.merge === true ? await mergeLast(context, session, last.version, submission) : submission;
      const evaluation = await evaluate(context, { session, structure, phase, submission: merged });
      const asksPerson = approvalOf(phase.gate) !== undefined;
      const bound = asksPerson ? { evidenceHash: hashEvidence(merged.evidence) } : {};
      const isLeft = evaluation.verdict.passed && !asksPerson;
      const next = isLeft ? beginPhase(context, session, structure, session.head.position + 1) : undefined;
      kept = { ground, evaluation: { ...evaluation, ...bound }, begun: next && (await next) };
    }
    const { payloads, ...judged } = kept.evaluation;
    const isTicked = judged.verdict.passed && structure.plan !== undefined;
    const stood = isTicked ? await tickedBefore(context, session, structure, number) : undefined;
    const marks = stood === undefined ? {} : { stood };
    const command = { type: "completePhase", phase: number, ...judged, ...marks } as const;
    return withBegun({ command, structure, limits: options.limits }, kept.begun, payloads);
  };
}

/** After a retry without a reset, a submission is merged over the one before it. */
async function mergeLast(
  context: EngineContext,
  { sessionId }: PhasedSession,
  version: number,
  submission: SafeEvidence,
): Promise<SafeEvidence> {
  const { events } = await context.kernel.at(sessionId, version);
  // A withdrawn question counts too: nothing was wrong with its evidence.
  const event = events.find((candidate) => candidate.type === "gate_failed" || candidate.type === "approval_requested");
  if (event === undefined) return submission;
  const earlier = await loadEvidence(context, { sessionId, version }, event.evidence);
  return checkEvidenceSafety({ ...earlier, ...submission.evidence }, context.options.evidenceLimits);
}

/** A submission with the phase that it is for. */
interface Submitted {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly phase: PhaseDefinition;
  readonly submission: SafeEvidence;
}

/** Takes a submission to the gate of its phase. */
async function evaluate(context: EngineContext, submitted: Submitted): Promise<Evaluation> {
  const { session, structure, phase, submission } = submitted;
  const { evidence } = submission;
  const stored = storeValue(evidence, submission.characters);
  const schema = phase.gate.kind === "schema" ? await context.pinned.schema(structure, phase) : undefined;
  const schemaResult = schema && (await schema["~standard"].validate(evidence));
  const made = outputOf(schemaResult, submission, structure);
  const output = made === undefined ? undefined : storeValue(made);
  const judging = judge(phase.gate, evidence, {
    enforcement: context.options.enforcement,
    schemaResult,
    surroundings: () => ruleSurroundings(context, session, structure, phase),
    verify: () => verifyEvidence(context, session, structure, phase, evidence),
  });
  const judged = judging instanceof Promise ? await judging : judging;
  return {
    ...judged,
    evidence: stored.ref,
    ...(output === undefined ? {} : { output: output.ref }),
    payloads: output === undefined ? stored.payloads : [...stored.payloads, ...output.payloads],
  };
}

/** Returns the output of a schema, where it differs from the evidence; it must be JSON to be stored. */
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

/** Returns the tasks that were already ticked in the session's plan. */
async function tickedBefore(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  number: number,
): Promise<readonly string[] | undefined> {
  const { earlierTicks } = await loadPlanned();
  return earlierTicks(context, session, structure, requirePhase(structure, number));
}
