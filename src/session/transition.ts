import type { PhaseDefinition } from "../definition/structure.js";
import { type AnyPhasegateError, PhasegateError } from "../errors.js";
import { applyEvent } from "./apply-event.js";
import { approvalOf, decidedEvent, decisionRefusal, denialProblem } from "./approval.js";
import { begunOf, type CommandOf, type SessionCommand, type TransitionContext } from "./commands.js";
import { secondsBetween } from "./duration.js";
import type { EventOf, SessionEvent } from "./events.js";
import { type SessionHead, spentAt } from "./head.js";
import { migration, planSync } from "./migration.js";
import { inRanges } from "./ranges.js";
import { exhausted, invalidTransition, notCurrent, rollbackTargets, submissionRefusal, tooLong } from "./refusals.js";

/** What a transition gives: what happened and where the session stands then, or why nothing did. */
export type Transition =
  | { readonly ok: true; readonly events: readonly SessionEvent[]; readonly head: SessionHead }
  | { readonly ok: false; readonly error: AnyPhasegateError };

/**
 * The lifecycle of a phased session, as a pure function: where it stands, what is asked, and what
 * follows. The next head is always the fold of the events over the one before.
 */
export function transition(
  head: SessionHead | undefined,
  command: SessionCommand,
  context: TransitionContext,
): Transition {
  const decided = decide(head, command, context);
  if (decided instanceof Error) return { ok: false, error: decided };
  const [first, ...others] = decided;
  const begun = applyEvent(head, first, context);
  return { ok: true, events: decided, head: others.reduce((next, event) => applyEvent(next, event, context), begun) };
}

type Events = readonly [SessionEvent, ...SessionEvent[]];
type Decided = Events | AnyPhasegateError;

/** The longest note or reason, in characters: it stands in the head, which stays small. */
const NOTE_MAX = 2000;

function decide(head: SessionHead | undefined, command: SessionCommand, context: TransitionContext): Decided {
  if (command.type === "start") return head === undefined ? start(command, context) : exists(head);
  if (head === undefined || head.status === "deleted") return notFound();
  switch (command.type) {
    case "completePhase":
      return completePhase(head, command, context);
    case "approve":
    case "deny":
      return decideApproval(head, command, context);
    case "pause":
      return pause(head, command, context);
    case "resume":
      if (head.status !== "paused") {
        return invalidTransition(head, context.structure, "resume", { limits: context.limits });
      }
      return [{ type: "resumed", pausedSeconds: secondsBetween(head.pausedAt, context.at) }];
    case "retryPhase":
      return retryPhase(head, command, context);
    case "rollback":
      return rollback(head, command, context);
    case "overrideGate":
      return pass(head, command, context, (phase) => phase.gate.allowOverride, "gate_overridden");
    case "skipPhase":
      return pass(head, command, context, (phase) => phase.skippable, "phase_skipped");
    case "migrate":
      return migration(head, command, context);
    case "syncPlan":
      return planSync(head, command, context);
    case "planTicked":
      return [{ type: "plan_ticked", ...command.ticked }];
    case "delete":
      return remove(command);
  }
}

function start(command: CommandOf<"start">, context: TransitionContext): Decided {
  const { structure } = context;
  const position = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  return [
    { type: "started", target: command.target, options: command.options, structure },
    entered(structure.startPhase, position, context),
  ];
}

function completePhase(head: SessionHead, command: CommandOf<"completePhase">, context: TransitionContext): Decided {
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
function decideApproval(
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

/** Whether the phase at that place comes out of a plan whose source is written. */
function isTicked(position: number, { structure }: TransitionContext): boolean {
  return structure.plan?.ticked === true && structure.phases[position]?.plan !== undefined;
}

/** The event that follows when a phase is left: the next one is entered, or the workflow is done. */
function ahead(position: number, context: TransitionContext): SessionEvent {
  const next = context.structure.phases[position + 1];
  return next === undefined ? { type: "completed" } : entered(next.number, position + 1, context);
}

function entered(phase: number, position: number, context: TransitionContext): EventOf<"phase_entered"> {
  return { type: "phase_entered", phase, position, ...begunOf(context) };
}

function pause(head: SessionHead, { note }: CommandOf<"pause">, { structure, limits }: TransitionContext): Decided {
  if (head.status !== "active") return invalidTransition(head, structure, "pause", { limits });
  if (note === undefined) return [{ type: "paused" }];
  return note.length > NOTE_MAX ? tooLong("note", NOTE_MAX) : [{ type: "paused", note }];
}

function remove({ reason }: CommandOf<"delete">): Decided {
  if (reason === undefined) return [{ type: "deleted" }];
  return reason.length > NOTE_MAX ? tooLong("reason", NOTE_MAX) : [{ type: "deleted", reason }];
}

function retryPhase(head: SessionHead, command: CommandOf<"retryPhase">, context: TransitionContext): Decided {
  const { structure, limits } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, "retryPhase");
  if (command.phase !== head.phase) return notCurrent(head, command.phase, structure);
  const { phase, resetEvidence, by } = command;
  const refusal = exhausted(head, limits);
  if (refusal !== undefined && by === "agent") return refusal;
  // Whoever comes back to a phase whose attempts are used up has failed nothing since, and needs the host all the same.
  if (refusal === undefined && head.status === "active" && head.attempts === 0) {
    return invalidTransition(head, structure, "retryPhase", { why: `no attempt at phase ${phase} has failed` });
  }
  return [{ type: "retried", phase, resetEvidence, by, ...begunOf(context) }];
}

function rollback(head: SessionHead, command: CommandOf<"rollback">, context: TransitionContext): Decided {
  const { structure } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, "rollback");
  const targets = rollbackTargets(head, structure);
  if (!targets.includes(command.to)) return rollbackRange(command.to, head.phase, targets);
  const position = structure.phases.findIndex(({ number }) => number === command.to);
  const cleared = structure.phases.filter((_, place) => place >= position && inRanges(head.completed, place));
  const numbers = cleared.map(({ number }) => number);
  const from = structure.phases.findIndex((_, place) => place >= position && isTicked(place, context));
  const unticks = from < 0 ? {} : { unticksFrom: from };
  return [
    { type: "rolled_back", from: head.phase, to: command.to, position, cleared: numbers, by: command.by, ...unticks },
    entered(command.to, position, context),
  ];
}

/** The host lets a session pass without evidence, where the definition allows it. */
function pass(
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

function rollbackRange(to: number, current: number, targets: number[]): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  const range =
    targets.length === 0 ? "there is no phase before it" : `possible: ${targets[0]} to ${targets[targets.length - 1]}`;
  return new PhasegateError("PHASE_OUT_OF_RANGE", `can't roll back from phase ${current} to ${to}: ${range}`, {
    remedy:
      targets.length === 0
        ? `Retry phase ${current} instead.`
        : `Roll back to an earlier phase: ${targets.join(", ")}.`,
    details: { requested: to, valid: targets },
  });
}

function exists(head: SessionHead): AnyPhasegateError {
  return new PhasegateError("INVALID_INPUT", `this session exists already, on ${head.workflowType}`, {
    remedy: "Start another session without this id.",
    details: { field: "session_id" },
  });
}

function notFound(): AnyPhasegateError {
  return new PhasegateError("INVALID_INPUT", "a session that does not exist can only be started", {
    remedy: "Start a session first.",
    details: { field: "session_id" },
  });
}
