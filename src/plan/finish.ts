/** Turns drafts into a plan: numbers of phases, ids and states of tasks, descriptions, and durations from overviews. */
import { uniqueIds } from "./ids.js";
import { type IdOf, idFinder, linkDrafts } from "./links.js";
import {
  keptItems,
  type Plan,
  type PlanPhase,
  type PlanPosition,
  type PlanReport,
  type PlanTask,
  type TaskState,
} from "./plan.js";
import type { Context, PhaseDraft, ReadPlan, TaskDraft } from "./reader.js";
import { cellsOf } from "./rows.js";
import { durationIn } from "./task-line.js";
import { labelOf, phaseTitle } from "./titles.js";
import type { Vocabulary } from "./words.js";

/** Gives phases their numbers and tasks their ids, and returns how the ids are found. */
export function numberDrafts({ phases, tasks, context: { outline, report } }: ReadPlan): IdOf {
  numberPhases(phases, report);
  numberTasks(phases, outline.identified, report);
  return idFinder(tasks.values());
}

export function finishPlan(read: ReadPlan, idOf: IdOf): Plan {
  const { context, phases, tasks } = read;
  const { report, marks } = context;
  const links = linkDrafts(read, idOf);
  // Tasks stand before those inside them, whose states count.
  for (const task of [...tasks.values()].reverse()) task.state = stateOf(task, marks, report);
  const durations = readDurations(context);
  return {
    dialect: context.dialect.name,
    phases: phases.map((draft): PlanPhase => {
      const { key, number, goal } = draft;
      const duration = draft.duration ?? draft.timeInTitle ?? durations.get(key ?? `${number}`);
      const isWritten = key !== undefined && key !== `${number}`;
      return {
        number,
        ...(isWritten && { written: key.length === 1 ? key.toUpperCase() : key }),
        name: draft.name === "" ? `Phase ${key ?? number}` : draft.name,
        ...(goal !== undefined && { goal }),
        ...(duration !== undefined && { estimatedDuration: duration }),
        tasks: draft.tasks.map((task) => finishTask(task, links.get(task.id) ?? [], read)),
        validationGate: draft.gate,
        position: draft.position,
      };
    }),
  };
}

function finishTask(draft: TaskDraft, dependencies: readonly string[], read: ReadPlan): PlanTask {
  const { id, state, position, line, time, checkbox, status: { word } = {} } = draft;
  const description = descriptionOf(draft, read);
  return {
    id,
    name: line.name,
    ...(description !== "" && { description }),
    ...(time !== undefined && { estimatedTime: time }),
    dependencies,
    acceptanceCriteria: [...draft.criteria].sort((one, other) => one.position.offset - other.position.offset),
    state,
    ...(checkbox && { checkbox }),
    ...(word !== undefined && (checkbox?.position ?? word.position).line === word.position.line && { status: word }),
    optional: line.optional,
    parallel: draft.parallel,
    ...(line.story !== undefined && { story: line.story }),
    requirements: [...new Set(draft.requirements)],
    files: [...new Set(draft.files)],
    position,
  };
}

/** A phase that says itself that nothing is to be done in it. */
const SAYS_NO_TASKS =
  /\b(?:no (?:setup|tasks?|work|changes?|action)|n\/a|not (?:needed|required|applicable)|nothing to)\b/i;

/** Gives each phase its number if it ascends, else the next one. A phase that only an earlier one moves on is not reported. */
function numberPhases(drafts: readonly PhaseDraft[], report: PlanReport): void {
  let before = -1;
  let written = -1;
  for (const [index, draft] of drafts.entries()) {
    const { key, position } = draft;
    const last = drafts[index - 1]?.key;
    const given = key !== undefined && /^\d{1,6}$/.test(key) ? Number(key) : Number.NaN;
    const number = given > before ? given : Math.max(before + 1, 1);
    const ascends = given > written;
    before = number;
    written = Number.isNaN(given) ? Math.max(written, Math.floor(Number(key)) || 0) : given;
    const isPart = key?.includes(".") && last?.includes(".");
    if (key !== undefined && number !== given && !ascends && !isLetterAfter(key, last) && !isPart) {
      // The number may be that of the ids of its tasks, and then the title doesn't have it.
      const title = draft.name === "" ? `'Phase ${key}'` : `'${draft.name}' (${key})`;
      const message = `${title} is phase ${number} here: numbers must be whole and ascending`;
      report.warn("PHASE_RENUMBERED", position, message, `Write Phase ${number}, or move it.`);
    }
    if (draft.tasks.length === 0 && !SAYS_NO_TASKS.test(`${draft.name} ${draft.goal ?? ""}`)) {
      report.warn("PHASE_EMPTY", position, `phase ${number} has no tasks`);
    }
    draft.number = number;
  }
}

function isLetterAfter(key: string, before: string | undefined): boolean {
  return before === undefined ? key === "a" : /^[a-z]$/.test(before) && before < key;
}

/** Gives each task its id. `identified` means that the plan has ids, so that a task without one is reported. */
function numberTasks(phases: readonly PhaseDraft[], identified: boolean, report: PlanReport): void {
  const ids = uniqueIds(phases.flatMap(({ tasks }) => tasks.flatMap(({ line }) => line.id ?? [])));
  for (const { number, tasks } of phases) {
    // In a phase whose tasks have no ids, they are not missing.
    const isMissing = identified && tasks.filter(({ line }) => line.id !== undefined).length * 2 >= tasks.length;
    for (const [index, task] of tasks.entries()) {
      const { line, position } = task;
      task.id = line.id === undefined ? ids.make(`${number}.${index + 1}`) : ids.take(line.id);
      if (line.id !== undefined) reportSecondId(line.id, task.id, position, report);
      else if (isMissing) report.warn("TASK_WITHOUT_ID", position, `this task has no id; it is ${task.id} here`);
    }
  }
}

