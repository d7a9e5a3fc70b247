/** The handlers of the actions that show where a session is: its state, in short and as a whole. */
import { revealOf } from "../../gate/check-gate.js";
import { submissionsOf } from "../../phased/engine.js";
import type { SessionHead } from "../../phased/state/head.js";
import type { LastNote, PhaseTask } from "../../phased/state/task-notes.js";
import type { Verifying } from "../../phased/submissions.js";
import type { StateView } from "../../phased/views.js";
import { action } from "../dispatch.js";
import { brief, fits, type WireObject } from "../wire.js";
import { ACTIONS, type ParametersOf, type ToolContext } from "./actions.js";
import { approvalNotice, denialNotice, unapprovedNotice, waivedNotice, waiverNotice } from "./approval-notices.js";
import {
  CALL,
  callInPhase,
  isOpen,
  type NextCall,
  nextCall,
  nextNotice,
  nextTask,
  unrecordedNotice,
  workIn,
} from "./next-call.js";
import { planNotice, planNoticeInShort } from "./plan.js";
import { childrenNotice, historyEntry, orphanNotice, REASON_MAX } from "./shapes.js";

/** What runs the actions of this file. */
export const STATES = {
  get_state: action(ACTIONS.get_state, getState),
  get_session: action(ACTIONS.get_session, getSession),
};

async function getState(context: ToolContext, params: ParametersOf<"get_state">): Promise<WireObject> {
  const session = context.engine.session(params.session_id);
  const { phase } = params;
  if (phase !== undefined) {
    const [state, found] = await Promise.all([session.state(), session.artifact(phase)]);
    return {
      ...sessionFields(state),
      phase,
      skipped: state.skippedPhases.includes(phase) || undefined,
      completed_at: found?.at ?? null,
      artifact: found?.artifact ?? null,
      ...waivedNotice(found?.waived),
      next: await callFrom(context, state),
    };
  }
  if (params.brief === true) {
    const state = await session.state();
    return briefState(context, state, await callFrom(context, state));
  }
  const state = await session.fullState();
  const { head, artifacts } = state;
  const byPhase = <T>(entries: readonly (readonly [phase: number, value: T])[]) =>
    Object.fromEntries(entries.flatMap(([phase, value]) => (value === undefined ? [] : [[`phase_${phase}`, value]])));
  return {
    ...sessionFields(state),
    total_phases: head.total,
    completed_phases: state.completedPhases,
    skipped_phases: unlessEmpty(state.skippedPhases),
    phases_with_waivers: unlessEmpty(state.waivedPhases),
    skip_reasons: unlessEmpty(byPhase(state.skips.map(({ phase, reason }) => [phase, brief(reason, REASON_MAX)]))),
    artifacts: byPhase(artifacts.map(({ phase, artifact }) => [phase, artifact])),
    outputs: unlessEmpty(byPhase(artifacts.map(({ phase, outputs }) => [phase, outputs]))),
    commands_executed: unlessEmpty(byPhase(artifacts.map(({ phase, commandsExecuted }) => [phase, commandsExecuted]))),
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    attempts: head.attempts,
    ...verifyingNow(context, state),
    ...tasksNotice(state.tasks),
    ...childrenNotice(state.children),
    parent: head.parent?.sessionId,
    ...orphanNotice(state),
    last_note: state.note && lastNote(state.note),
    ...approvalNotice(state.awaiting),
    ...denialNotice(state.denied),
    ...waiverNotice(state),
    ...unapprovedNotice(state.unapproved),
    ...planNotice(context, state.sessionId, state.plan),
    ...unrecordedNotice(state),
    ...pauseNote(head),
    resume_capable: state.unapproved === undefined && (head.status === "active" || head.status === "paused"),
    ...nextNotice(state, await callFrom(context, state)),
  };
}

/** Returns a list or an object that has something in it. */
function unlessEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

async function getSession(context: ToolContext, { session_id }: ParametersOf<"get_session">) {
  const one = context.engine.session(session_id);
  const [state, history, options] = await Promise.all([one.state(), one.history(), one.options()]);
  const { head } = state;
  const session = {
    ...approvalNotice(state.awaiting),
    ...waiverNotice(state, { isShort: true }),
    ...unapprovedNotice(state.unapproved),
    session_id,
    workflow_type: head.workflowType,
    target_file: head.target,
    current_phase: head.phase,
    total_phases: head.total,
    completed_phases: state.completedPhases,
    status: head.status,
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    completed_at: head.status === "completed" ? head.completedAt : undefined,
    paused_at: head.status === "paused" ? head.pausedAt : undefined,
    checkpoint_note: head.status === "paused" ? head.note : undefined,
    phase_history: history.map(historyEntry),
    options,
  };
  return { session, ...nextNotice(state, await callFrom(context, state)) };
}

/** The length of a task's note in a brief state, in characters. */
const LAST_NOTE_MAX = 500;
/** The length that the note of a pause is cut to where the whole one does not fit, in characters. */
const NOTE_LEAST = 200;
/** The budget for the name of the action and the outcome. */
const ENVELOPE = 50;

