/**
 * The lifecycle of a phased session as a pure function: from the current head and a command to events, or
 * to a refusal. The new head is always the fold of the events over the old one. decide-gate.ts decides
 * gates, approvals and waivers, migration.ts migrations; commands.ts has the refusals, head.ts the fold.
 */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import {
  type CommandOf,
  exhausted,
  invalidTransition,
  lengthRefusal,
  notCurrent,
  type OperatorNote,
  rollbackTargets,
  type SessionCommand,
  type TransitionContext,
  taskRefusal,
  tooManyActive,
} from "./commands.js";
import {
  completePhase,
  type Decided,
  decideApproval,
  decideWaiver,
  goTo,
  isTicked,
  passWithoutEvidence,
  requestWaiver,
  unlessEmpty,
} from "./decide-gate.js";
import { type EventOf, type SessionEvent, sessionEventSchema } from "./events.js";
import { applyEvent, type SessionHead, spentAt } from "./head.js";
import { secondsBetween } from "./history.js";
import { migrate, numbersRefusal } from "./migration.js";
import { inRanges } from "./ranges.js";
import { keptTasks } from "./task-notes.js";

/** The outcome of a command: events and the new head, or the reason for a refusal. */
type Transition =
  | { readonly ok: true; readonly events: readonly SessionEvent[]; readonly head: SessionHead }
  | { readonly ok: false; readonly error: AnyPhasegateError };

/** A command with what its transition needs. */
export interface PhasedCommand extends Omit<TransitionContext, "at" | "version"> {
  readonly command: SessionCommand;
}

/** Decides a command. */
export function transition(
  head: SessionHead | undefined,
  { command, ...given }: PhasedCommand,
  place: Pick<TransitionContext, "at" | "version">,
): Transition {
  const context = { ...given, ...place };
  const decided = decide(head, command, context);
  if (decided instanceof Error) return { ok: false, error: decided };
  // Submissions and starts were checked when they arrived.
  const isChecked = command.type === "completePhase" || command.type === "start";
  const fault = isChecked ? undefined : faultIn(command, decided);
  if (fault !== undefined) return { ok: false, error: fault };
  const [first, ...others] = decided;
  let next = applyEvent(head, first, context);
  for (const event of others) next = applyEvent(next, event, context);
  const becomesActive = head !== undefined && head.status !== "active" && next.status === "active";
  if (context.full !== undefined && becomesActive) return { ok: false, error: tooManyActive(context.full) };
  return { ok: true, events: decided, head: next };
}

/**
 * Returns the error for a command whose events could be written, but not read again: hosts in plain JavaScript may pass
 * anything.
 */
function faultIn({ type }: SessionCommand, events: readonly SessionEvent[]): AnyPhasegateError | undefined {
  const issue = events.flatMap((event) => sessionEventSchema.safeParse(event).error?.issues ?? [])[0];
  if (issue === undefined) return undefined;
  const field = issue.path.join(".");
  return new PhasegateError("INVALID_INPUT", `${type}: '${field}' is of the wrong type`, {
    remedy: `Give '${field}' as the types of the library say: texts as strings.`,
    details: { field },
  });
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
    case "requestWaiver":
      return requestWaiver(head, command, context);
    case "waive":
    case "denyWaiver":
      return decideWaiver(head, command);
    case "startChild":
      if (head.status !== "active") return invalidTransition(head, context.structure, "startChild");
      return [{ ...command, type: "child_claimed", phase: head.phase }];
    case "completeTask":
      return completeTask(head, command, context);
    case "refuseStep":
      return [{ type: "step_refused", ...command.refused }];
    case "pause":
      if (head.status !== "active") return invalidTransition(head, context.structure, "pause", context);
      return lengthRefusal(saidIn(command)) ?? [{ type: "paused", ...saidIn(command) }];
    case "resume": {
      if (head.status !== "paused") return invalidTransition(head, context.structure, "resume", context);
      const pausedSeconds = secondsBetween(head.pausedAt, context.at);
      return lengthRefusal(saidIn(command)) ?? [{ type: "resumed", pausedSeconds, ...saidIn(command) }];
    }
    case "retryPhase":
      return retryPhase(head, command, context);
    case "rollback":
      return rollback(head, command, context);
    case "overrideGate":
      return passWithoutEvidence(head, command, context, ({ gate }) => gate.allowOverride === true, "gate_overridden");
    case "skipPhase":
      return passWithoutEvidence(head, command, context, (phase) => phase.skippable === true, "phase_skipped");
    case "migrate":
      return migrate(head, command, context);
    case "syncPlan":
      return planSync(head, command, context);
    case "planTicked":
      return [{ type: "plan_ticked", ...command.ticked }];
    case "takeSnapshots":
      return [{ type: "snapshots_taken", phase: head.phase, snapshots: context.snapshots ?? [] }];
    case "assign":
      return lengthRefusal({ by: command.by, note: command.note }) ?? [{ ...command, type: "assigned" }];
    case "delete": {
      const { reason, operator } = command;
      return lengthRefusal({ note: reason, operator }) ?? [{ type: "deleted", reason, operator }];
    }
  }
}

