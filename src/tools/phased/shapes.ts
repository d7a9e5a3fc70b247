/** The engine's views as they look on the wire: names and nesting of answers. */
import { conceal, revealOf } from "../../gate/check-gate.js";
import { exampleWithoutClaims, requiredFormat, requiredNames } from "../../gate/format.js";
import type { Problem } from "../../gate/verdict.js";
import { waivedText } from "../../gate/waivers.js";
import type { AwaitedApproval, Denial, UnapprovedPass } from "../../phased/approval/ledger.js";
import type { WaiversView } from "../../phased/approval/waivers.js";
import type { NamedDocument } from "../../phased/documents.js";
import type { SkippedPhase } from "../../phased/gate-answer.js";
import type { TaskProgress } from "../../phased/plan/view.js";
import type { Verification, Waived } from "../../phased/state/events.js";
import type { PhaseAttempt } from "../../phased/state/history.js";
import type { PhaseTask } from "../../phased/state/task-notes.js";
import type { PhaseView, TaskView } from "../../phased/views.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import type { FilledText, OwnText } from "../../template/template.js";
import type { JsonObject } from "../../workflow/json.js";
import type { GateDefinition, PhaseDefinition, Reveal, TaskDefinition } from "../../workflow/structure.js";
import { brief, compact, part, type WireObject } from "../wire.js";
import { evidenceNote } from "./evidence-note.js";
import { isOpen } from "./next-call.js";

/**
 * Returns a phase without its text, which the caller pages. `isWhole` is false where the answer can refer to `get_phase`
 * for the checkpoint and the artifacts.
 */
export function phaseContent(view: PhaseView, isWhole: boolean, absentTools: readonly string[]): WireObject {
  const { phase, facts, content, contentChanged, artifacts, plan, tasks, documents, own, shared } = view;
  const text = `${own?.text ?? content.text}${shared === undefined ? "" : `\n${shared.text}`}`;
  const duration = phase.estimatedEffort ?? phase.plan?.estimatedDuration ?? facts.estimatedDuration;
  return {
    phase_number: phase.number,
    title: phase.name,
    ...part("description", phase.purpose ?? excerpt(phase.plan?.goal ?? facts.description)),
    ...part("estimated_duration", duration),
    ...(phase.plan === undefined ? taskNames(phase, tasks) : part("tasks", plan?.tasks.map(taskEntry))),
    checkpoint: isWhole
      ? checkpoint(phase, facts.validation)
      : { required_evidence: requiredNames(phase.gate), details: "see get_phase" },
    ...part("evidence_note", evidenceNote(text, phase.gate)),
    ...part("missing_tools", absenceNote(text, absentTools)),
    ...(isWhole ? { artifacts_from_previous_phases: artifactNames(artifacts) } : {}),
    ...documentNames(documents),
    ...(contentChanged ? { content_changed: true } : {}),
    ...part("note", leftOutNote((own ?? view).leftOut, shared?.leftOut)),
    ...(own === undefined ? {} : { shared: `in get_phase ${own.restIn}` }),
    sources: content.sources,
    tokens: content.tokens,
  };
}

/** Returns the tasks of a phase that is from no plan, and which of them are done or given up. */
function taskNames(phase: PhaseDefinition, tasks: readonly PhaseTask[]): WireObject {
  const done = tasks.flatMap((task) => (task.done ? [task.number] : []));
  const givenUp = tasks.flatMap(({ number, closed }) => (closed === "given_up" ? [number] : []));
  return {
    tasks: phase.tasks.map(taskLabel),
    ...(done.length === 0 ? {} : { tasks_done: done }),
    ...(givenUp.length === 0 ? {} : { tasks_given_up: givenUp }),
  };
}