/** Returns what an agent needs after its context was compacted: where it is, what is done, and what is next. */
function briefState(
  context: ToolContext,
  state: StateView,
  next: NextCall | null,
  noteMax = Number.POSITIVE_INFINITY,
): WireObject {
  const { head, structure } = state;
  const phase = structure.phases[head.position];
  const answer = {
    ...sessionFields(state),
    target_file: brief(head.target, 200),
    title: phase && brief(phase.name, 80),
    phases: `${state.completedPhases.length} of ${head.total} complete`,
    completed_phases: brief(rangesText(state.completedPhases), 200),
    skipped_phases: state.skippedPhases.length === 0 ? undefined : brief(rangesText(state.skippedPhases), 200),
    attempts: head.attempts || undefined,
    ...verifyingNow(context, state),
    ...tasksNotice(state.tasks),
    ...childrenNotice(state.children),
    parent: head.parent?.sessionId,
    ...orphanNotice(state),
    last_note: state.note && lastNote(state.note, LAST_NOTE_MAX),
    ...approvalNotice(state.awaiting),
    ...denialNotice(state.denied),
    ...waiverNotice(state, { isBrief: true }),
    ...unapprovedNotice(state.unapproved),
    ...planNoticeInShort(context, state.sessionId, state.plan),
    ...unrecordedNotice(state),
    ...pauseNote(head, noteMax),
    ...nextNotice(state, next),
  };
  const isEnough = noteMax === NOTE_LEAST || fits(answer, context.maxChars - ENVELOPE);
  return isEnough ? answer : briefState(context, state, next, NOTE_LEAST);
}

/** Returns what is being verified in this process; nothing if nothing is. */
function verifyingNow({ engine }: ToolContext, state: StateView): WireObject {
  const running = submissionsOf(engine).of(state.sessionId, state.head.phase);
  return running === undefined ? {} : verifyingNotice(state, running);
}

/** Says which checks run, and since when. A gate that hides its requirements names no checks. */
export function verifyingNotice({ structure }: StateView, verifying: Verifying): WireObject {
  const { phase, since, running, done, total } = verifying;
  const gate = structure.phases.find(({ number }) => number === phase)?.gate;
  const isShown = gate !== undefined && revealOf(gate) === "fields";
  const shown = isShown ? { running: running.slice(0, RUNNING_MAX) } : {};
  return { verifying: { phase, since, ...shown, checks: `${done} of ${total} have ended` } };
}

/** Limits the checks that are named. */
const RUNNING_MAX = 10;

/** Returns the note of a pause. */
function pauseNote(head: SessionHead, most = Number.POSITIVE_INFINITY): WireObject {
  if (head.status !== "paused" || head.note === undefined) return {};
  return { note: brief(head.note, most), note_written: noteAge(head) };
}

function lastNote({ beforeDecision, ...last }: LastNote, most = Number.POSITIVE_INFINITY): WireObject {
  const whole = last.note.length > most ? "get_state without brief" : undefined;
  return { ...last, note: brief(last.note, most), whole_note: whole, written: noteAge({ beforeDecision }) };
}

/** Says of a note that it does not know what a person has decided since; undefined if nothing was. */
export function noteAge({ beforeDecision }: Pick<LastNote, "beforeDecision">): string | undefined {
  return beforeDecision && "before a person decided on the waiver";
}

/**
 * Returns which tasks of the phase are done, which are not and need not be, and which one is next; nothing for a phase
 * without tasks.
 */
export function tasksNotice(tasks: readonly PhaseTask[]): WireObject {
  if (tasks.length === 0) return {};
  const numbers = (chosen: readonly PhaseTask[]) => brief(rangesText(chosen.map(({ number }) => number)), 200);
  const closed = (how: PhaseTask["closed"]) => {
    const chosen = tasks.filter((task) => task.closed === how);
    return chosen.length === 0 ? undefined : numbers(chosen);
  };
  return {
    tasks_done: numbers(tasks.filter(({ done }) => done)),
    tasks_given_up: closed("given_up"),
    tasks_skipped: closed("skipped"),
    tasks_waived: closed("waived"),
    tasks_dropped: closed("dropped"),
    tasks_left: tasks.filter(isOpen).length,
    next_task: nextTask(tasks)?.number ?? null,
  };
}

function sessionFields({ sessionId, head }: StateView): WireObject {
  return {
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    session_status: head.status,
    current_phase: head.phase,
  };
}

/**
 * Returns the next call from a session's state. It shows the phase; but where a person has decided on a waiver, the agent has
 * read the phase, and the call is what is left to do there.
 */
export async function callFrom(context: ToolContext, state: StateView): Promise<NextCall | null> {
  const { sessionId, waived, waiverDenied, waitsForWaiver, tasks } = state;
  const running = submissionsOf(context.engine).of(sessionId, state.head.phase);
  if (running !== undefined) return nextCall(state, () => CALL.wait(sessionId, running));
  // Nothing but the decision is left to do: a session that goes on would only be asked about again.
  if (waitsForWaiver && tasks.length > 0 && !tasks.some(isOpen)) return null;
  const isDecided = !waitsForWaiver && (waived !== undefined || waiverDenied !== undefined);
  // A phase that can't be read now is no fault of the state.
  const view = isDecided
    ? await context.engine
        .session(sessionId)
        .phase()
        .catch(() => undefined)
    : undefined;
  return nextCall(view ?? state, () =>
    view === undefined ? CALL.phase(sessionId) : callInPhase(view, workIn(context, view)),
  );
}

/** Returns ascending numbers in few characters: `0-4, 7`; `none` for none. */
function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ") || "none";
}
