/** The engine's views as they look on the wire: names and nesting of answers. */
import { conceal, revealOf } from "../../gate/check-gate.js";
import { waivableBooleans } from "../../gate/claims.js";
import { requiredFormat, requiredNames } from "../../gate/format.js";
import type { ChildrenView, OpenChild } from "../../phased/children.js";
import type { NamedDocument } from "../../phased/documents.js";
import type { SkippedPhase } from "../../phased/gate-answer.js";
import type { TaskProgress } from "../../phased/plan/view.js";
import type { Parent } from "../../phased/state/events.js";
import type { PhaseAttempt } from "../../phased/state/history.js";
import type { PhaseTask } from "../../phased/state/task-notes.js";
import type { PhaseView, TaskView } from "../../phased/views.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import type { FilledText, OwnText } from "../../template/template.js";
import { asksForSearch, SEARCH_TOOL } from "../../workflow/asks-for-search.js";
import { requiresNothing } from "../../workflow/gate-definition.js";
import {
  type GateDefinition,
  numberInPlan,
  type PhaseDefinition,
  type TaskDefinition,
} from "../../workflow/structure.js";
import { verificationNotice } from "../verification-notice.js";
import { brief, type WireObject } from "../wire.js";
import type { ToolContext } from "./actions.js";
import { DENIAL_MAX, NAME_MAX, waivedNotice } from "./approval-notices.js";
import { evidenceNote } from "./evidence-note.js";
import { droppedNotice, idsText } from "./plan.js";

/** What agents are given, and what texts may ask for all the same. */
type GivenTools = Pick<ToolContext, "absentTools" | "actions">;

/**
 * Returns a phase without its text, which the caller pages. `isWhole` is false where the answer can refer to `get_phase`
 * for the checkpoint and the artifacts.
 */
export function phaseContent(view: PhaseView, isWhole: boolean, given: GivenTools): WireObject {
  const { phase, facts, content, contentChanged, artifacts, plan, tasks, documents, own, shared } = view;
  const text = `${own?.text ?? content.text}${shared === undefined ? "" : `\n${shared.text}`}`;
  const duration = phase.estimatedEffort ?? phase.plan?.estimatedDuration ?? facts.estimatedDuration;
  return {
    phase_number: phase.number,
    phase_in_plan: numberInPlan(phase),
    title: phase.name,
    description: phase.purpose ?? excerpt(phase.plan?.goal ?? facts.description),
    estimated_duration: duration,
    ...(phase.plan === undefined ? taskNames(phase, tasks) : plannedTasks(plan?.tasks)),
    ...childrenNotice(view.children),
    checkpoint: isWhole
      ? { ...checkpoint(phase, facts.validation), ...ifFalse(phase.gate, given) }
      : { ...openMark(phase.gate), required_evidence: requiredNames(phase.gate), details: "see get_phase" },
    evidence_note: evidenceNote(text, phase.gate),
    missing_tools: absenceNote(text, given),
    artifacts_from_previous_phases: isWhole ? artifactNames(artifacts) : undefined,
    ...documentNames(documents),
    content_changed: contentChanged || undefined,
    note: leftOutNote((own ?? view).leftOut, shared?.leftOut),
    shared: own && `in get_phase ${own.restIn}`,
    sources: content.sources,
    tokens: content.tokens,
  };
}

/** Says that a session is completed; a child is, but its parent's work goes on. */
export function endNotice(isComplete: boolean, parent: Parent | undefined): WireObject {
  if (parent === undefined) return { workflow_complete: isComplete || undefined };
  return { child_complete: isComplete || undefined, parent: parent.sessionId };
}

/** Limits the children that an answer lists, and the items and targets in it, in characters. */
const CHILDREN_SHOWN = 20;
const ITEM_MAX = 120;

/** Returns the children of a phase that is a workflow: those to start, and what has become of the others. */
export function childrenNotice(view: ChildrenView | undefined): WireObject {
  if (view === undefined) return {};
  const { workflowType, children, fault } = view;
  const left = children.filter(({ status }) => status !== "completed");
  const shown = (left.length === 0 ? children : left).slice(0, CHILDREN_SHOWN).map(
    ({ item, value, target, sessionId, status, phase, total }): WireObject => ({
      item: children.length > 1 ? item : undefined,
      value: value === undefined ? undefined : brief(JSON.stringify(value), ITEM_MAX),
      target_file: brief(target, ITEM_MAX),
      session_id: sessionId,
      status,
      phase: status === "active" ? `${phase} of ${total}` : undefined,
    }),
  );
  return {
    workflow: workflowType,
    children: shown,
    children_completed: `${children.length - left.length} of ${children.length}`,
    children_fault: fault,
  };
}

/** Says of a child that it counts for nothing any more. */
export function orphanNotice({ orphaned }: { readonly orphaned?: string | undefined }): WireObject {
  return orphaned === undefined ? {} : { orphaned: `${orphaned}: this session counts for nothing there any more` };
}

