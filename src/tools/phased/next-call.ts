/**
 * Decides what an agent should call next, for every answer of the tool. Null if no call of the agent would
 * help: then `blocked` says whom to ask.
 */
import { PhasegateError } from "../../errors.js";
import { revealOf } from "../../gate/check-gate.js";
import { isPlaceholder } from "../../gate/evidence.js";
import { evidenceNames, requiredNames } from "../../gate/format.js";
import { evidenceForm } from "../../gate/forms.js";
import { checkedFields, ITEMS_FIELD, requiredItems, TASKS_FIELD } from "../../gate/plan-gate.js";
import type { ChildrenView } from "../../phased/children.js";
import type { PhaseTask } from "../../phased/state/task-notes.js";
import type { Verifying } from "../../phased/submissions.js";
import type { SessionFacts, UnapprovedView } from "../../phased/views.js";
import type { GateDefinition, PhaseDefinition, TaskDefinition } from "../../workflow/structure.js";
import type { WireObject } from "../wire.js";
import type { Action, ParametersOf } from "./actions.js";

/** A call of the tool, with parameters to pass on unchanged. */
export type NextCall = WireObject;

/** Returns a call of an action, such as one that reads the next page of a list. */
export function callOf<A extends Action>(action: A, params: ParametersOf<A>): NextCall {
  return { action, ...params };
}

/** What stands in a proposed call for a text that only the agent can write. */
const FORMS = {
  note: "<once it is done, what to know; if it can't be: outcome given_up, and why>",
  reason: "<why it can't be done>",
};

/** The calls that several answers propose. Texts in them that only the agent can write are placeholders, which are refused. */
export const CALL = {
  workflows: () => callOf("list_workflows", {}),
  sessions: () => callOf("list_sessions", {}),
  /** Shows a phase; the current one by default. */
  phase: (session_id: string, phase?: number) => callOf("get_phase", { session_id, phase }),
  task: (session_id: string, phase: number, task_number: number) => {
    return callOf("get_task", { session_id, phase, task_number });
  },
  /** Copied unchanged, it notes nothing, since nobody has done the task yet. */
  done: (session_id: string, phase: number, task_number: number) => {
    return callOf("complete_task", { session_id, phase, task_number, note: FORMS.note });
  },
  submit: (session_id: string, phase: number, evidence: WireObject) => {
    return callOf("complete_phase", { session_id, phase, evidence });
  },
  /** Waits for the answer to a submission. */
  wait: (session_id: string, { phase, idempotencyKey }: Pick<Verifying, "phase" | "idempotencyKey">) => {
    return callOf("complete_phase", { session_id, phase, idempotency_key: idempotencyKey });
  },
  waiver: (session_id: string, phase: number, fields: readonly string[]) => {
    return callOf("request_waiver", { session_id, phase, fields: [...fields], reason: FORMS.reason });
  },
  /** Lets a phase be tried again, and records what its checks compare with if that is missing. */
  retry: (session_id: string, phase: number) => callOf("retry_phase", { session_id, phase }),
  resume: (session_id: string) => callOf("resume", { session_id }),
  /** Shows in short where a session is, such as whether a person has answered. */
  state: (session_id: string) => callOf("get_state", { session_id, brief: true }),
  /** Adopts the changed plan, or only shows the changes. */
  sync: (session_id: string, preview?: true) => callOf("sync_plan", { session_id, preview }),
  errors: (session_id: string) => callOf("get_errors", { session_id }),
  /** Starts a child of a session: the first that is not started, or that of an item. */
  child: (session_id: string, item?: number) => callOf("start", { session_id, item }),
};

/** The part of a session's state that decides what can be called. */
type CallState = Omit<SessionFacts, "sessionId" | "totalPhases" | "waiverRefused"> & {
  readonly sessionId: string;
  readonly waiverRefused?: boolean;
  /** The gate that was passed with an approval that this host does not accept. */
  readonly unapproved?: UnapprovedView;
  readonly children?: ChildrenView | undefined;
};

/**
 * Returns the next call: `whenActive` while the session is active, otherwise the call that makes it active
 * again; null if the agent must ask a person, or the session is over.
 */
