/**
 * The lifecycle of a phased session as a pure function: from the current head and a command to events, or
 * to a refusal. The new head is always the fold of the events over the old one. decide-gate.ts decides
 * gates, approvals and waivers; commands.ts has the refusals, head.ts the fold.
 */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { canonicalJson } from "../../workflow/json.js";
import type { GateDefinition, PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
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
      return migration(head, command, context);
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
  const { target, options, owner } = command;
  return [{ type: "started", target, options, structure, owner }, ...goTo(position, context)];
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

/**
 * Moves a session to another structure of the same workflow. All phases up to the current one must be the same there: what
 * was completed stays completed, and nothing that the new one asks for is skipped. A completed session can't be moved.
 */
function migration(head: SessionHead, command: CommandOf<"migrate">, context: TransitionContext): Decided {
  const { structure, by } = command;
  const { position } = head;
  const { snapshots } = context;
  const refusal = moveRefusal(head, structure, context, "migrate");
  const tasks = keptTasks(head, context.structure, command);
  return refusal ?? [{ type: "migrated", structure, position, by, snapshots, ...tasks }];
}

function moveRefusal(
  head: SessionHead,
  structure: WorkflowStructure,
  context: TransitionContext,
  operation: "migrate" | "syncPlan",
): AnyPhasegateError | undefined {
  if (head.status === "completed") return invalidTransition(head, context.structure, operation);
  const { type, revision } = structure;
  const refused = (message: string) =>
    new PhasegateError("NOT_ALLOWED", `revision ${revision} of ${type} ${message}`, {
      remedy: "Finish or delete this session, and start a new one on the new definition.",
      details: { phase: head.phase, operation },
    });
  const count = head.position + 1;
  const done = context.structure.phases.slice(0, count).map(({ number }) => number);
  const kept = structure.phases.slice(0, count).map(({ number }) => number);
  if (type !== head.workflowType || done.join() !== kept.join()) {
    return refused(`does not have the phases ${done.join(", ")} at its beginning`);
  }
  // A plan's phases are compared when the plan is read again.
  if (operation === "syncPlan") return undefined;
  const difference = phaseDifference(context.structure.phases, structure.phases, count);
  return difference === undefined ? undefined : refused(`is not the same up to phase ${head.phase}: ${difference}`);
}

/** Moves a session to the current version of its plan, by the same rules. */
function planSync(head: SessionHead, command: CommandOf<"syncPlan">, context: TransitionContext): Decided {
  const { structure, by, changes } = command;
  const said = saidIn(command);
  const refusal = moveRefusal(head, structure, context, "syncPlan") ?? lengthRefusal(said);
  if (refusal !== undefined) return refusal;
  const tried = command.places.filter(([place]) => spentAt(head, place) > 0);
  const places = unlessEmpty(tried.map(([from, to]): [number, number] => [from, to]));
  const kept = keptTasks(head, context.structure, command);
  return [{ type: "plan_synced", structure, position: head.position, by, changes, places, ...kept, ...said }];
}

/**
 * Returns in what the first phases of two definitions differ, by number, name, tasks and gate; undefined if in nothing: a
 * session may move only to a definition in which all that it has been through is the same, or work of the newer one would
 * count as done without it. Phases from a plan are compared when the plan is read again.
 */
export function phaseDifference(
  before: readonly PhaseDefinition[],
  after: readonly PhaseDefinition[],
  count: number,
): string | undefined {
  for (const [position, phase] of before.slice(0, count).entries()) {
    const other = after[position];
    if (other?.number !== phase.number) return `it has no phase ${phase.number} in this place`;
    if (phase.plan !== undefined && other.plan !== undefined) continue;
    const parts = Object.entries(PARTS).filter(([, part]) => canonicalJson(part(phase)) !== canonicalJson(part(other)));
    if (parts.length > 0) return `phase ${phase.number} has ${parts.map(([name]) => name).join(" and ")} there`;
  }
  return undefined;
}

/** What is compared of a phase, with the words for a difference. */
const PARTS: Readonly<Record<string, (phase: PhaseDefinition) => unknown>> = {
  "another name": ({ name }) => name,
  "other tasks": ({ tasks }) => tasks.map(({ number, name }) => [number, name]),
  "another gate": ({ gate }) => required(gate),
};

/** Returns a gate without its examples and the place where it was found, which require nothing. */
function required(gate: GateDefinition): unknown {
  if (gate.kind === "schema") {
    const { example: _, sample: __, ...rest } = gate;
    return rest;
  }
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, ...rest } = gate;
  return { ...rest, fields: fields.map(({ example: _, sample: __, ...field }) => field) };
}