function start(command: CommandOf<"start">, context: TransitionContext): Decided {
  const { structure } = context;
  const position = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const { target, options, owner, parent } = command;
  return [{ type: "started", target, options, structure, owner, parent }, ...goTo(position, context)];
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

/** Notes tasks of the current phase as done, given up or left out. It counts as no attempt, and the gate does not ask for it. */
function completeTask(
  head: SessionHead,
  { phase, task, note, outcome, skipped = [] }: CommandOf<"completeTask">,
  { structure }: TransitionContext,
): Decided {
  const refusal = taskRefusal(head, phase, { task, skipped }, structure);
  if (refusal !== undefined) return refusal;
  const tooLong = lengthRefusal({ note });
  if (tooLong !== undefined) return tooLong;
  if (task !== undefined && outcome === "given_up" && (note === undefined || note.trim() === "")) {
    return new PhasegateError("INVALID_INPUT", "a task is given up without a reason", {
      remedy: "Say in the note why it can't be done.",
      details: { field: "note", expected: "why it can't be done" },
    });
  }
  const type = outcome === "given_up" ? "task_given_up" : "task_completed";
  const [first, ...more]: EventOf<"task_completed" | "task_given_up">[] = [
    ...[...new Set(skipped)].map((number) => ({ type: "task_given_up" as const, phase, task: number })),
    ...(task === undefined ? [] : [{ type, phase, task, note } as const]),
  ];
  if (first !== undefined) return [first, ...more];
  return new PhasegateError("INVALID_INPUT", "no task is named", {
    remedy: "Give the number of the task that is done or given up, or of the optional ones that are left out.",
    details: { field: "task" },
  });
}

/** Returns who asks for a command on behalf of the host, and why. */
function saidIn({ operator, note }: OperatorNote): OperatorNote {
  return { operator, note };
}

/** Resets the attempts in a row, with or without the last evidence. */
function retryPhase(head: SessionHead, command: CommandOf<"retryPhase">, context: TransitionContext): Decided {
  const { structure, limits } = context;
  if (head.status !== "failed" && head.status !== "active") return invalidTransition(head, structure, "retryPhase");
  if (command.phase !== head.phase) return notCurrent(head, command.phase, structure);
  const { phase, resetEvidence, by } = command;
  const refusal = exhausted(head, limits);
  if (refusal !== undefined && by === "agent") return refusal;
  // After a rollback, nothing has failed yet, but the host may still reset the failures before: its limit may be another
  // one than that of the agent's server. Where snapshots were missing, the retry takes them, and no attempt must fail for it.
  const isSpent = head.attempts > 0 || (by !== "agent" && spentAt(head, head.position) > 0);
  const isNeeded = isSpent || context.snapshots !== undefined;
  if (!isNeeded) {
    return invalidTransition(head, structure, "retryPhase", { why: `no attempt at phase ${phase} has failed` });
  }
  const said = saidIn(command);
  return lengthRefusal(said) ?? [{ type: "retried", phase, resetEvidence, by, snapshots: context.snapshots, ...said }];
}

/** Returns to an earlier phase; it and all later ones are no longer completed. */
function rollback(head: SessionHead, command: CommandOf<"rollback">, context: TransitionContext): Decided {
  const { structure } = context;
  const isOpen = head.status === "failed" || head.status === "active" || command.reopens === true;
  if (!isOpen) return invalidTransition(head, structure, "rollback");
  const targets = rollbackTargets(head, structure);
  if (!targets.includes(command.to)) return rollbackRange(command.to, head.phase, targets);
  const position = structure.phases.findIndex(({ number }) => number === command.to);
  const cleared = structure.phases.filter((_, place) => place >= position && inRanges(head.completed, place));
  const numbers = cleared.map(({ number }) => number);
  const from = structure.phases.findIndex((_, place) => place >= position && isTicked(place, context));
  const { to, by } = command;
  const unticksFrom = from < 0 ? undefined : from;
  return [
    { type: "rolled_back", from: head.phase, to, position, cleared: numbers, by, unticksFrom },
    ...goTo(position, context),
  ];
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

/** Moves a session to the current version of its plan, by the same rules. */
function planSync(head: SessionHead, command: CommandOf<"syncPlan">, context: TransitionContext): Decided {
  const { structure, by, changes } = command;
  const said = saidIn(command);
  if (head.status === "completed") return invalidTransition(head, context.structure, "syncPlan");
  // A plan's phases were compared when the plan was read again.
  const refusal = numbersRefusal(head, context.structure, structure, "syncPlan") ?? lengthRefusal(said);
  if (refusal !== undefined) return refusal;
  const tried = command.places.filter(([place]) => spentAt(head, place) > 0);
  const places = unlessEmpty(tried.map(([from, to]): [number, number] => [from, to]));
  const kept = keptTasks(head, context.structure, command);
  return [{ type: "plan_synced", structure, position: head.position, by, changes, places, ...kept, ...said }];
}
