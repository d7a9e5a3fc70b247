/** Writes plans as Markdown. What is written is read again, so that a plan is written as it is or refused. */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { chooseDialect, type Dialect } from "./dialects.js";
import { parsePlan } from "./parse-plan.js";
import type { Plan, PlanItem, PlanPhase, PlanTask, TaskState } from "./plan.js";

/** The options of {@link planToMarkdown}. */
export interface WritePlanOptions {
  /** The dialect: `praxis-os`, `spec-kit`, `openspec`, `kiro`, `spec-workflow` or `plain`. Default `praxis-os`. */
  readonly dialect?: string;
}

/**
 * Returns a plan as a tasks.md: `parsePlan` with the same dialect reads the same plan from it, in all but positions, marks
 * and status words. All tasks have a checkbox.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when Markdown or the dialect can't say a part of the plan, such as a name with a
 *   line break, or an id that this dialect does not read as one; or when there is no such dialect.
 */
export function planToMarkdown(plan: Plan, { dialect: name = "praxis-os" }: WritePlanOptions = {}): string {
  const dialect = chooseDialect("", name);
  const blocked = plan.phases.some(({ tasks }) => tasks.some(({ state }) => state === "blocked"));
  const legend = blocked && dialect.tilde !== "blocked" ? [LEGEND] : [];
  const text = `${[...legend, ...plan.phases.flatMap((phase) => phaseBlocks(phase, dialect))].join("\n\n")}\n`;
  checkText(text, plan, name);
  return text;
}

const LEGEND = "Legend: [ ] pending, [!] blocked";

/** Returns the blocks of a phase, between which are blank lines. */
function phaseBlocks(phase: PlanPhase, dialect: Dialect): string[] {
  const { number, written = number, name, goal, estimatedDuration, tasks, validationGate: gate } = phase;
  return [
    dialect.name === "openspec" ? `## ${written}. ${name}` : `## Phase ${written}: ${name}`,
    ...(goal === undefined ? [] : [`**Goal**: ${goal}`]),
    ...(estimatedDuration === undefined ? [] : [`**Duration**: ${estimatedDuration}`]),
    ...(tasks.length === 0 ? [] : [tasks.map((task) => taskLines(task, dialect).join("\n")).join("\n")]),
    ...(gate.length === 0 ? [] : ["**Validation Gate**:", gate.flatMap((item) => itemLines(item, "")).join("\n")]),
  ];
}

function taskLines(task: PlanTask, dialect: Dialect): string[] {
  const { description, estimatedTime, dependencies, requirements, files, acceptanceCriteria: criteria } = task;
  const paragraphs = description?.split("\n").map((line) => (line === "" ? "" : `  ${line}`));
  return [
    titleLine(task, dialect),
    ...(paragraphs === undefined ? [] : ["", ...paragraphs, ""]),
    ...valueLines("Estimated Time", estimatedTime === undefined ? [] : [estimatedTime]),
    ...(dependencies.length === 0 ? [] : [`  - **Dependencies**: ${dependencies.map(named).join(", ")}`]),
    ...valueLines("Requirements", requirements),
    ...valueLines("Files", files),
    ...(criteria.length === 0 ? [] : ["  - **Acceptance Criteria**:"]),
    ...criteria.flatMap((item) => itemLines(item, "    ")),
  ];
}

/** Returns a task in a text about dependencies. `3` alone could count something. */
function named(id: string): string {
  return /^\d/.test(id) ? `Task ${id}` : id;
}

function titleLine({ id, name, state, optional, parallel, story }: PlanTask, { ids: [form], tilde }: Dialect): string {
  const mark = state === tilde ? "~" : MARKS[state];
  const marks = [...(parallel ? ["[P]"] : []), ...(story === undefined ? [] : [`[${story}]`])];
  const title = [...marks, state === "dropped" ? `~~${name}~~` : name].join(" ");
  const number = form === "task" ? `**Task ${id}**:` : /^\d+[a-z]?$/.test(id) ? `${id}.` : id;
  return `- [${mark}]${optional ? "*" : ""} ${number} ${title}`;
}

/** `~` is queued or blocked, by dialect; a legend says that `!` is blocked. */
const MARKS: Readonly<Record<TaskState, string>> = {
  ...{ pending: " ", in_progress: "-", queued: "~", blocked: "!", done: "x", dropped: " " },
};

/** Returns a value behind its label, or several ones in a list below. */
function valueLines(label: string, values: readonly string[]): string[] {
  if (values.length < 2) return values.map((value) => `  - **${label}**: ${value}`);
  return [`  - **${label}**:`, ...values.map((value) => `    - ${value}`)];
}

function itemLines({ text, checked, dropped, checkbox, details = [] }: PlanItem, indent: string): string[] {
  const box = checkbox === undefined ? "" : checked ? "[x] " : "[ ] ";
  return [`${indent}- ${box}${dropped ? `~~${text}~~` : text}`, ...details.map((detail) => `${indent}  - ${detail}`)];
}

/** Reads the text again, and throws `INVALID_INPUT` for the first part of the plan that it does not say. */
function checkText(text: string, plan: Plan, dialect: string): void {
  const read = readAgain(text, dialect);
  const wanted = partsOf(plan);
  for (const [part, value] of wanted) if (read.get(part) !== value) throw unsaid(part, value, read.get(part), dialect);
  for (const [part, value] of read) if (!wanted.has(part)) throw unsaid(part, undefined, value, dialect);
}

function readAgain(text: string, dialect: string): ReadonlyMap<string, string> {
  try {
    return partsOf(parsePlan(text, { dialect }).plan);
  } catch (error) {
    if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
    return new Map();
  }
}

function unsaid(part: string, value: string | undefined, read: string | undefined, dialect: string) {
  const short = (said: string | undefined) => (said === undefined ? "nothing" : said.slice(0, 200));
  const message = `a ${dialect} tasks.md can't say ${part}, ${short(value)}: it would be read as ${short(read)}`;
  return new PhasegateError("INVALID_INPUT", message, {
    remedy:
      "Change this part of the plan: a line break, a label, a mark or a checkbox in a text may have a meaning of its own.",
    details: { field: "plan", expected: "a plan that the dialect can say" },
  });
}

/** Returns what must be the same in both plans, as JSON by its name. The order of ids and files has no meaning. */
function partsOf({ phases }: Plan): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  const add = (of: string, fields: Readonly<Record<string, unknown>>) => {
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) parts.set(`the ${name} of ${of}`, JSON.stringify(value));
    }
  };
  const list = (values: readonly string[]) => [...values].sort();
  const items = (all: readonly PlanItem[]) =>
    all.map(({ text, checked, dropped, details }) => ({ text, checked, dropped, details }));
  add("the plan", { phases: phases.map(({ number }) => number) });
  for (const { number, written, name, goal, estimatedDuration, tasks, validationGate } of phases) {
    const gate = items(validationGate);
    add(`phase ${number}`, { written, name, goal, estimatedDuration, tasks: tasks.map(({ id }) => id), gate });
    for (const task of tasks) {
      const { id, position: _, checkbox: __, status: ___, ...fields } = task;
      add(`task ${id}`, {
        ...fields,
        dependencies: list(fields.dependencies),
        requirements: list(fields.requirements),
        files: list(fields.files),
        acceptanceCriteria: items(fields.acceptanceCriteria),
      });
    }
  }
  return parts;
}
