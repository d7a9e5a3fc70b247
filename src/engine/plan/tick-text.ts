/** What ticks do to the text of a plan, as its parser writes it. Pure. */
import type { Plan, PlanTask } from "../../plan/plan.js";
import type { SourceParser } from "../../ports/source-parser.js";
import { type KnownTask, locateTask } from "./locate-task.js";

/** Tasks whose marks in the source are behind. */
export interface DueTasks {
  readonly tick: readonly KnownTask[];
  readonly untick: readonly KnownTask[];
}

/** A text with these ticks in it, and which tasks it had. */
export interface TickedText {
  readonly text: string;
  readonly ticked: readonly string[];
  readonly unticked: readonly string[];
  readonly missing: readonly string[];
}

type TickingParser = SourceParser & Required<Pick<SourceParser, "tick">>;

/** Whether sources of a parser are written. */
export function canTick(parser: SourceParser): parser is TickingParser {
  return parser.tick !== undefined;
}

/** Writes ticks into a text, as it is now: everything else in it stays. */
export function tickText(
  parser: TickingParser,
  before: string,
  file: string,
  due: DueTasks,
  tickCriteria: boolean,
): TickedText {
  const { plan } = parser.parse(before, file);
  const find = (task: KnownTask) => locateTask(plan, task);
  const ticked = due.tick.flatMap((task) => find(task) ?? []);
  const unticked = due.untick.flatMap((task) => find(task) ?? []).filter((task) => !ticked.includes(task));
  let text = before;
  let current: Plan | undefined = plan;
  for (const [tasks, done] of [[unticked, false] as const, [ticked, true] as const]) {
    // A task without a box of its own shows in its criteria alone that it is done.
    const withCriteria = (task: PlanTask) => tickCriteria || task.checkbox === undefined;
    for (const criteria of [true, false]) {
      const ids = tasks.filter((task) => withCriteria(task) === criteria).map(({ id }) => id);
      if (ids.length === 0) continue;
      // Places move with each change, so the text is read anew.
      if (current === undefined) current = parser.parse(text, file).plan;
      text = parser.tick(text, current, { tasks: ids, criteria, done });
      current = undefined;
    }
  }
  const missing = [...due.tick, ...due.untick].filter((task) => find(task) === undefined);
  return { text, ticked: ids(ticked), unticked: ids(unticked), missing: ids(missing) };
}

function ids(tasks: readonly { readonly id: string }[]): string[] {
  return [...new Set(tasks.map(({ id }) => id))];
}