export function nextCall(state: CallState, whenActive: () => NextCall | null): NextCall | null {
  const { sessionId, status, currentPhase, exhausted, awaitingApproval, waitsForWaiver, unapproved } = state;
  if (unapproved !== undefined) return null;
  switch (status) {
    case "paused":
      return CALL.resume(sessionId);
    case "failed":
      if (waitsForWaiver) return CALL.state(sessionId);
      return exhausted ? null : CALL.retry(sessionId, currentPhase);
    case "active":
      // While a waiver is awaited, the agent can go on with the rest of the phase.
      if (awaitingApproval) return CALL.state(sessionId);
      if (exhausted) return null;
      return state.unrecorded === undefined ? whenActive() : CALL.retry(sessionId, currentPhase);
    case "completed":
      // The session that it was started for goes on.
      return state.parent === undefined ? null : CALL.phase(state.parent.sessionId);
    default:
      return null;
  }
}

/** Returns the next call, and why there is none. */
export function nextNotice(state: CallState, next: NextCall | null) {
  return { blocked: blockedBy(state, next), next };
}

/** Returns the reason why none of the agent's calls would help; undefined if one would. `next` is the call that was found. */
export function blockedBy(
  { exhausted, currentPhase, status, unapproved, waitsForWaiver, children }: CallState,
  next?: NextCall | null,
): string | undefined {
  if (next === null && children?.fault !== undefined) return `${children.fault}. ${ROLL_BACK}`;
  if (unapproved !== undefined) return `${unapproved.message}. ${unapproved.remedy}`;
  if (next === null && waitsForWaiver && !exhausted) return WAITS;
  return exhausted && status !== "completed" ? usedUp(currentPhase) : undefined;
}

/** What to do if a phase asks for children that can't be told. */
const ROLL_BACK = "Roll back to the phase whose evidence this comes from, and submit what can be used.";

/** Says that only the host can grant more attempts. */
export function usedUp(phase: number): string {
  return `All attempts at phase ${phase} are used up. Ask the person who runs this: only the host can grant more.`;
}

/** What to do if nothing is wrong but what a person has been asked to waive. */
export const WAITS =
  "Nothing is left but what a person has been asked to waive. Each submission before the decision uses up an attempt: end your turn, and submit once get_state shows the decision.";

/** Returns the note on a repeated answer: nothing was done now, and the session may have moved on. */
export function replayNotice(replayed: boolean, { currentPhase, status }: CallState): WireObject {
  return replayed ? { replayed, session_now: { current_phase: currentPhase, session_status: status } } : {};
}

/** What an answer is about, for its next call: the phase without what is waived, its tasks, and what agents may call. */
export interface Work {
  readonly phase: PhaseDefinition;
  readonly tasks: readonly PhaseTask[];
  readonly actions: readonly Action[];
  /** The children of the phase, if it is the current one and a workflow. */
  readonly children?: ChildrenView | undefined;
}

/** Returns the work in a phase that was read. */
export function workIn({ actions }: Pick<Work, "actions">, { phase, tasks, children }: Omit<Work, "actions">): Work {
  return { phase, tasks, actions, children };
}

/**
 * Returns the next call in a phase that was read: its first task that is ready, or what the gate needs; from an earlier
 * phase, the current one.
 */
export function callInPhase(state: CallState, work: Work): NextCall | null {
  const { phase, tasks, children } = work;
  if (phase.number !== state.currentPhase) return CALL.phase(state.sessionId);
  if (children !== undefined) return callForChildren(state, children);
  const task = nextTask(tasks);
  return task?.ready ? CALL.task(state.sessionId, phase.number, task.number) : callWithoutTask(state, work, task);
}

/** Returns the call in a phase that is a workflow: the start of a child, the work in one, or the gate once all are completed. */
function callForChildren({ sessionId, currentPhase }: CallState, { children, fault }: ChildrenView): NextCall | null {
  if (fault !== undefined) return null;
  const waiting = children.find(({ status }) => status === "not_started");
  if (waiting !== undefined) return CALL.child(sessionId, children.length > 1 ? waiting.item : undefined);
  const open = children.find(({ status }) => status !== "completed" && status !== "damaged");
  if (open?.sessionId === undefined) return CALL.submit(sessionId, currentPhase, {});
  return open.status === "active" ? CALL.phase(open.sessionId) : CALL.state(open.sessionId);
}

