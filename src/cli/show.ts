/**
 * `phasegate show`: one report for sessions of all kinds. It has a title, fields, of which the first say how the session stands and
 * why, and what happened in it, the newest first: attempts, the steps of an instance, or the entries of a recorded session.
 */
import type { Writable } from "node:stream";
import { hashEvidence } from "../approval/message.js";
import { waivedText } from "../gate/waivers.js";
import type { Engine } from "../phased/engine.js";
import { isRefused } from "../phased/state/head.js";
import { isAttemptAt, type PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import { type Owner, ownedBy } from "../ports/actor.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { findIn } from "../read/lists.js";
import type { ListedSession, PhaseLine, Why } from "../read/model.js";
import { phaseState } from "../read/phase-state.js";
import type { RecordedReader } from "../read/sources.js";
import { askerText, waiversIn } from "../read/waivers.js";
import { REASON_MAX, whyPhased, whyRecorded, whyRouted } from "../read/why.js";
import { unchangedText, whyText } from "../read/why-text.js";
import { STATUS_WORDS } from "../routed/decision/request.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedEntry } from "../routed/state/history.js";
import type { UnapprovedStep } from "../routed/types.js";
import { defined } from "../workflow/json.js";
import { numberInPlan } from "../workflow/structure.js";
import type { RecordedEntry } from "../workspace/session/machine.js";
import { type AnswerCommands, answersFor, firstText, serverText } from "./answer-command.js";
import { attemptLines, EVIDENCE_MAX, evidenceLines, resultLines, submittedLines } from "./attempts.js";
import { command, flag, required } from "./command.js";
import { EXIT } from "./exit-codes.js";
import { columnsOf, printWrapped, wrapped } from "./layout.js";
import { type OpenedSession, openSession } from "./opened.js";
import { jsonOption, sessionArgument, stateOption } from "./options.js";
import { SHORT_IDS_MAX, shortIdsIn } from "./session-id.js";
import { styledStanding, styledStatus } from "./standing-styles.js";
import { using } from "./state.js";
import {
  counted,
  durationText,
  isTty,
  phaseTitle,
  printable,
  printJson,
  printLines,
  styled,
  timeText,
} from "./terminal.js";
import { readTrust, trustOptions } from "./trust.js";

const HELP = `
First comes how the session stands and why, and what answers it. Then come its phases, and its attempts, the newest first.
Each attempt has its evidence and the hash of it, what the verifiers have seen, waivers, approvals and notes. Long
evidence is cut, and left out of the JSON, unless --full is given.

If approvers are given, the session is shown as it was before any approval that is not by one of them, and the exit
code is 1. Without approvers, the session is shown as it is in its log.`;

export const showCommand = command({
  name: "show",
  description:
    "Shows one session: how it stands, its phases, and its attempts or steps with their problems, the newest first.",
  arguments: [sessionArgument()],
  options: {
    state: required(stateOption()),
    ...trustOptions(),
    full: flag("--full", "show the whole evidence and output of every attempt, however long"),
    json: jsonOption(),
  },
  help: HELP,
  async run({ state, full, json, ...trust }, terminal, given) {
    const trusted = await readTrust(trust);
    const opened = await openSession(state, given, trusted);
    const { sessionId } = opened;
    const { stdout } = terminal;
    const commands = await answersFor({ state, ...trust }, trusted.approvers);
    const report = await using(opened.engine, async () => {
      const short = isTty(stdout) ? await shortIdsIn(opened.storage, [sessionId], SHORT_IDS_MAX) : String;
      return reportOf(opened, sessionId, { stream: stdout, full: full === true, short: short(sessionId), commands });
    });
    if (json) printJson(terminal, report.json);
    else {
      printLines(terminal, headLines(sessionId, report.fields, stdout));
      printWrapped(terminal, ["", ...report.lines]);
    }
    return report.isUnapproved ? EXIT.problems : EXIT.ok;
  },
});

/** A field of a report, with one or more lines. A field without a value is not shown. A `whole` one is copied: no line is broken. */
export type Field = readonly [name: string, value: string | readonly string[] | undefined, whole?: "whole"];

interface Report {
  readonly json: object;
  readonly fields: readonly Field[];
  /** The events of the session, from the newest to the oldest. */
  readonly lines: readonly string[];
  /** True if the log has a gate as passed without an approval by one of the approvers. */
  readonly isUnapproved: boolean;
}

interface Shown {
  readonly stream: Writable;
  readonly full: boolean;
  /** The id of the session as commands are shown. */
  readonly short: string;
  /** The commands that answer what the session waits for. */
  readonly commands: AnswerCommands;
}

function reportOf(opened: OpenedSession, sessionId: string, shown: Shown): Promise<Report> {
  if (opened.kind === "phased") return phasedReport(opened.engine, sessionId, shown);
  if (opened.kind === "routed") return routedReport(opened.engine, sessionId, shown);
  return recordedReport(opened.engine, sessionId, shown);
}

/** Returns the title of a session and its fields as lines. */
export function headLines(title: string, fields: readonly Field[], stream: Writable): string[] {
  const width = columnsOf(stream);
  const lines = fields.flatMap(([name, value, whole]) =>
    [value ?? []]
      .flat()
      .flatMap((text) => wrapped(VALUE + text, whole ? undefined : width))
      .map((line, index) => (index === 0 ? `  ${name}`.padEnd(VALUE.length) + line.slice(VALUE.length) : line)),
  );
  return [styled(stream, "bold", title), ...lines];
}

/** Stands before the value of a field. */
const VALUE = " ".repeat(12);

/** An approval that a session of any kind waits for. */
interface Awaited {
  readonly prompt: string;
  readonly approvers?: readonly string[];
  readonly evidenceHash: string;
}

function awaitingJson(awaiting: Awaited | undefined): Awaited | undefined {
  if (awaiting === undefined) return undefined;
  const { prompt, approvers, evidenceHash } = awaiting;
  return { prompt, approvers, evidenceHash };
}

function waiverFields(state: StateView, history: readonly PhaseAttempt[], shown: Shown): Field[] {
  const { awaitingWaiver: open, waiverDenied: denied, waivedInVain = [] } = state;
  const asker = askerText(state.head.owner?.name);
  return [
    ...waiversIn(state, history).map(({ place, waived, askedAt, grantedAt }): Field => {
      const asked = askedAt === undefined ? [] : [`asked ${asker}, ${timeText(askedAt)}`];
      const times = [...asked, ...(grantedAt === undefined ? [] : [`granted ${timeText(grantedAt)}`])].join("; ");
      return ["waived", [`${place}: ${waivedText(waived)}`, times].filter(Boolean).map((text) => printable(text))];
    }),
    ...waivedInVain.map(({ fields, by, distrust }): Field => {
      return ["not waived", printable(`${fields.join(", ")} waived by ${by}, not accepted here (${distrust})`)];
    }),
    ["reason", open && printable(open.reason)],
    ["asked", open && printable(`${asker}, ${timeText(open.askedAt)}`)],
    ["request", open?.request],
    ...(open === undefined ? [] : answerFields({ what: "waiver", ...open }, shown)),
    [
      "denied",
      denied &&
        `no waiver of ${printable(denied.fields.join(", "))}, says ${printable(denied.by)}: ${printable(denied.note)}`,
    ],
  ];
}

function awaitingFields(awaiting: Awaited | undefined, shown: Shown): Field[] {
  if (awaiting === undefined) return [];
  const { prompt, evidenceHash } = awaiting;
  return [
    ["question", printable(prompt)],
    ["evidence", evidenceHash],
    ...answerFields({ what: "approval", ...awaiting }, shown),
  ];
}

/** Returns the command that says yes, and the one that says no; before them what a person does once, who has no key yet. */
function answerFields(asked: Parameters<AnswerCommands["answers"]>[0], { commands, short }: Shown): Field[] {
  const { who, first, server, yes, no } = commands.answers(asked, short);
  return [
    ["first", first.length === 0 ? undefined : firstText(who)],
    ["", first.map((line) => printable(line)), "whole"],
    ["", server && printable(serverText(server))],
    ["answer", [yes, no].map((line) => printable(line)), "whole"],
  ];
}

/** Returns the command that lets a session go on that has failed; or that no command does. */
function retryLine({ commands, short }: Shown, isPossible: boolean): string {
  return isPossible ? printable(commands.retry(short)) : "no retry is possible: start a new session";
}

/** The most problems of a refusal that the summary has. */
const PROBLEMS_SHOWN = 3;

/** Returns how a session stands and why, what was wrong with its last submission, and what the host must do. */
function standingFields(
  state: StateView,
  summary: ListedSession | undefined,
  history: readonly PhaseAttempt[],
  shown: Shown,
): Field[] {
  const { stream } = shown;
  const { head, structure, currentPhase } = state;
  const { status, position } = head;
  const name = structure.phases[position]?.name ?? "";
  const last = history.findLast((attempt) => isAttemptAt(attempt, currentPhase) && attempt.status === "failed");
  const { problems = [] } = (status !== "completed" && isRefused(head) ? last : undefined) ?? {};
  const why = summary && whyPhased(summary, state, history);
  // The first line may have said the only one.
  const listed = problems.every(({ message }) => message === why?.reason) ? [] : problems;
  const left = listed.length - PROBLEMS_SHOWN;
  const needsRetry = status === "failed" || summary?.waitsFor?.includes("host") === true;
  return [
    ["status", standingLine(stream, status, summary, why)],
    ["phase", status === "completed" ? undefined : `${currentPhase} of ${structure.phases.length}: ${printable(name)}`],
    ["problems", listed.slice(0, PROBLEMS_SHOWN).map(({ message }) => `· ${printable(message)}`)],
    ["", left > 0 ? `… ${counted(left, "more problem")}, below` : undefined],
    ["next", needsRetry ? retryLine(shown, true) : undefined, "whole"],
  ];
}

/** Returns how a session stands and why, in the words of its page; its status where lists can't show it. */
function standingLine(
  stream: Writable,
  status: SessionStatus,
  summary: ListedSession | undefined,
  why: Why | undefined,
): string {
  if (summary === undefined || why === undefined) return styledStatus(stream, status);
  const unchanged = unchangedText(summary, Date.now(), durationText);
  return styledStanding(stream, summary, printable(whyText(why, unchanged)));
}

/** Returns an attempt for JSON: evidence that is long is left out, and its length is there instead. */
function attemptJson({ evidence, ...attempt }: PhaseAttempt, full: boolean): object {
  if (evidence === undefined) return attempt;
  const { length } = JSON.stringify(evidence);
  return { ...attempt, ...(full || length <= EVIDENCE_MAX ? { evidence } : { evidenceCharacters: length }) };
}

async function phasedReport(engine: Engine, sessionId: string, shown: Shown): Promise<Report> {
  const { stream, full } = shown;
  const session = engine.session(sessionId);
  const { summary } = await findIn((query) => engine.listSessions(query), sessionId);
  const [view, history] = await Promise.all([session.state(), session.history({ evidence: true })]);
  const {
    head,
    structure,
    updatedAt,
    awaiting,
    unapproved,
    awaitingWaiver,
    waiverDenied,
    waived,
    note: lastNote,
  } = view;
  const { workflowType, revision, target, owner, status, phase, createdAt } = head;
  const tasks = status === "completed" ? [] : view.tasks;
  const pause = head.status === "paused" ? head : undefined;
  const phases = structure.phases.map((one) => ({
    number: one.number,
    phaseInPlan: numberInPlan(one),
    name: one.name,
    status: PHASES[phaseState(view, one.number)][0],
    attempts: history.filter((attempt) => isAttemptAt(attempt, one.number)),
  }));
  const gone = goneIn(history);
  const json = {
    sessionId: view.sessionId,
    workflowType,
    name: structure.name,
    revision,
    target,
    status,
    phase,
    ...(owner && ownedBy(owner)),
    note: pause?.note,
    awaiting: awaitingJson(awaiting),
    unapproved,
    awaitingWaiver,
    waiverDenied,
    waived,
    parent: head.parent,
    children: view.children,
    tasks: tasks.length === 0 ? undefined : tasks.map(({ ready: _, ...task }) => task),
    lastNote,
    createdAt,
    updatedAt,
    phases: phases.map((one) => ({ ...one, attempts: one.attempts.map((attempt) => attemptJson(attempt, full)) })),
    gone:
      gone.length === 0
        ? undefined
        : gone.map(({ name, attempts }) => ({ name, attempts: attempts.map((one) => attemptJson(one, full)) })),
  };
  const about = lastNote?.task === undefined ? "" : `task ${lastNote.task}: `;
  const fields: Field[] = [
    ...standingFields(view, summary, history, shown),
    ["approval", unapproved && printable(unapproved.message)],
    ...awaitingFields(awaiting, shown),
    ...waiverFields(view, history, shown),
    // The first line has a short one.
    [
      "note",
      pause?.note && (pause.beforeDecision || pause.note.length > REASON_MAX)
        ? `${printable(pause.note)}${age(pause)}`
        : undefined,
    ],
    ["tasks", tasksText(tasks)],
    ["last note", lastNote && `${about}${printable(lastNote.note)}${age(lastNote)}`],
    ["workflow", `${printable(structure.name)} (${printable(workflowType)}, revision ${printable(revision)})`],
    ["target", printable(target)],
    ["child of", head.parent && `${head.parent.sessionId}, phase ${head.parent.phase}`],
    ["orphaned", view.orphaned && `${printable(view.orphaned)}: it counts for nothing there any more`],
    ["owner", owner && ownerText(owner)],
    ["created", timeText(createdAt)],
    ["updated", timeText(updatedAt)],
  ];
  const titles = new Map(
    phases.map(({ number, ...one }) => [number, printable(phaseTitle(number, one.name, one.phaseInPlan))]),
  );
  const path = phases.flatMap(({ number }) => {
    const [, style, mark] = PHASES[phaseState(view, number)];
    const children = number === phase ? childLines(view.children) : [];
    return [`${styled(stream, style, mark)} ${titles.get(number)}`, ...children.map((line) => `    ${line}`)];
  });
  const titleOf = (attempt: PhaseAttempt) =>
    attempt.gone === undefined
      ? (titles.get(attempt.phase) ?? "")
      : `${printable(attempt.gone)}: gone from the workflow`;
  const lines = history.toReversed().flatMap((attempt, index, all) => {
    const before = all[index - 1];
    const isNext = before === undefined || titleOf(before) !== titleOf(attempt);
    const title = isNext ? ["", styled(stream, "bold", titleOf(attempt))] : [];
    const at = attempt.gone === undefined ? phaseState(view, attempt.phase) : undefined;
    return [...title, ...attemptLines(attempt, at, stream, full).map((line) => `  ${line}`)];
  });
  return { json, fields, lines: [...path, ...lines], isUnapproved: unapproved !== undefined };
}

/** Returns the children of the current phase, each in a line; none if it is no workflow. */
function childLines(view: StateView["children"]): string[] {
  if (view === undefined) return [];
  const { workflowType, children, fault } = view;
  const completed = children.filter(({ status }) => status === "completed").length;
  const title = `${printable(workflowType)}: ${completed} of ${children.length} completed`;
  const rows = children.map(({ target, sessionId, status, phase, total }) => {
    const where = status === "active" ? ` in phase ${phase} of ${total}` : "";
    return `  · ${printable(target)}: ${status.replace("_", " ")}${where}${sessionId === undefined ? "" : `, ${sessionId}`}`;
  });
  return [title, ...rows, ...(fault === undefined ? [] : [`  · ${printable(fault)}`])];
}

/** Returns the attempts at phases that the session's workflow had before it was moved to another definition. */
function goneIn(history: readonly PhaseAttempt[]) {
  const names = new Set(history.flatMap(({ gone }) => gone ?? []));
  return [...names].map((name) => ({ name, attempts: history.filter(({ gone }) => gone === name) }));
}

/** Says of a note that it does not know what a person has decided since. */
function age({ beforeDecision }: { readonly beforeDecision?: true | undefined }): string {
  return beforeDecision ? " (before the decision on the waiver)" : "";
}

/** How a task that is not done is closed, in the order in which it is shown. */
const CLOSED = { given_up: "given up", skipped: "left out", waived: "waived", dropped: "dropped" };

/** Returns which tasks of the current phase are done, given up, waived or dropped; undefined if every task is open. */
function tasksText(tasks: StateView["tasks"]): string | undefined {
  const numbers = (chosen: StateView["tasks"]) => chosen.map(({ number }) => number).join(", ");
  const done = tasks.filter((task) => task.done);
  const parts = done.length === 0 ? [] : [`${done.length} of ${tasks.length} done (${numbers(done)})`];
  for (const [how, label] of Object.entries(CLOSED)) {
    const chosen = tasks.filter((task) => task.closed === how);
    if (chosen.length > 0) parts.push(`${label}: ${numbers(chosen)}`);
  }
  if (parts.length === 0) return undefined;
  const next = tasks.find(({ ready }) => ready) ?? tasks.find((task) => !task.done && task.closed === undefined);
  if (next !== undefined) parts.push(`next is ${next.number}: ${printable(next.name)}`);
  return parts.join(", ");
}

const CURRENT = ["current", "cyan", "▶"] as const;

/** What a phase is called, with the style and the mark of its line. */
const PHASES = {
  done: ["completed", "green", "✓"],
  overridden: ["completed", "green", "✓"],
  skipped: ["skipped", "yellow", "»"],
  failed: ["failed", "red", "✗"],
  ahead: ["ahead", "gray", "○"],
  working: CURRENT,
  refused: CURRENT,
  waiting: CURRENT,
  paused: CURRENT,
} as const satisfies Record<PhaseLine["state"], readonly string[]>;

async function routedReport(engine: RoutedEngine, sessionId: string, shown: Shown): Promise<Report> {
  const { stream, full } = shown;
  const { summary } = await findIn((query) => engine.listSessions(query), sessionId);
  const session = engine.session(sessionId);
  const [view, history] = await Promise.all([session.state(), session.history()]);
  const { sessionId: id, awaiting, allowed: _, ...rest } = view;
  const { workflow, revision, status, currentStep, createdAt, updatedAt, pending, unapproved } = view;
  const json = {
    ...{ sessionId, kind: "routed" },
    ...rest,
    status: STATUS_WORDS[status],
    awaiting: awaitingJson(awaiting),
    history: history.map(entryJson),
  };
  const fields: Field[] = [
    ["status", standingLine(stream, status, summary, summary && whyRouted(summary, view, history))],
    ["next", status === "failed" ? retryLine(shown, view.allowed.includes("retry")) : undefined, "whole"],
    ["step", status === "completed" ? undefined : currentStep && printable(currentStep)],
    ["approval", unapproved && unapprovedText(unapproved)],
    ["pending", pending && "a report that is not decided yet"],
    ...awaitingFields(awaiting, shown),
    ["workflow", `${printable(workflow)} (routed, revision ${printable(revision)})`],
    ["created", timeText(createdAt)],
    ["updated", timeText(updatedAt)],
  ];
  const lines = history.toReversed().flatMap((entry) => stepLines(entry, stream, full));
  return { json, fields, lines, isUnapproved: unapproved !== undefined };
}

function entryJson({ decision, ...entry }: RoutedEntry) {
  return decision === undefined
    ? entry
    : { ...entry, decision: { ...decision, status: STATUS_WORDS[decision.status] } };
}

function unapprovedText({ step, by, distrust }: UnapprovedStep): string {
  const approval = by === undefined ? "without an approval" : `on an approval by ${printable(by)} that is not accepted`;
  return `${printable(step)} was passed ${approval} (${distrust})`;
}

function stepLines(entry: RoutedEntry, stream: Writable, full: boolean): string[] {
  const { timestamp, stepName, assumedStep, outcomeStatus, determinedNextStep, decision, problems = [] } = entry;
  const by = entry.by === undefined ? "" : ` by ${printable(entry.by)}`;
  const { details, message, error } = entry.report ?? {};
  const said = evidenceLines(defined({ message, error: error ?? undefined }), EVIDENCE_MAX, full);
  const evidence = typeof details === "object" && details !== null ? details : undefined;
  const step = stepName === "" ? "the start" : printable(stepName);
  const assumed = assumedStep === undefined ? "" : `, reported at ${printable(assumedStep)}`;
  const next = determinedNextStep === undefined ? "" : ` → ${printable(determinedNextStep)}`;
  const model = decision?.usage?.model === undefined ? "" : `, ${printable(decision.usage.model)}`;
  const duration = decision === undefined ? "" : `  (${decision.milliseconds} ms${model})`;
  const results = (entry.verification ?? []).flatMap((result) => resultLines(result, stream, full));
  return [
    `${timeText(timestamp)}  ${step}: ${printable(outcomeStatus)}${by}${assumed}${next}${duration}`,
    ...(decision?.reasoning === undefined ? [] : [`    ${printable(decision.reasoning)}`]),
    ...problems.map(({ message }) => `    · ${printable(message)}`),
    ...said.map((text) => `  ${text}`),
    ...results.map((text) => `    ${text}`),
    ...(entry.reason === undefined ? [] : [`    ${printable(entry.reason)}`]),
    ...submittedLines(evidence, evidence && hashEvidence(evidence), full).map((text) => `  ${text}`),
  ];
}

function ownerText({ name, team }: Owner): string {
  return printable(team === undefined ? name : `${name} (${team})`);
}

async function recordedReport(reader: RecordedReader, sessionId: string, shown: Shown): Promise<Report> {
  const { stream } = shown;
  const { summary } = await findIn((query) => reader.list(query), sessionId);
  const { head, entries = [] } = (await reader.read(sessionId)) ?? {};
  const { status, workflow, owner, createdAt } = head ?? {};
  const fields: Field[] = [
    ["status", status && standingLine(stream, status, summary, summary && whyRecorded(summary, entries))],
    ["next", status === "failed" ? retryLine(shown, false) : undefined, "whole"],
    ["workflow", workflow && printable(workflow)],
    ["owner", owner && ownerText(owner)],
    ["created", createdAt && timeText(createdAt)],
  ];
  const lines = entries
    .toReversed()
    .map((entry) => `${timeText(entry.at)}  ${entry.type} ${printable(subjectOf(entry))}`.trimEnd());
  return { json: { sessionId, ...head, ...(owner && ownedBy(owner)), entries }, fields, lines, isUnapproved: false };
}

function subjectOf(entry: RecordedEntry): string {
  switch (entry.type) {
    case "read":
    case "listed":
      return entry.path;
    case "saved":
      return `${entry.path} (${entry.bytes} bytes${entry.replaced ? ", replaced" : ""})`;
    case "preloaded":
      return `${entry.workflow} (${entry.files.length} files)`;
    case "step":
      return entry.step;
    case "opened":
      return entry.workflow ?? "";
    case "completed":
      return entry.summary ?? entry.status;
    case "reopened":
      return "";
  }
}
