/** Writes ticks into a tasks.md: the character between the brackets changes, and nothing else. */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import { isTicked, markLike } from "./boxes.js";
import type { Checkbox, Plan, PlanItem, PlanTask } from "./plan.js";

/** The options of {@link tickTask}. */
export interface TickOptions {
  /** True if the task's acceptance criteria are ticked too. Default false. */
  readonly criteria?: boolean;
  /** `false` removes the ticks. Default true. */
  readonly done?: boolean;
}

/**
 * Returns the source with a task ticked; every other character stays as it was. `plan` must be the result of reading
 * this text. A task without a checkbox, usually a heading, changes only its criteria.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when the plan has no task with that id, or was read from another text.
 */
export function tickTask(markdown: string, plan: Plan, taskId: string, options: TickOptions = {}): string {
  const tasks = plan.phases.flatMap((phase) => phase.tasks);
  const task = tasks.find(({ id }) => id === taskId);
  if (task === undefined) throw noTask(taskId, tasks);
  return tickTasks(markdown, [task], options);
}

/** Returns the source with all these tasks and items of validation gates ticked. */
export function tickTasks(
  markdown: string,
  tasks: readonly PlanTask[],
  options: TickOptions = {},
  items: readonly PlanItem[] = [],
): string {
  const { criteria = false, done = true } = options;
  const ofTasks = tasks.flatMap((task) => [
    ...(task.checkbox === undefined ? [] : [task.checkbox]),
    ...(criteria ? task.acceptanceCriteria.flatMap((item) => item.checkbox ?? []) : []),
  ]);
  const boxes = [...ofTasks, ...items.flatMap((item) => item.checkbox ?? [])];
  return withEdits(
    markdown,
    boxes.flatMap((box) => editOf(markdown, box, done) ?? []),
  );
}

/** A piece of a text, and its replacement. */
export interface Edit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** Returns a text with pieces replaced. Offsets refer to the text before all edits, and edits must not overlap. */
export function withEdits(source: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const { offset, length, text } of [...edits].sort((one, other) => one.offset - other.offset)) {
    parts.push(source.slice(end, offset), text);
    end = offset + length;
  }
  return parts.join("") + source.slice(end);
}

function noTask(id: string, tasks: readonly PlanTask[]): PhasegateError<"INVALID_INPUT"> {
  const ids = tasks.map((task) => task.id);
  const similar = nearest(id, ids);
  return new PhasegateError("INVALID_INPUT", `the plan has no task ${id}`, {
    remedy: similar === undefined ? "Use the id of one of the plan's tasks." : `Did you mean ${similar}?`,
    details: { field: "taskId", expected: "an id of the plan" },
  });
}

/** Returns the edit for a checkbox; undefined if it is right already. `[]` becomes one character longer. */
function editOf(markdown: string, { mark, position }: Checkbox, done: boolean): Edit | undefined {
  const { offset } = position;
  const found = markdown.charAt(offset);
  const known = mark === "" ? /[^\S\r\n]|[\]\\]/.test(found) : markdown.startsWith(mark, offset);
  if (!known) throw otherText(position.line);
  if (isTicked(mark) === done) return undefined;
  const length = /[\]\\]/.test(found) ? 0 : Math.max(mark.length, 1);
  return { offset, length, text: markLike(mark, done) };
}

function otherText(line: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `line ${line} differs from the text that the plan was read from`, {
    remedy: "Read the text again with parsePlan, and tick that plan.",
    details: { field: "markdown" },
  });
}
