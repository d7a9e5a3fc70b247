/** The handlers of the actions that show where a session is: its state, in short and as a whole. */
import type { SessionHead } from "../../phased/state/head.js";
import type { LastNote, PhaseTask } from "../../phased/state/task-notes.js";
import type { FullStateView, StateView } from "../../phased/views.js";
import { brief, compact, fits, type WireObject } from "../wire.js";
import type { ParametersOf, ToolContext } from "./actions.js";
import { approvalNotice, denialNotice, unapprovedNotice, waivedNotice, waiverNotice } from "./approval-notices.js";
import { blockedBy, isOpen, nextCall, nextTask, phaseCall, unrecordedNotice } from "./next-call.js";
import { planNotice, planNoticeInShort } from "./plan.js";
import { historyEntry } from "./shapes.js";

export async function getState(context: ToolContext, params: ParametersOf<"get_state">): Promise<WireObject> {
  if (params.phase !== undefined) return artifactOf(context, params.session_id, params.phase);
  if (params.brief === true) return briefState(context, await context.engine.session(params.session_id).state());
  const state = await context.engine.session(params.session_id).fullState();
  const { head } = state;
  return compact({
    status: "success",
    action: "get_state",
    ...sessionFields(state),
    total_phases: head.total,
    completed_phases: state.completedPhases,
    skipped_phases: state.skippedPhases.length === 0 ? undefined : state.skippedPhases,
    phases_with_waivers: state.waivedPhases.length === 0 ? undefined : state.waivedPhases,
    skip_reasons: reasonsOf(state.skips),
    artifacts: Object.fromEntries(state.artifacts.map(({ phase, artifact }) => [`phase_${phase}`, artifact])),
    ...executed(state.artifacts),
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    attempts: head.attempts,
    ...tasksNotice(state.tasks),
    last_note: state.note && lastNote(state.note),
    ...approvalNotice(state.awaiting),
    ...denialNotice(state.denied),
    ...waiverNotice(state),
    ...unapprovedNotice(state.unapproved),
    ...planNotice(context, state.sessionId, state.plan),
    ...unrecordedNotice(state),
    ...pauseNote(head),
    resume_capable: state.unapproved === undefined && (head.status === "active" || head.status === "paused"),
    ...nextNotice(state),
  });
}

/** Returns what one phase has handed on: the evidence that its gate accepted. */
async function artifactOf({ engine }: ToolContext, id: string, phase: number): Promise<WireObject> {
  const [state, artifact] = await Promise.all([engine.session(id).state(), engine.session(id).artifact(phase)]);
  return {
    status: "success",
    action: "get_state",
    ...sessionFields(state),
    phase,
    ...(state.skippedPhases.includes(phase) ? { skipped: true } : {}),
    completed_at: artifact?.at ?? null,
    artifact: artifact?.artifact ?? null,
    ...waivedNotice(artifact?.waived),
    next: next(state),
  };
}

export async function getSession(context: ToolContext, params: ParametersOf<"get_session">): Promise<WireObject> {
  const { engine } = context;
  const { session_id: id } = params;
  const [state, history, options] = await Promise.all([
    engine.session(id).state(),
    engine.session(id).history(),
    engine.session(id).options(),
  ]);
  const { head } = state;
  const session = compact({
    ...approvalNotice(state.awaiting),
    ...waiverNotice(state, { isShort: true }),
    ...unapprovedNotice(state.unapproved),
    session_id: state.sessionId,
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
  });
  return compact({
    status: "success",
    action: "get_session",
    session,
    ...nextNotice(state),
  });
}

/** Returns what an agent needs after its context was compacted: where it is, what is done, and what is next. */
function briefState(context: ToolContext, state: StateView): WireObject {
  const whole = briefStateWith(context, state, Number.POSITIVE_INFINITY);
  return fits(whole, context.maxChars) ? whole : briefStateWith(context, state, NOTE_LEAST);
}

