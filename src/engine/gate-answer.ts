import type { JsonObject, JsonValue } from "../definition/json.js";
import type { SessionId } from "../definition/names.js";
import type { PhaseDefinition, Reveal, WorkflowStructure } from "../definition/structure.js";
import { exampleEvidence, requiredFormat } from "../gate/required-format.js";
import { revealOf } from "../gate/reveal.js";
import type { Problem } from "../gate/verdict.js";
import type { EventOf, SessionEvent } from "../session/events.js";
import { type SessionHead, spentAt } from "../session/head.js";
import type { EvidenceRef } from "../session/refs.js";
import { exhausted } from "../session/refusals.js";
import type { Verification } from "../session/verification.js";
import { type AwaitedApproval, awaitedBy } from "./approval/awaited.js";
import { requirePhase } from "./context.js";
import type { EngineContext, PhasedOutcome, TickReport } from "./engine-context.js";

/** What every answer of a gate says. */
export interface GateAnswer {
  readonly sessionId: SessionId;
  readonly phase: number;
  /** Which try it was since the phase was entered, or last retried. */
  readonly attempt: number;
  /** The version of the session that this was the answer at. */
  readonly version: number;
  /** Whether an earlier call led to this answer: the session may have moved since. */
  readonly replayed: boolean;
  /** What the gate's verifiers have found, where any were run. */
  readonly verification?: readonly Verification[];
  /** How much of all this the gate lets agents see; hosts have the whole. */
  readonly reveal: Reveal;
}

/** What a gate answers. An unmet gate is a result, no error. */
export type CompleteResult =
  | (GateAnswer & {
      readonly passed: true;
      readonly evidenceAccepted: readonly string[];
      readonly warnings: readonly Problem[];
      /** The phase that the session entered; null when the workflow was complete. */
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
      /** Nothing is wrong with the evidence, but a person must say yes to it first: there are no problems then. */
      readonly awaiting?: AwaitedApproval;
    });

/** The answer to a commit: the same when the call that led to it is repeated. */
export function describe(
  context: EngineContext,
  outcome: PhasedOutcome,
  structure: WorkflowStructure,
  submitted?: readonly string[],
): CompleteResult {
  const { head, events, ticks } = outcome;
  // Where a person has decided, that stands before what followed from it.
  const event = events.find(isGateEvent);
  if (event?.type === "gate_passed") {
    const { evidence, warnings = [] } = event;
    const entered = events.find(({ type }) => type === "phase_entered");
    const nextPhase = entered?.type === "phase_entered" ? requirePhase(structure, entered.phase) : null;
    const evidenceAccepted = namesOf(evidence, submitted);
    const passed = {
      passed: true,
      ...answered(outcome, structure, event),
      evidenceAccepted,
      warnings,
      nextPhase,
    } as const;
    return { ...passed, ...(ticks === undefined ? {} : { ticks }) };
  }
  if (event === undefined) throw new Error("a submission that no gate has judged");
  const awaiting = event.type === "approval_requested" ? awaitedBy(outcome, event) : undefined;
  const problems = event.type === "gate_failed" ? event.problems : [];
  const { gate } = requirePhase(structure, event.phase);
  const example = exampleEvidence(gate);
  return {
    passed: false,
    ...answered(outcome, structure, event),
    problems,
    attemptsLeft: attemptsLeft(context, head),
    status: head.status,
    exhausted: exhausted(head, context.options.limits) !== undefined,
    requiredFormat: requiredFormat(gate),
    ...(example === undefined ? {} : { example }),
    ...(awaiting === undefined ? {} : { awaiting }),
  };
}

type GateEvent = EventOf<"gate_passed" | "gate_failed" | "approval_requested">;

function isGateEvent(event: SessionEvent): event is GateEvent {
  return event.type === "gate_passed" || event.type === "gate_failed" || event.type === "approval_requested";
}

function answered(
  { sessionId, version, replayed }: PhasedOutcome,
  structure: WorkflowStructure,
  { phase, attempt, verification }: GateEvent,
): GateAnswer {
  const { gate } = requirePhase(structure, phase);
  const verified = verification === undefined ? {} : { verification };
  return { sessionId, phase, attempt, version, replayed, ...verified, reveal: revealOf(gate) };
}

function attemptsLeft({ options }: EngineContext, head: SessionHead): number {
  const { maxAttempts, maxAttemptsTotal } = options.limits;
  if (head.status !== "active") return 0;
  return Math.max(0, Math.min(maxAttempts - head.attempts, maxAttemptsTotal - spentAt(head, head.position)));
}

/** Of long evidence the log has not all names, so those that were submitted are told where they are known. */
function namesOf(evidence: EvidenceRef, submitted: readonly string[] | undefined): readonly string[] {
  return "inline" in evidence ? Object.keys(evidence.inline) : (submitted ?? evidence.names);
}
