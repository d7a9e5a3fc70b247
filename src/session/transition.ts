import { type AnyPhasegateError, PhasegateError } from "../errors.js";
import { applyEvent } from "./apply-event.js";
import type { CommandOf, SessionCommand, TransitionContext } from "./commands.js";
import { completePhase, decideApproval, passWithoutEvidence } from "./decide-gate.js";
import { retryPhase, rollback } from "./decide-return.js";
import { secondsBetween } from "./duration.js";
import type { SessionEvent } from "./events.js";
import type { SessionHead } from "./head.js";
import { migration, planSync } from "./migration.js";
import { type Decided, entered, NOTE_MAX } from "./outcomes.js";
import { invalidTransition, tooLong } from "./refusals.js";

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
      return passWithoutEvidence(head, command, context, (phase) => phase.gate.allowOverride, "gate_overridden");
    case "skipPhase":
      return passWithoutEvidence(head, command, context, (phase) => phase.skippable, "phase_skipped");
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

function pause(head: SessionHead, { note }: CommandOf<"pause">, { structure, limits }: TransitionContext): Decided {
  if (head.status !== "active") return invalidTransition(head, structure, "pause", { limits });
  if (note === undefined) return [{ type: "paused" }];
  return note.length > NOTE_MAX ? tooLong("note", NOTE_MAX) : [{ type: "paused", note }];
}

function remove({ reason }: CommandOf<"delete">): Decided {
  if (reason === undefined) return [{ type: "deleted" }];
  return reason.length > NOTE_MAX ? tooLong("reason", NOTE_MAX) : [{ type: "deleted", reason }];
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