/**
 * Returns the call if no task is ready: an open one that waits for others, or evidence; null while a waiver is awaited. A
 * gate that requires a task which was given up can't be passed: then it is the request for a waiver, or the task itself if
 * a person has denied that.
 */
function callWithoutTask(
  state: CallState,
  { phase, tasks, actions }: Work,
  open: PhaseTask | undefined,
): NextCall | null {
  const { sessionId, waitsForWaiver, waiverRefused } = state;
  const missing = requiredAndGivenUp(phase, tasks);
  const [first] = missing;
  if (waitsForWaiver && (open === undefined || first !== undefined)) return null;
  if (first !== undefined && actions.includes("request_waiver")) {
    if (waiverRefused === true) return CALL.task(sessionId, phase.number, first.number);
    return CALL.waiver(sessionId, phase.number, idsOf(missing));
  }
  return open === undefined
    ? CALL.submit(sessionId, phase.number, blanks(phase.gate))
    : CALL.task(sessionId, phase.number, open.number);
}

/** Returns the tasks of a plan that were given up and that the gate requires: only a waiver lets the phase pass. */
export function requiredAndGivenUp({ gate, tasks }: PhaseDefinition, noted: readonly PhaseTask[]): TaskDefinition[] {
  const required = gate.kind === "plan" ? gate.tasks.filter(({ optional }) => !optional) : [];
  return tasks.filter(({ number, plan }) => {
    const isGivenUp = noted.some((task) => task.number === number && task.closed === "given_up");
    return isGivenUp && required.some(({ id }) => id === plan?.id);
  });
}

/** Returns the ids of tasks, as a request for a waiver names them. */
export function idsOf(tasks: readonly TaskDefinition[]): string[] {
  return tasks.slice(0, BLANKS_MAX).flatMap(({ plan }) => plan?.id ?? []);
}

/** Returns the task to do next; undefined if none is left. */
export function nextTask(tasks: readonly PhaseTask[]): PhaseTask | undefined {
  return tasks.find(({ ready }) => ready) ?? tasks.find(isOpen);
}

/** Returns true if a task is left to do: it is not done, not given up and not waived. */
export function isOpen({ done, closed }: PhaseTask): boolean {
  return !done && closed === undefined;
}

/** Returns the call that leaves out the optional tasks which are open, if the next task of the current phase is one. */
export function leaveOutNotice(
  { sessionId, status, currentPhase }: CallState,
  { phase, tasks, actions }: Work,
): WireObject {
  const optional = new Set(phase.tasks.flatMap(({ number, plan }) => (plan?.optional === true ? [number] : [])));
  const next = nextTask(tasks)?.number;
  const isHere = status === "active" && phase.number === currentPhase && actions.includes("complete_task");
  if (!isHere || next === undefined || !optional.has(next)) return {};
  const skipped = tasks.flatMap((task) => (isOpen(task) && optional.has(task.number) ? [task.number] : []));
  return { if_left_out: callOf("complete_task", { session_id: sessionId, phase: phase.number, skipped }) };
}

/**
 * Returns the next call after a task was read: it is noted as done. If it is closed already or another one comes first, that
 * is the next task which is open; if none is, the phase's gate. Where agents can't note tasks, it is the open task after it,
 * or the gate.
 */
export function callAfterTask(state: CallState, work: Work, number: number): NextCall | null {
  const { sessionId, currentPhase, waiverRefused } = state;
  const { phase, tasks, actions } = work;
  if (phase.number !== currentPhase) return CALL.phase(sessionId);
  const own = tasks.find((task) => task.number === number);
  const canNote = actions.includes("complete_task");
  const isOwn = own !== undefined && (isOpen(own) || (waiverRefused === true && own.closed === "given_up"));
  if (canNote && isOwn) {
    const first = own.ready ? own : (nextTask(tasks) ?? own);
    return first === own
      ? CALL.done(sessionId, phase.number, number)
      : CALL.task(sessionId, phase.number, first.number);
  }
  const position = phase.tasks.findIndex((task) => task.number === number);
  const after = phase.tasks.slice(position + 1).map((task) => task.number);
  // Without notes, tasks before this one stay open for ever.
  const following = tasks.find((task) => after.includes(task.number) && isOpen(task));
  if (canNote || following === undefined)
    return canNote ? callInPhase(state, work) : callWithoutTask(state, work, following);
  return CALL.task(sessionId, phase.number, following.number);
}