/** The length of a task's note in a brief state, in characters. */
const LAST_NOTE_MAX = 500;

/** The length that the note of a pause is cut to where the whole one does not fit, in characters. */
const NOTE_LEAST = 200;

/** Returns the brief state with the note of a pause of at most so many characters. */
function briefStateWith(context: ToolContext, state: StateView, noteMax: number): WireObject {
  const { head, structure } = state;
  const phase = structure.phases[head.position];
  return compact({
    status: "success",
    action: "get_state",
    ...sessionFields(state),
    target_file: brief(head.target, 200),
    title: phase === undefined ? undefined : brief(phase.name, 80),
    phases: `${state.completedPhases.length} of ${head.total} complete`,
    completed_phases: brief(rangesText(state.completedPhases), 200),
    skipped_phases: state.skippedPhases.length === 0 ? undefined : brief(rangesText(state.skippedPhases), 200),
    attempts: head.attempts === 0 ? undefined : head.attempts,
    ...tasksNotice(state.tasks),
    last_note: state.note && lastNote(state.note, LAST_NOTE_MAX),
    ...approvalNotice(state.awaiting),
    ...denialNotice(state.denied),
    ...waiverNotice(state, { isBrief: true }),
    ...unapprovedNotice(state.unapproved),
    ...planNoticeInShort(context, state.sessionId, state.plan),
    ...unrecordedNotice(state),
    ...pauseNote(head, noteMax),
    ...nextNotice(state),
  });
}

/** Returns the note of a pause. */
function pauseNote(head: SessionHead, most = Number.POSITIVE_INFINITY): WireObject {
  if (head.status !== "paused" || head.note === undefined) return {};
  return { note: brief(head.note, most), note_written: noteAge(head) };
}

function lastNote({ beforeDecision, ...last }: LastNote, most = Number.POSITIVE_INFINITY): WireObject {
  const whole = last.note.length > most ? "get_state without brief" : undefined;
  return compact({ ...last, note: brief(last.note, most), whole_note: whole, written: noteAge({ beforeDecision }) });
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
  return compact({
    tasks_done: numbers(tasks.filter(({ done }) => done)),
    tasks_given_up: closed("given_up"),
    tasks_skipped: closed("skipped"),
    tasks_waived: closed("waived"),
    tasks_dropped: closed("dropped"),
    tasks_left: tasks.filter(isOpen).length,
    next_task: nextTask(tasks)?.number ?? null,
  });
}

/** Limits the reason for a skipped phase, in characters. */
const REASON_MAX = 200;

function reasonsOf(skips: FullStateView["skips"]): WireObject | undefined {
  const reasons = skips.map(({ phase, reason }) => [`phase_${phase}`, brief(reason, REASON_MAX)]);
  return reasons.length === 0 ? undefined : Object.fromEntries(reasons);
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

/** Returns the next call, and why there is none. */
function nextNotice(state: StateView): WireObject {
  const call = next(state);
  return { blocked: blockedBy(state, call), next: call };
}

function next(state: StateView): WireObject | null {
  // Nothing but the decision is left to do: a session that goes on would only be asked about again.
  if (state.waitsForWaiver && state.tasks.length > 0 && !state.tasks.some(isOpen)) return null;
  return nextCall(state, () => phaseCall(state.sessionId));
}

function executed(artifacts: readonly { phase: number; outputs?: unknown; commandsExecuted?: unknown }[]): WireObject {
  const outputs = artifacts.filter((artifact) => artifact.outputs !== undefined);
  const commands = artifacts.filter((artifact) => artifact.commandsExecuted !== undefined);
  return compact({
    outputs: outputs.length === 0 ? undefined : Object.fromEntries(outputs.map((a) => [`phase_${a.phase}`, a.outputs])),
    commands_executed:
      commands.length === 0
        ? undefined
        : Object.fromEntries(commands.map((a) => [`phase_${a.phase}`, a.commandsExecuted])),
  });
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
