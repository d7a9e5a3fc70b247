import type { AwaitedApproval } from "../engine/approval/awaited.js";
import type { CompleteResult } from "../engine/gate-answer.js";
import { conceal } from "../gate/reveal.js";
import type { ParametersOf } from "./actions.js";
import { callAfterRefusal, type Refused, remediation } from "./after-refusal.js";
import { approvalNews } from "./approval-on-wire.js";
import { blockedBy, nextCall, phaseCall, replayNews, waitCall } from "./next-call.js";
import { planClaims } from "./plan-claims.js";
import { tickNews } from "./plan-on-wire.js";
import type { ToolContext } from "./tool-context.js";
import { verificationNews } from "./verification-on-wire.js";
import { phaseHeading, problemEntry } from "./wire.js";
import { compact, type WireObject } from "./wire-object.js";

/** As many problems as an answer lists; `get_errors` has them all. */
const PROBLEMS_MAX = 25;
/** As many names of evidence as an answer lists. */
const NAMES_MAX = 100;

export async function complete(context: ToolContext, params: ParametersOf<"complete_phase">): Promise<WireObject> {
  const { session_id: sessionId, phase, evidence, idempotency_key: idempotencyKey } = params;
  const request = { phase, evidence, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) };
  const result = await context.engine.completePhase(sessionId, request);
  const submitted = Object.keys(evidence);
  if (result.passed || result.awaiting === undefined) return now(context, result, judged(context, result, submitted));
  const decided = await askPerson(context, result.awaiting);
  if (decided !== undefined) return judged(context, decided, submitted);
  const open = waiting(result, result.awaiting);
  // Without a key it is no answer of before: the same evidence waits already.
  return idempotencyKey === undefined ? open : now(context, result, open);
}

/** A key's first answer, told once more: nothing was judged anew, and what comes next is for the session as it is now. */
async function now(
  { engine }: ToolContext,
  { replayed, sessionId, version }: CompleteResult,
  answer: WireObject,
): Promise<WireObject> {
  if (!replayed) return answer;
  const state = await engine.getState(sessionId);
  const news = replayNews(replayed, state);
  if (state.version === version) return { ...answer, ...news };
  const next = nextCall(state, () => phaseCall(sessionId));
  const { remediation: _, ...told } = answer;
  return compact({ ...told, ...news, blocked: blockedBy(state), next });
}

function judged(context: ToolContext, result: CompleteResult, submitted: readonly string[]): WireObject {
  if (result.passed) return passed(result);
  return failed(context, { ...result, problems: conceal(result.problems, result.reveal) }, submitted);
}

/** The word of the person who is there; undefined where there is none, or none that answers. */
async function askPerson(
  { engine, askPerson: ask }: ToolContext,
  { sessionId, request }: AwaitedApproval,
): Promise<CompleteResult | undefined> {
  if (ask === undefined) return undefined;
  const asked = await engine.getApproval(sessionId);
  // A repeated call gets its first answer, also where somebody has answered since.
  if (asked?.request !== request) return undefined;
  const answer = await ask(asked);
  if (answer === undefined) return undefined;
  const { decision, note = "", ...given } = answer;
  const word = { ...given, evidenceHash: asked.evidenceHash };
  if (decision === "deny") return engine.deny(sessionId, { ...word, note });
  return engine.approve(sessionId, { ...word, ...(note === "" ? {} : { note }) });
}

/** Nothing is missing but a person's word, which no call of an agent's can give. */
function waiting(result: Refused, awaiting: AwaitedApproval): WireObject {
  const { sessionId, phase, attempt } = result;
  return {
    status: "success",
    action: "complete_phase",
    session_id: sessionId,
    phase,
    checkpoint_passed: false,
    ...approvalNews(awaiting),
    evidence_hash: awaiting.evidenceHash,
    attempt,
    next: waitCall(sessionId),
  };
}

function passed(result: Extract<CompleteResult, { passed: true }>): WireObject {
  const { sessionId, phase, evidenceAccepted, nextPhase, ticks, reveal } = result;
  const warnings = conceal(result.warnings, reveal);
  const done = nextPhase === null;
  return compact({
    status: "success",
    action: "complete_phase",
    session_id: sessionId,
    phase_completed: phase,
    checkpoint_passed: true,
    evidence_accepted: evidenceAccepted.slice(0, NAMES_MAX),
    evidence_accepted_in_all: evidenceAccepted.length > NAMES_MAX ? evidenceAccepted.length : undefined,
    warnings: warnings.length === 0 ? undefined : warnings.map(({ message }) => message),
    ...tickNews(ticks),
    workflow_complete: done || undefined,
    next_phase: nextPhase === null ? null : phaseHeading(nextPhase),
    next: done ? { action: "get_history", session_id: sessionId } : phaseCall(sessionId),
  });
}

function failed(context: ToolContext, result: Refused, submitted: readonly string[]): WireObject {
  const { sessionId, phase, problems, attemptsLeft, attempt, status, verification, reveal } = result;
  const listed = problems.slice(0, PROBLEMS_MAX);
  const missing = [...new Set(problems.filter(({ problem }) => problem === "missing").map(({ field }) => field))];
  const more = problems.length - listed.length;
  const answer = compact({
    status: "error",
    action: "complete_phase",
    session_id: sessionId,
    error: `Phase ${phase} is not complete: ${problems.length} problem${problems.length === 1 ? "" : "s"} with the evidence`,
    error_type: "ValidationError",
    code: "GATE_FAILED",
    phase,
    checkpoint_passed: false,
    missing_evidence: missing.slice(0, NAMES_MAX),
    validation_errors: listed.map(({ message }) => message),
    problems: listed.map(problemEntry),
    ...planClaims(result),
    more_problems: more === 0 ? undefined : `${more} more: see get_errors`,
    attempt,
    attempts_left: attemptsLeft,
    session_status: status,
    remediation: remediation(result),
    next: callAfterRefusal(result, submitted),
  });
  return withMore(context, answer, verificationNews(verification, reveal), result);
}

/** What verifiers have found, format and example, where they fit; other answers have them too. */
function withMore(
  { room }: ToolContext,
  bare: WireObject,
  found: WireObject,
  { requiredFormat, example, sessionId, phase }: Refused,
): WireObject {
  const full = { ...bare, ...found };
  const seeErrors = "verification" in found ? { verification: "see get_errors" } : {};
  const answer = JSON.stringify(full).length <= room ? full : { ...bare, ...seeErrors };
  const whole = compact({ ...answer, required_format: requiredFormat, examples: example });
  if (JSON.stringify(whole).length <= room) return whole;
  return { ...answer, required_format: { see: phaseCall(sessionId, phase) } };
}
