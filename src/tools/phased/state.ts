import type { StateView } from "../../phased/views.js";
import type { ToolContext } from "../context.js";
import { brief, compact, type WireObject } from "../wire-object.js";
import type { ParametersOf } from "./actions.js";
import { blockedBy, nextCall, phaseCall } from "./next-call.js";
import { planNews, planNewsInShort } from "./plan.js";
import { approvalNews, denialNews, historyEntry, unapprovedNews } from "./shapes.js";
export async function getState(context: ToolContext, params: ParametersOf<"get_state">): Promise<WireObject> {
  if (params.brief === true) return briefState(context, await context.engine.getState(params.session_id));
  const state = await context.engine.getFullState(params.session_id);
  const { head } = state;
  return compact({
    status: "success",
    action: "get_state",
    ...position(state),
    total_phases: head.total,
    completed_phases: state.completedPhases,
    skipped_phases: state.skippedPhases.length === 0 ? undefined : state.skippedPhases,
    artifacts: Object.fromEntries(state.artifacts.map(({ phase, artifact }) => [`phase_${phase}`, artifact])),
    ...executed(state.artifacts),
    created_at: head.createdAt,
    last_updated: state.updatedAt,
    attempts: head.attempts,
    ...approvalNews(state.awaiting),
    ...denialNews(state.denied),
    ...unapprovedNews(state.unapproved),
    ...planNews(context, state.sessionId, state.plan),
    resume_capable: state.unapproved === undefined && (head.status === "active" || head.status === "paused"),
    blocked: blockedBy(state),
    next: next(state),
  });
}

export async function getSession(context: ToolContext, params: ParametersOf<"get_session">): Promise<WireObject> {
  const { engine } = context;
  const { session_id: id } = params;
  const [state, history, options] = await Promise.all([engine.getState(id), engine.history(id), engine.getOptions(id)]);
  const { head } = state;
  const session = compact({
    ...approvalNews(state.awaiting),
    ...unapprovedNews(state.unapproved),
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
  return compact({ status: "success", action: "get_session", session, blocked: blockedBy(state), next: next(state) });
}

/** Where am I, what is done, what is next: all that is needed after a context was compacted. */
function briefState(context: ToolContext, state: StateView): WireObject {
  const { head, structure } = state;
  const phase = structure.phases[head.position];
  return compact({
    status: "success",
    action: "get_state",
    ...position(state),
    target_file: brief(head.target, 200),
    title: phase === undefined ? undefined : brief(phase.name, 80),
    phases: `${state.completedPhases.length} of ${head.total} complete`,
    completed_phases: brief(rangesText(state.completedPhases), 200),
    attempts: head.attempts === 0 ? undefined : head.attempts,
    ...approvalNews(state.awaiting),
    ...denialNews(state.denied),
    ...unapprovedNews(state.unapproved),
    ...planNewsInShort(context, state.sessionId, state.plan),
    blocked: blockedBy(state),
    note: head.status === "paused" && head.note !== undefined ? brief(head.note, 200) : undefined,
    next: next(state),
  });
}

function position({ sessionId, head }: StateView): WireObject {
  return {
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    session_status: head.status,
    current_phase: head.phase,
  };
}

function next(state: StateView): WireObject | null {
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

/** Ascending numbers in few characters: `0-4, 7`; `none` for none. */
function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ") || "none";
}