/** Returns a state for which no retry is suggested to record something, as it would be again and again. */
export function asRecorded(state: CallState): CallState {
  return { ...state, unrecorded: undefined };
}

/** Returns what an agent must know before it begins, if a phase's checks have nothing to compare with. */
export function unrecordedNotice({ unrecorded, status }: CallState): WireObject {
  if (unrecorded === undefined || status !== "active") return {};
  const how = "Call retry_phase before you change anything; if this stays, ask the person who runs this.";
  return { unrecorded: `The state that the checks of this phase compare with could not be recorded. ${how}` };
}

/** Throws `INVALID_INPUT` if a text is the placeholder of a proposed call. */
export function refusePlaceholder(field: string, text: string | undefined, remedy: string): void {
  if (text === undefined || !isPlaceholder(text)) return;
  throw new PhasegateError("INVALID_INPUT", `'${field}' is the placeholder of a proposed call: nothing was done`, {
    remedy,
    details: { field },
  });
}

/** Returns the call again, with forms in place of texts that were placeholders; undefined if none was. */
export function callWithForms(action: Action, given: WireObject): NextCall | undefined {
  const forms = Object.entries(FORMS).filter(([field]) => {
    const text = given[field];
    return typeof text === "string" && isPlaceholder(text);
  });
  return forms.length === 0 ? undefined : { action, ...given, ...Object.fromEntries(forms) };
}

/** Limits the fields in the next call; the checkpoint has all of them. */
export const BLANKS_MAX = 12;

/** The evidence of a gate that names no fields. */
export const ANY_EVIDENCE: WireObject = { "<what was done>": "<result>" };
const SEE_SCHEMA = "<see evidence_schema in get_phase>";

/**
 * Returns evidence for a gate whose values describe what is expected. They would not pass, since a valid call would invite
 * claims of work that was not done.
 */
function blanks(gate: GateDefinition): WireObject {
  const reveal = revealOf(gate);
  if (gate.kind === "open" || (gate.kind === "fields" && reveal === "none")) return ANY_EVIDENCE;
  if (gate.kind === "plan") {
    if (gate.proofs !== undefined) return named(evidenceNames(gate), SEE_SCHEMA);
    const isDue = gate.tasks.some(({ optional }) => !optional);
    const tasks = "the ids of the tasks that you have done and not noted; an empty list if all are noted";
    const checked = Object.entries(checkedFields(gate)).map(([name, about]) => [name, `<object: ${about}>`]);
    const claims = planBlanks(isDue ? tasks : undefined, Object.keys(requiredItems(gate)));
    return { ...claims, ...Object.fromEntries(checked) };
  }
  const isForm = gate.kind === "fields" && reveal === "fields";
  const names = (isForm ? requiredNames(gate) : evidenceNames(gate)).slice(0, BLANKS_MAX);
  if (gate.kind === "schema") {
    if (names.length === 0) return { [SEE_SCHEMA]: "<value>" };
    return { ...named(names, SEE_SCHEMA), ...formFor(gate, names) };
  }
  const proved = names.filter((name) => gate.proofs?.includes(name));
  return { ...(isForm ? formFor(gate, names) : named(names, "<value>")), ...named(proved, "<claim and proof>") };
}

/**
 * Returns the claims of a plan's gate as placeholders, without an id: only the agent knows which tasks it has done. `tasks`
 * says which ids to put there.
 */
export function planBlanks(tasks: string | undefined, items: readonly string[]): WireObject {
  const holds = items.slice(0, BLANKS_MAX).map((number) => [number, "<boolean: whether it holds>"]);
  return {
    ...(tasks && { [TASKS_FIELD]: `<list of texts: ${tasks}>` }),
    ...(holds.length > 0 && { [ITEMS_FIELD]: Object.fromEntries(holds) }),
  };
}

/** Returns the form of these fields, as far as the gate shows it. */
function formFor(gate: GateDefinition, names: readonly string[]): WireObject {
  const form = evidenceForm(gate, { isBrief: true }) ?? {};
  return Object.fromEntries(Object.entries(form).filter(([name]) => names.includes(name)));
}

function named(names: readonly string[], blank: string): WireObject {
  return Object.fromEntries(names.map((name) => [name, blank]));
}