/** Says what becomes of the children that a session leaves behind. */
export function leftNotice(children: readonly OpenChild[] | undefined, becomes: string): WireObject {
  if (children === undefined) return {};
  const left = children.slice(0, CHILDREN_SHOWN).map(({ sessionId, status }) => ({ session_id: sessionId, status }));
  return { children_left: left, children_note: becomes };
}

/** Returns the tasks of a phase that is from no plan, and which of them are done or given up. */
function taskNames(phase: PhaseDefinition, tasks: readonly PhaseTask[]): WireObject {
  const done = tasks.flatMap((task) => (task.done ? [task.number] : []));
  const givenUp = tasks.flatMap(({ number, closed }) => (closed === "given_up" ? [number] : []));
  return {
    tasks: phase.tasks.map(taskLabel),
    tasks_done: done.length === 0 ? undefined : done,
    tasks_given_up: givenUp.length === 0 ? undefined : givenUp,
  };
}

/** What an agent does in place of a search that is not served. */
const OWN_SEARCH = "search the files and documents of the project yourself instead, and claim only what you have found";

/** Returns the note that texts of a workflow ask for a search, if the server has none. */
export function searchNotice(searches: boolean, { absentTools }: GivenTools): WireObject {
  if (!searches || !absentTools.includes(SEARCH_TOOL)) return {};
  return {
    missing_tools: `texts of this workflow ask for a search (${SEARCH_TOOL}), which this server does not have: ${OWN_SEARCH}. That counts as the search`,
  };
}

/** Returns the note that a text asks for tools which the server does not have. */
function absenceNote(text: string, { absentTools, actions }: GivenTools): string | undefined {
  const asked = absentTools.filter((name) => (name === SEARCH_TOOL ? asksForSearch(text) : text.includes(name)));
  if (asked.length === 0) return undefined;
  const note = `the text asks for ${asked.join(", ")}, which this server does not have`;
  if (asked.includes(SEARCH_TOOL)) return `${note}: ${OWN_SEARCH}`;
  const waived = actions.includes("request_waiver") ? "; what the gate wants of it can be waived (request_waiver)" : "";
  return `${note}: go on without it, and claim nothing of it${waived}`;
}

/** Limits the note on what is left out of a text, in characters. */
const NOTE_MAX = 400;

/** Returns the note on placeholders that nothing fills. */
function leftOutNote(leftOut: readonly string[], shared: readonly string[] = []): string | undefined {
  if (leftOut.length + shared.length === 0) return undefined;
  const names = [...new Set([...leftOut, ...shared])];
  return brief(`left out of the text, since nothing fills it here: ${names.join(", ")}`, NOTE_MAX);
}

/** Returns a task without its text. */
export function taskContent(view: TaskView, shown: FilledText | OwnText, given: GivenTools): WireObject {
  const { phase, task, facts, content, contentChanged, documents } = view;
  const { text, leftOut } = shown;
  const { purpose, plan } = task;
  return {
    title: facts.title ?? task.name,
    description: purpose !== undefined && text.includes(purpose) ? undefined : purpose,
    estimated_duration: plan?.estimatedTime ?? facts.estimatedDuration,
    artifacts_to_produce: unlessLong(facts.artifactsToProduce),
    ...documentNames(documents),
    content_changed: contentChanged || undefined,
    note: leftOutNote(leftOut),
    evidence_note: evidenceNote(text, phase.gate),
    missing_tools: absenceNote(text, given),
    // What all tasks share is in get_phase, sources included.
    ...("restIn" in shown
      ? { shared: `in get_phase ${shown.restIn}` }
      : { sources: content.sources, tokens: content.tokens }),
  };
}

/** Limits the list of a text's documents, in characters of JSON. */
const DOCUMENTS_MAX = 1600;

/** Returns the documents that a text names, for get_document; those that are too many are counted. */
export function documentNames(documents: readonly NamedDocument[]): WireObject {
  if (documents.length === 0) return {};
  const named: WireObject[] = [];
  let length = 0;
  for (const { path, tokens } of documents) {
    length += JSON.stringify(path).length + 30;
    if (length > DOCUMENTS_MAX) break;
    named.push({ path, tokens });
  }
  const left = documents.length - named.length;
  return { documents: named, more_documents: left || undefined };
}

/** Returns a session as lists show it. */
export function sessionEntry(summary: SessionSummary): WireObject {
  return {
    session_id: summary.sessionId,
    workflow_type: summary.workflowType,
    target_file: summary.target,
    current_phase: summary.current,
    total_phases: summary.total,
    status: summary.status,
    created_at: summary.createdAt,
    last_updated: summary.updatedAt,
    completed_at: summary.completedAt,
  };
}

/** Limits a proof of an attempt, in characters. */
const PROOF_MAX = 300;

