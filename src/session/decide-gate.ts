/** What follows from a submission, from a person's word on it, and from a host that needs neither. */
import type { PhaseDefinition } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { approvalOf, decidedEvent, decisionRefusal, denialProblem } from "./approval.js";
import type { CommandOf, TransitionContext } from "./commands.js";
import type { EventOf, SessionEvent } from "./events.js";
import { type SessionHead, spentAt } from "./head.js";
import { ahead, type Decided, type Events, isTicked, NOTE_MAX } from "./outcomes.js";
import { invalidTransition, notCurrent, submissionRefusal, tooLong } from "./refusals.js";

/** Evidence with its verdict: the gate is passed, a person is asked, or the attempt has failed. */
export function completePhase(
  head: SessionHead,
  command: CommandOf<"completePhase">,
  context: TransitionContext,
): Decided {
  const refusal = submissionRefusal(head, command.phase, context.structure, context.limits);
  if (refusal !== undefined) return refusal;
  const { phase, evidence, verdict, output, verification, stood = [] } = command;
  const attempt = head.attempts + 1;
  const verified = verification === undefined ? {} : { verification: [...verification] };
  if (!verdict.passed) {
    return gateFailed(head, { phase, attempt, evidence, problems: [...verdict.problems], ...verified }, context);
  }
  const { position } = head;
  const extras = {
    ...verified,
    ...(output === undefined ? {} : { output }),
    ...(verdict.warnings.length === 0 ? {} : { warnings: [...verdict.warnings] }),
  };
  const accepted = { phase, position, attempt, evidence, ...extras };
  const approval = approvalOf(context.structure.phases[position]?.gate);
  if (approval === undefined) return gatePassed(accepted, context, stood);
  const { evidenceHash } = command;
  if (evidenceHash === undefined) throw new Error("an approval must be bound to the hash of its evidence");
  return [{ type: "approval_requested", ...accepted, ...approval, evidenceHash }];
}

function gatePassed(
  accepted: Omit<EventOf<"gate_passed">, "type" | "ticks" | "stood">,
  context: TransitionContext,
  stood: readonly string[] = [],
): Events {
  const ticks = isTicked(accepted.position, context) ? ({ ticks: true } as const) : {};
  const marks = { ...ticks, ...(stood.length === 0 ? {} : { stood: [...stood] }) };
  return [{ type: "gate_passed", ...accepted, ...marks }, ahead(accepted.position, context)];
}

/**
 * A yes passes the gate with the evidence that was seen. A no is a failed attempt with the person's words
 * as its problem: it was the submission that did not do, so it counts like any other refusal.
 */
export function decideApproval(
  head: SessionHead,
  command: CommandOf<"approve"> | CommandOf<"deny">,
  context: TransitionContext,
): Decided {
  const refusal = decisionRefusal(head, context.structure, command.type, command.evidenceHash);
  if (refusal !== undefined) return refusal;
  const { note = "" } = command;
  if (note.length > NOTE_MAX) return tooLong("note", NOTE_MAX);
  const { type: _, evidenceHash: __, prompt: ___, approvers: ____, ...accepted } = command.asked.event;
  const word = decidedEvent(command);
  if (command.type === "approve") return [word, ...gatePassed(accepted, context)];
  const { phase, attempt, evidence, verification } = accepted;
  const verified = verification === undefined ? {} : { verification };
  const failure = { phase, attempt, evidence, problems: [denialProblem(command)], ...verified };
  return [word, ...gateFailed(head, failure, context)];
}

function gateFailed(
  head: SessionHead,
  event: Omit<EventOf<"gate_failed">, "type">,
  { limits }: TransitionContext,
): Events {
  const spent = spentAt(head, head.position) + 1;
  const last = event.attempt >= limits.maxAttempts || spent >= limits.maxAttemptsTotal;
  const failed: SessionEvent[] = last ? [{ type: "failed", phase: event.phase, attempts: event.attempt }] : [];
  return [{ type: "gate_failed", ...event }, ...failed];
}

/** The host lets a session pass without evidence, where the definition allows it. */
export function passWithoutEvidence(
  head: SessionHead,
  command: CommandOf<"overrideGate"> | CommandOf<"skipPhase">,
  context: TransitionContext,
  allows: (phase: PhaseDefinition) => boolean,
  type: "gate_overridden" | "phase_skipped",
): Decided {
  const { structure } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, command.type);
  const phase = structure.phases[head.position];
  if (phase === undefined || command.phase !== head.phase) return notCurrent(head, command.phase, structure);
  if (!allows(phase)) return notAllowed(command);
  const { by, reason } = command;
  return [{ type, phase: phase.number, position: head.position, by, reason }, ahead(head.position, context)];
}

function notAllowed(command: CommandOf<"overrideGate"> | CommandOf<"skipPhase">): PhasegateError<"NOT_ALLOWED"> {
  const key = command.type === "overrideGate" ? "allow_override: true in its gate" : "skippable: true";
  return new PhasegateError("NOT_ALLOWED", `the definition does not allow ${command.type} in phase ${command.phase}`, {
    remedy: `Complete the phase with evidence; a definition allows it by ${key}.`,
    details: { phase: command.phase, operation: command.type },
  });
}
