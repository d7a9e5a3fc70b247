/** Writes ticks into the text of a plan with its parser. Pure. */

import { isPhasegateError } from "../../errors.js";
import type { Plan, PlanTask } from "../../plan/plan.js";
import { isTicked } from "../../plan/task-line.js";
import type { SourceParser } from "../../ports/content-provider.js";
import type { PhaseDefinition, TaskDefinition } from "../../workflow/structure.js";
import { matchTasks, type TaskMatches } from "./match.js";

/** A pinned task, with the phases that were pinned with it. */
export interface KnownTask {
  readonly task: TaskDefinition;
  readonly phases: readonly PhaseDefinition[];
}

/** Tasks to tick and to untick. */
export interface DueTasks {
  readonly tick: readonly KnownTask[];
  readonly untick: readonly KnownTask[];
}

/** A text with its ticks, and the tasks that show them, by their ids in the text. */
export interface TickedText {
  readonly text: string;
  readonly ticked: readonly string[];
  readonly unticked: readonly string[];
  /** Tasks that the text no longer has, by their former ids. */
  readonly missing: readonly string[];
  /** Tasks without a checkbox in the text. */
  readonly unwritable: readonly string[];
}

type TickingParser = SourceParser & Required<Pick<SourceParser, "tick">>;

/** Returns true if a parser can write ticks. */
export function canTick(parser: SourceParser): parser is TickingParser {
  return parser.tick !== undefined;
}

/** Writes ticks into the current text; everything else in it stays. */
export function tickText(
  parser: TickingParser,
  before: string,
  file: string,
  due: DueTasks,
  tickCriteria: boolean,
): TickedText {
  const { plan } = parser.parse(before, file);
  const find = finder(plan);
  const ticked = due.tick.flatMap((task) => find(task) ?? []);
  const unticked = due.untick.flatMap((task) => find(task) ?? []).filter((task) => !ticked.includes(task));
  const writing = new Writing(parser, file, before, plan);
  for (const [tasks, done] of [[unticked, false] as const, [ticked, true] as const]) {
    // A task without a box of its own shows in its criteria alone that it is done.
    const withCriteria = (task: PlanTask) => tickCriteria || task.checkbox === undefined;
    for (const criteria of [true, false]) {
      writing.tick(ids(tasks.filter((task) => withCriteria(task) === criteria)), criteria, done);
    }
  }
  const after = new Map(writing.plan().phases.flatMap(({ tasks }) => tasks.map((task) => [task.id, task] as const)));
  const shows = (done: boolean) => (id: string) => showsDone(after.get(id)) === done;
  const [done, open] = [ids(ticked), ids(unticked)];
  const missing = [...due.tick, ...due.untick].filter((task) => find(task) === undefined);
  return {
    text: writing.text,
    ticked: done.filter(shows(true)),
    unticked: open.filter(shows(false)),
    missing: [...new Set(missing.map(({ task }) => task.plan?.id ?? task.name))],
    unwritable: [...done.filter(shows(false)), ...open.filter(shows(true))],
  };
}

/** Returns true if the text shows a task as done: a heading does by the boxes of its criteria. */
export function showsDone(task: PlanTask | undefined): boolean {
  if (task === undefined || task.state === "done") return task !== undefined;
  const boxes = task.checkbox === undefined ? task.acceptanceCriteria.flatMap(({ checkbox }) => checkbox ?? []) : [];
  return boxes.length > 0 && boxes.every(({ mark }) => isTicked(mark));
}

function finder(plan: Plan): (known: KnownTask) => PlanTask | undefined {
  const known = new Map<readonly PhaseDefinition[], TaskMatches>();
  return ({ task, phases }) => {
    const matches = known.get(phases) ?? matchTasks(phases, plan.phases);
    known.set(phases, matches);
    return matches.get(task);
  };
}

/** A text that is being ticked. */
class Writing {
  text: string;
  private readonly parser: TickingParser;
  private readonly file: string;
  private read: Plan | undefined;

  constructor(parser: TickingParser, file: string, text: string, plan: Plan) {
    this.parser = parser;
    this.file = file;
    this.text = text;
    this.read = plan;
  }

  /** Positions move with each change, so the text is read again. */
  plan(): Plan {
    this.read ??= this.parser.parse(this.text, this.file).plan;
    return this.read;
  }

  /** Ticks tasks: together, or one by one where one of them can't be, which stops no other. */
  tick(tasks: readonly string[], criteria: boolean, done: boolean): void {
    if (tasks.length === 0) return;
    try {
      const text = this.parser.tick(this.text, this.plan(), { tasks, criteria, done });
      if (text !== this.text) this.read = undefined;
      this.text = text;
    } catch (error) {
      // A parser that writes what is no plan any more is not tried with less.
      if (isPhasegateError(error, "PLAN_PARSE") && error.cause === undefined) throw error;
      // One alone that can't be set is told as such: it doesn't show in the text.
      if (tasks.length > 1) for (const task of tasks) this.tick([task], criteria, done);
    }
  }
}

function ids(tasks: readonly PlanTask[]): string[] {
  return [...new Set(tasks.map(({ id }) => id))];
}