/** Returns one attempt at one phase. */
export function historyEntry(attempt: PhaseAttempt): WireObject {
  const { phase, startedAt, completedAt, durationSeconds, status, problems, verification, reveal, reason, by } =
    attempt;
  return {
    phase,
    gone: attempt.gone && brief(attempt.gone, NAME_MAX),
    started_at: startedAt,
    completed_at: completedAt,
    duration_seconds: durationSeconds,
    attempt: attempt.attempt,
    counted: attempt.uncounted && false,
    status,
    reason: reason && brief(reason, DENIAL_MAX),
    by: by && brief(by, NAME_MAX),
    problems: problems && conceal(problems, reveal ?? "fields").map(({ message }) => message),
    ...waivedNotice(attempt.waived),
    proofs: attempt.proofs?.map(({ field, proof }) => brief(`${field}: ${proof}`, PROOF_MAX)),
    ...verificationNotice(verification, reveal, "recorded"),
  };
}

/** Limits the skipped phases that an answer names, and the reason for each, in characters. */
const SKIPPED_MAX = 20;
export const REASON_MAX = 200;

/** Returns the phases that the workflow's rules skipped, each with the reason. */
export function skipNotice(skipped: readonly SkippedPhase[] | undefined): WireObject {
  if (skipped === undefined) return {};
  const named = skipped.slice(0, SKIPPED_MAX).map(({ phase, name, reason }) => {
    return { phase_number: phase, title: brief(name, 120), reason: brief(reason, REASON_MAX) };
  });
  return { skipped_phases: named };
}

/** Limits facts next to a text; the text itself is complete in `content`. */
const EXCERPT_MAX = 400;

function excerpt(text: string | undefined): string | undefined {
  return text === undefined || text.length <= EXCERPT_MAX ? text : `${text.slice(0, EXCERPT_MAX)}…`;
}

/** Returns a file's name if it contains the task's number, such as `task-1-plan.md`; otherwise number and name. */
function taskLabel({ number, name, file }: TaskDefinition): string {
  const base = file?.slice(file.lastIndexOf("/") + 1);
  return base?.startsWith(`task-${number}-`) ? base : `${number}: ${name}`;
}

/** Returns the tasks of a phase from a plan, and which of them the plan has dropped. */
function plannedTasks(tasks: readonly TaskProgress[] | undefined): WireObject {
  if (tasks === undefined) return {};
  const dropped = tasks.flatMap(({ id, closed }) => (closed === "dropped" ? [id] : []));
  return { tasks: tasks.map(taskEntry), ...droppedNotice(dropped) };
}

/** Returns a task as the list of its phase shows it. */
function taskEntry(task: TaskProgress): WireObject {
  const { number, id, name, state, dependencies, ready, closed, optional, requirements } = task;
  return {
    task_number: number,
    id,
    name: brief(name, 120),
    state,
    dependencies: idsText(dependencies),
    ready: ready || undefined,
    closed,
    optional: optional || undefined,
    requirements: requirements?.map((reference) => brief(reference, 120)),
  };
}

function checkpoint(phase: PhaseDefinition, fromText: readonly string[] | undefined): WireObject {
  // The evidence schema of a plan's gate has its items with their numbers. What a gate hides is not repeated from the
  // metadata either.
  const isTold = phase.gate.kind !== "plan" && revealOf(phase.gate) === "fields";
  const validation = isTold ? (phase.validationCriteria ?? unlessLong(fromText)) : undefined;
  return {
    ...openMark(phase.gate),
    // Any other schema says itself what it requires.
    required_evidence: revealOf(phase.gate) === "names" ? requiredNames(phase.gate) : undefined,
    validation: validation?.join("; "),
    evidence_schema: requiredFormat(phase.gate),
  };
}

/** Says what an agent does about a required boolean that is not true, where a person can waive it. */
function ifFalse(gate: GateDefinition, { actions }: GivenTools): WireObject {
  if (!actions.includes("request_waiver") || waivableBooleans(gate).length === 0) return {};
  return { if_false: IF_FALSE };
}

const IF_FALSE =
  'for a boolean that is not true, submit {"value": false, "why": "<why>"}: the first time, that asks a person to waive it, as request_waiver does, and is no failed attempt';

/** Says that a gate requires nothing. */
function openMark(gate: GateDefinition): WireObject {
  return requiresNothing(gate) ? { open: true } : {};
}

/** Limits the phases that an answer names as open. */
const OPEN_MAX = 50;

/** Says of a workflow that some of its phases require nothing. */
export function openNotice(phases: readonly number[]): WireObject {
  if (phases.length === 0) return {};
  return { open: true, open_phases: phases.slice(0, OPEN_MAX) };
}

const LIST_MAX = 2400;

function unlessLong<T extends readonly unknown[]>(list: T | undefined): T | undefined {
  return list !== undefined && JSON.stringify(list).length <= LIST_MAX ? list : undefined;
}

/** Names the artifacts of the last phase that has some; those of earlier ones were named in the phases after them. */
export function artifactNames(artifacts: PhaseView["artifacts"]): WireObject {
  const [newest, ...earlier] = [...artifacts].reverse();
  if (newest === undefined) return {};
  const named = { [`phase_${newest[0]}`]: newest[1] };
  return earlier.length === 0 ? named : { ...named, earlier: `${earlier.length} more: get_state with a phase` };
}