/** Returns the note that a text asks for tools which the server does not have. */
function absenceNote(text: string, absentTools: readonly string[]): string | undefined {
  const asked = absentTools.filter((name) => text.includes(name));
  if (asked.length === 0) return undefined;
  return `the text asks for ${asked.join(", ")}, which this server does not have: go on without it, and claim nothing of it; what the gate wants of it can be waived (request_waiver)`;
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
export function taskContent(view: TaskView, shown: FilledText | OwnText, absentTools: readonly string[]): WireObject {
  const { phase, task, facts, content, contentChanged, documents } = view;
  const { text, leftOut } = shown;
  const { purpose, plan } = task;
  // Steps, artifacts and the like are in the text.
  const unlessIn = (fact: string | undefined) => (fact !== undefined && text.includes(fact) ? undefined : fact);
  return {
    title: facts.title ?? task.name,
    ...part("description", unlessIn(purpose)),
    ...part("estimated_duration", unlessIn(plan?.estimatedTime)),
    ...documentNames(documents),
    ...(contentChanged ? { content_changed: true } : {}),
    ...part("note", leftOutNote(leftOut)),
    ...part("evidence_note", evidenceNote(text, phase.gate)),
    ...part("missing_tools", absenceNote(text, absentTools)),
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
  return left === 0 ? { documents: named } : { documents: named, more_documents: left };
}

/** Returns a session as lists show it. */
export function sessionEntry(summary: SessionSummary): WireObject {
  return compact({
    session_id: summary.sessionId,
    workflow_type: summary.workflowType,
    target_file: summary.target,
    current_phase: summary.current,
    total_phases: summary.total,
    status: summary.status,
    created_at: summary.createdAt,
    last_updated: summary.updatedAt,
    completed_at: summary.completedAt,
  });
}

/** Returns one attempt at one phase. */
export function historyEntry(attempt: PhaseAttempt): WireObject {
  const { phase, startedAt, completedAt, durationSeconds, status, problems, verification, reveal, reason, by } =
    attempt;
  return compact({
    phase,
    started_at: startedAt,
    completed_at: completedAt,
    duration_seconds: durationSeconds,
    attempt: attempt.attempt,
    status,
    reason: reason && brief(reason, DENIAL_MAX),
    by: by && brief(by, 80),
    problems: problems && conceal(problems, reveal ?? "fields").map(({ message }) => message),
    ...waivedNews(attempt.waived),
    proofs: attempt.proofs?.map(({ field, proof }) => brief(`${field}: ${proof}`, TEXT_MAX)),
    ...verificationRecord(verification, reveal),
  });
}

/** Limits the skipped phases that an answer names, and the reason for each, in characters. */
const SKIPPED_MAX = 20;
const REASON_MAX = 200;

/** Returns the phases that the workflow's rules skipped, each with the reason. */
export function skipNews(skipped: readonly SkippedPhase[] | undefined): WireObject {
  if (skipped === undefined) return {};
  const named = skipped.slice(0, SKIPPED_MAX).map(({ phase, name, reason }) => {
    return { phase_number: phase, title: brief(name, 120), reason: brief(reason, REASON_MAX) };
  });
  return { skipped_phases: named };
}

/** Returns a problem without its sentence, which is in `validation_errors`. */
export function problemEntry({ field, problem, got, expected, example }: Problem): WireObject {
  return compact({ field, problem, got, expected, example });
}

/**
 * Returns the results of a gate's verifiers: what was run, how it ended, and the first lines of failed
 * checks. Nothing if the gate hides its requirements: a verifier's name would reveal how to pass it.
 */
export function verificationNews(
  verification: readonly Verification[] | undefined,
  reveal: Reveal = "fields",
): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  return { verification: listed(verification).map(resultEntry) };
}

/** Limits the approvers that are named. */
const NAMES_MAX = 20;

/** Limits what a person is asked, or has answered, in characters. */
const DENIAL_MAX = 600;

/** Returns the question that a session waits for, and whom to ask. */
export function approvalNews(awaiting: AwaitedApproval | undefined): WireObject {
  if (awaiting === undefined) return {};
  const { approvers, prompt, askedAt, phase, sessionId } = awaiting;
  const whom = whoMay(approvers, "an approver");
  return {
    awaiting_approval: true,
    approval: compact({
      phase,
      prompt: brief(prompt, DENIAL_MAX),
      approvers: approvers?.slice(0, NAMES_MAX).map((name) => brief(name, 80)),
      asked_at: askedAt,
      how: `Tell the person you work for that ${whom} must approve session ${sessionId}, and end your turn: you can't approve it yourself. Do not submit the same evidence again.`,
    }),
  };
}

/** Returns a person's objection to the last evidence. */
export function denialNews(denied: Denial | undefined): WireObject {
  if (denied === undefined) return {};
  const { by, note, at, authenticated } = denied;
  return {
    approval_denied: compact({
      by: brief(by, 80),
      note: brief(note, DENIAL_MAX),
      at,
      authenticated: authenticated ? undefined : false,
    }),
  };
}

/** Returns what a session waits for in order to go on without, what a person has denied, and what is waived. */
export function waiverNews(
  {
    awaitingWaiver: open,
    waiverDenied: denied,
    waived,
    tasks,
  }: WaiversView & { readonly tasks?: readonly PhaseTask[] },
  { isBrief = false, isShort = false } = {},
): WireObject {
  const isLeft = tasks === undefined || tasks.some(isOpen);
  const asked = open && {
    fields: open.fields,
    reason: isBrief ? brief(open.reason, TEXT_MAX) : open.reason,
    asked_at: open.askedAt,
    how: `Tell the person you work for that ${whoMay(open.approvers, "someone")} must decide on this waiver of session ${open.sessionId}, such as with phasegate waive or deny: you can't grant it yourself. ${isLeft ? "Do the rest of the phase, then end" : "End"} your turn; get_state shows the decision later, also while the session is paused. What is waived is left out of the evidence.`,
  };
  const refused = denied && {
    fields: denied.fields,
    by: brief(denied.by, 80),
    do_instead: brief(denied.note, DENIAL_MAX),
    at: denied.at,
  };
  return {
    ...(asked === undefined ? {} : { awaiting_waiver: true, waiver: asked }),
    ...part("waiver_denied", refused),
    ...waivedNews(waived, isShort),
  };
}

/** Returns what is waived and by whom; unless `isShort`, also why. `get_state` has the reasons. */
export function waivedNews(waived: readonly Waived[] | undefined, isShort = false): WireObject {
  const short = ({ fields, by }: Waived) => `${brief(fields.join(", "), TEXT_MAX)} waived by ${brief(by, 80)}`;
  return waived === undefined ? {} : { waived: waived.map(isShort ? short : waivedLine) };
}

/** Returns a waiver in one line, with each part shortened by itself: a list of many names must not hide who and why. */
export function waivedLine({ fields, by, reason, note }: Waived): string {
  const short = { fields: [brief(fields.join(", "), TEXT_MAX)], by: brief(by, 80), reason: brief(reason, TEXT_MAX) };
  return waivedText({ ...short, note: note && brief(note, TEXT_MAX) });
}

/** Names those who may answer. */
function whoMay(approvers: readonly string[] | undefined, anyone: string): string {
  return approvers === undefined ? anyone : brief(approvers.slice(0, NAMES_MAX).join(" or "), DENIAL_MAX);
}

/** Returns the note that the session passed a gate with an approval that this host does not accept. */
export function unapprovedNews(unapproved: UnapprovedPass | undefined): WireObject {
  if (unapproved === undefined) return {};
  const { phase, by, distrust, at } = unapproved;
  const whose = by === undefined ? undefined : brief(by, 80);
  return { approval_not_believed: compact({ phase, by: whose, reason: distrust, at }) };
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

/** Returns a task as the list of its phase shows it. */
function taskEntry(task: TaskProgress): WireObject {
  const { number, id, name, state, dependencies, ready, closed, optional, requirements } = task;
  return compact({
    task_number: number,
    id,
    name: brief(name, 120),
    state,
    dependencies: dependencies.length === 0 ? undefined : dependencies,
    ready: ready || undefined,
    closed,
    optional: optional || undefined,
    requirements: requirements?.map((reference) => brief(reference, 120)),
  });
}

function checkpoint(phase: PhaseDefinition, fromText: readonly string[] | undefined): WireObject {
  // The evidence schema of a plan's gate has its items with their numbers. What a gate hides is not repeated from the
  // metadata either.
  const isTold = phase.gate.kind !== "plan" && revealOf(phase.gate) === "fields";
  const validation = isTold ? (phase.validationCriteria ?? unlessLong(fromText)) : undefined;
  const { required, format, example } = wanted(phase.gate);
  return {
    required_evidence: required,
    ...part("validation", validation?.join("; ")),
    evidence_schema: format,
    ...part("evidence_example", example),
  };
}

/** What a gate expects. */
interface Wanted {
  readonly required: readonly string[];
  readonly format: JsonObject;
  /** Missing if it is long or would hold a claim: the schema has everything that is required. */
  readonly example: JsonObject | undefined;
}

/** What the gates expect that were shown: each is shown many times. */
const wantedBy = new WeakMap<GateDefinition, Wanted>();

function wanted(gate: GateDefinition): Wanted {
  const known = wantedBy.get(gate);
  if (known !== undefined) return known;
  const example = exampleWithoutClaims(gate);
  const isShort = example !== undefined && JSON.stringify(example).length <= LIST_MAX;
  const found = {
    required: requiredNames(gate),
    format: requiredFormat(gate),
    example: isShort ? example : undefined,
  };
  wantedBy.set(gate, found);
  return found;
}

const LIST_MAX = 2400;

function unlessLong<T extends readonly unknown[]>(list: T | undefined): T | undefined {
  return list !== undefined && JSON.stringify(list).length <= LIST_MAX ? list : undefined;
}

/** Names the artifacts of the last phase that has some; those of earlier ones were named in the phases after them. */
function artifactNames(artifacts: PhaseView["artifacts"]): WireObject {
  if (artifacts.size === 0) return {};
  const [newest, ...earlier] = [...artifacts].reverse();
  if (newest === undefined) return {};
  const named = { [`phase_${newest[0]}`]: newest[1] };
  return earlier.length === 0 ? named : { ...named, earlier: `${earlier.length} more: get_state with a phase` };
}

/** Returns the same with the time and digest of each check, and the first lines of passed checks. */
function verificationRecord(verification: readonly Verification[] | undefined, reveal: Reveal = "fields"): WireObject {
  if (verification === undefined || reveal !== "fields") return {};
  return { verification: listed(verification).map(recordEntry) };
}

/** Limits the results in an answer. */
const RESULTS_MAX = 25;

/** Failed checks come first. */
function listed(verification: readonly Verification[]): readonly Verification[] {
  return [...verification].sort((one, other) => Number(one.ok) - Number(other.ok)).slice(0, RESULTS_MAX);
}

/** Limits the lines of a passed check. */
const LINES_MET = 3;

const LINES_MAX = 20;

function recordEntry(result: Verification): WireObject {
  const { ok, output, at, digest } = result;
  const lines = ok ? LINES_MET : LINES_MAX;
  return compact({ ...resultEntry(result), output: firstLines(output, lines), at, digest });
}

const TEXT_MAX = 300;

function resultEntry({ verifier, field, check, ok, failed, message, ran, exit, output }: Verification): WireObject {
  return compact({
    verifier,
    field,
    check,
    ok,
    could_not_run: failed,
    found: brief(message, TEXT_MAX),
    ran: ran === undefined ? undefined : brief(ran, TEXT_MAX),
    exit,
    output: ok ? undefined : firstLines(output, LINES_MAX),
  });
}

const LINE_MAX = 200;

function firstLines(output: readonly string[] | undefined, most: number): readonly string[] | undefined {
  if (output === undefined || output.length === 0) return undefined;
  return output.slice(0, most).map((line) => brief(line, LINE_MAX));
}
