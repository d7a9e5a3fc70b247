import type { JsonObject, JsonValue } from "../definition/json.js";
import { parseSessionId, type SessionId } from "../definition/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { checkEvidenceSafety, type SafeEvidence } from "../gate/evidence-safety.js";
import { exampleEvidence, requiredFormat } from "../gate/required-format.js";
import type { Problem } from "../gate/verdict.js";
import { keyedRequest } from "../kernel/idempotency.js";
import type { EvidenceRef } from "../session/events.js";
import { type SessionHead, spentAt } from "../session/head.js";
import { exhausted, submissionRefusal } from "../session/refusals.js";
import { loadEvidence } from "./artifacts.js";
import { checkWorkflow, execute, requirePhase, sessionNotFound } from "./context.js";
import type { EngineContext, PhasedOutcome, TickReport } from "./engine-context.js";
import { type Evaluation, evaluate } from "./evaluate.js";
import type { PhasedSession } from "./pinned.js";

/** Evidence for a phase. */
export interface CompleteRequest<Phase extends number = number, Evidence = unknown> {
  readonly phase: Phase;
  readonly evidence: Evidence;
  /** The same key gives the same answer, however often the call is repeated. */
  readonly idempotencyKey?: string;
}

/** What every answer of a gate says. */
export interface GateAnswer {
  readonly sessionId: SessionId;
  readonly phase: number;
  /** Which try it was since the phase was entered, or last retried. */
  readonly attempt: number;
  readonly replayed: boolean;
}

/** What a gate answers. An unmet gate is a result, no error. */
export type CompleteResult =
  | (GateAnswer & {
      readonly passed: true;
      readonly evidenceAccepted: readonly string[];
      readonly warnings: readonly Problem[];
      /** The phase that the session is in now; null when the workflow is complete. */
      readonly nextPhase: PhaseDefinition | null;
      /** What was written into the session's plan, where the phase comes out of one. */
      readonly ticks?: TickReport;
    })
  | (GateAnswer & {
      readonly passed: false;
      readonly problems: readonly Problem[];
      /** How many more attempts there are before the session fails; 0 if it has. */
      readonly attemptsLeft: number;
      readonly status: SessionHead["status"];
      /** Whether the agent has used up its attempts: only the host can grant more. */
      readonly exhausted: boolean;
      /** What the gate asks for. */
      readonly requiredFormat: JsonValue;
      readonly example?: JsonObject;
    });

/** A request whose evidence was copied when it came; a copy that can't be made throws when it is asked for. */
interface TakenRequest extends Omit<CompleteRequest, "evidence"> {
  readonly takeEvidence: () => SafeEvidence;
}

/** Takes evidence to the gate of the current phase, and the session on if it passes. */
export async function completePhase(
  context: EngineContext,
  sessionId: string,
  { phase, takeEvidence, idempotencyKey }: TakenRequest,
): Promise<CompleteResult> {
  const id = parseSessionId(sessionId);
  const submission = takeEvidence();
  const request =
    idempotencyKey === undefined
      ? undefined
      : keyedRequest(idempotencyKey, ["completePhase", phase, submission.evidence]);
  const judge = createJudge(context, phase, submission);
  const outcome = await execute(
    context,
    id,
    async (session) => {
      if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
      checkWorkflow(context, session);
      return judge(session);
    },
    request,
  );
  return describe(context, outcome, await context.pinned.structure(outcome), Object.keys(submission.evidence));
}

/**
 * Judges a submission on the state at hand. After a conflict it is asked again, and keeps its verdict
 * if nothing that the verdict rests on has changed: verifying may be slow, or not repeatable.
 */
function createJudge(context: EngineContext, number: number, submission: SafeEvidence) {
  const { pinned, options } = context;
  let kept: { readonly ground: string; readonly evaluation: Evaluation } | undefined;
  return async (session: PhasedSession) => {
    const structure = await pinned.structure(session);
    const refusal = submissionRefusal(session.head, number, structure, options.limits);
    if (refusal !== undefined) throw refusal;
    const { structureVersion, submission: last } = session.head;
    const ground = `${structureVersion} ${last?.merge === true ? last.version : 0}`;
    if (kept?.ground !== ground) {
      const merged = await mergeLast(context, session, submission);
      const phase = requirePhase(structure, number);
      kept = { ground, evaluation: await evaluate(merged, structure, phase, pinned, options.enforcement) };
    }
    const { payloads, ...judged } = kept.evaluation;
    const stood = judged.verdict.passed ? await stoodBefore(context, session, structure, number) : undefined;
    const marks = stood === undefined ? {} : { stood };
    const command = { type: "completePhase", phase: number, ...judged, ...marks } as const;
    return { command: { command, structure, limits: options.limits }, payloads };
  };
}

/** What stands as done in the session's plan, if it has one, before it is ticked. */
async function stoodBefore(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  number: number,
): Promise<readonly string[] | undefined> {
  if (structure.plan === undefined) return undefined;
  const { standingTicks } = await import("./plan/planned.js");
  return standingTicks(context, session, structure, requirePhase(structure, number));
}

/** After a retry without a reset, a submission stands on the one before it. */
async function mergeLast(
  context: EngineContext,
  session: PhasedSession,
  submission: SafeEvidence,
): Promise<SafeEvidence> {
  const last = session.head.submission;
  if (last?.merge !== true) return submission;
  const { events } = await context.kernel.at(session.sessionId, last.version);
  const event = events.find(({ type }) => type === "gate_failed");
  if (event?.type !== "gate_failed") return submission;
  const earlier = await loadEvidence(context, { sessionId: session.sessionId, version: last.version }, event.evidence);
  return checkEvidenceSafety({ ...earlier, ...submission.evidence }, context.options.evidenceLimits);
}

/** The answer to a commit: the same when the call that led to it is repeated. */
function describe(
  context: EngineContext,
  { sessionId, head, events, replayed, ticks }: PhasedOutcome,
  structure: WorkflowStructure,
  submitted: readonly string[],
): CompleteResult {
  const event = events[0];
  if (event?.type === "gate_passed") {
    const { phase, attempt, evidence, warnings = [] } = event;
    const entered = events.find(({ type }) => type === "phase_entered");
    const nextPhase = entered?.type === "phase_entered" ? requirePhase(structure, entered.phase) : null;
    const evidenceAccepted = namesOf(evidence, submitted);
    const passed = {
      passed: true,
      sessionId,
      phase,
      attempt,
      replayed,
      evidenceAccepted,
      warnings,
      nextPhase,
    } as const;
    return { ...passed, ...(ticks === undefined ? {} : { ticks }) };
  }
  if (event?.type !== "gate_failed") throw new Error("a submission that no gate has judged");
  const { phase, attempt, problems } = event;
  const { gate } = requirePhase(structure, phase);
  const example = exampleEvidence(gate);
  return {
    passed: false,
    sessionId,
    phase,
    attempt,
    replayed,
    problems,
    attemptsLeft: attemptsLeft(context, head),
    status: head.status,
    exhausted: exhausted(head, context.options.limits) !== undefined,
    requiredFormat: requiredFormat(gate),
    ...(example === undefined ? {} : { example }),
  };
}

function attemptsLeft({ options }: EngineContext, head: SessionHead): number {
  const { maxAttempts, maxAttemptsTotal } = options.limits;
  if (head.status !== "active") return 0;
  return Math.max(0, Math.min(maxAttempts - head.attempts, maxAttemptsTotal - spentAt(head, head.position)));
}

function namesOf(evidence: EvidenceRef, submitted: readonly string[]): readonly string[] {
  return "inline" in evidence ? Object.keys(evidence.inline) : submitted;
}