export function reportSecondId(given: string, id: string, position: PlanPosition, report: PlanReport): void {
  if (id === given) return;
  report.warn("TASK_ID_REPEATED", position, `an earlier task has the id ${given}; this task is ${id} here`);
}

/** Returns the state of a task: by the checkbox; without one, by the status line and the boxes and tasks inside. */
function stateOf(draft: TaskDraft, marks: Context["marks"], report: PlanReport): TaskState {
  const { line, checkbox, status, position, criteria } = draft;
  const parts = draft.inside.filter(({ state, line: { optional } }) => !optional && state !== "dropped");
  const inside = [
    ...keptItems(criteria).flatMap((item) => (item.checkbox === undefined ? [] : item.checked)),
    ...parts.map(({ state }) => state === "done"),
  ];
  const open = inside.filter((isDone) => !isDone).length;
  const isStill = (says: string) => {
    const message = `this task ${says}, with ${open} open ${open === 1 ? "box" : "boxes"} inside it`;
    report.warn("TASK_TICKED_OPEN", checkbox?.position ?? position, message);
  };
  if (checkbox === undefined) {
    if (line.struck) return "dropped";
    if (status?.unclear !== undefined) {
      const says = status.word === undefined ? "is no known state" : "says done and limits it";
      report.warn(
        "STATE_UNKNOWN",
        status.unclear.position,
        `'${status.unclear.text}' ${says}; the task counts as pending`,
      );
      return "pending";
    }
    const isDone = open === 0 && (inside.length > 0 || status?.state === "done");
    if (status?.state === "done" && !isDone) isStill("says done and counts as pending");
    if (status?.state !== undefined && status.state !== "done") return status.state;
    return isDone ? "done" : "pending";
  }
  const state = marks(checkbox.mark);
  if (state === "done" && open > 0) isStill("is ticked");
  if (state !== "done" && line.struck) return "dropped";
  if (state !== undefined) return state;
  const message = `'[${checkbox.mark}]' has no meaning; the task counts as pending`;
  report.warn("STATE_UNKNOWN", checkbox.position, message, "Write [ ], [x], [-] or [~].");
  return "pending";
}

const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;

/** Returns the lines of a task that are nowhere else in the plan, as Markdown, without their common indentation. */
function descriptionOf({ row, endLine }: TaskDraft, { context, told, untold }: ReadPlan): string {
  const lines: string[] = [];
  for (let line = row.line + 1; line < endLine; line += 1) {
    if (!told.has(line) || untold.has(line)) lines.push(context.source.text(line));
  }
  // Rules at the end separate the task from what follows it.
  const end = lines.findLastIndex((line) => line.trim() !== "" && !RULE.test(line)) + 1;
  const text = outdented(lines).slice(0, end).join("\n");
  return withoutLabel(text.replace(/\n{3,}/g, "\n\n").trim(), context.words).trim();
}

function outdented(lines: readonly string[]): string[] {
  const indentOf = (line: string) => line.search(/[^ \t]|$/);
  const indents = lines.filter((line) => line.trim() !== "").map(indentOf);
  const least = Math.min(...indents.slice(0, 10_000), 1000);
  return lines.map((line) => line.slice(Math.min(least, indentOf(line))));
}

/** Returns the text of `**Description:** text` without the label. */
function withoutLabel(text: string, words: Vocabulary): string {
  const [first = ""] = text.split("\n", 1);
  // Of the bullets, a label ignores `-` and `+`; `*` may be the mark of one.
  const label = labelOf(first.replace(/^\*[ \t]/, ""), words);
  return label?.field === "description" ? label.text + text.slice(first.length) : text;
}

const LISTED = /^\*\*Phase\s+(\d+)(?!\d)[^*]*\*\*(.*)/is;

/** Reads the durations in overviews, by the key of the phase. The first one of a phase counts. */
function readDurations({ rows, words }: Context): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const keep = (key: string | undefined, said: string) => {
    const text = said.trim().replace(/^(\d+(?:\s*-\s*\d+)?)$/, "$1 hours");
    if (key !== undefined && !found.has(key) && durationIn(text) !== undefined) found.set(key, text);
  };
  let columns: { readonly phase: number; readonly time: number } | undefined;
  for (const { kind, text } of rows) {
    const cells = kind === "cells" || (kind === "text" && text.startsWith("|")) ? cellsOf(text) : undefined;
    if (cells === undefined) {
      columns = undefined;
      const [, key, said = ""] = LISTED.exec(text) ?? [];
      const [time = ""] = said.replace(/^[\s:–—-]+/, "").split("(", 1);
      if (kind === "item") keep(key, time);
    } else if (columns === undefined) {
      const phase = cells.findIndex((cell) => /^(?:phase|#)$/i.test(cell));
      const time = cells.findIndex((cell) => /duration|hours|time|effort|estimate/i.test(cell));
      if (phase !== -1 && time !== -1) columns = { phase, time };
    } else {
      const cell = cells[columns.phase] ?? "";
      keep(/^\d+$/.test(cell) ? cell : phaseTitle(cell, words)?.key, cells[columns.time] ?? "");
    }
  }
  return found;
}
