/** Writes ticks into a tasks.md: the mark of a checkbox or the word of a status line changes, and nothing else. */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import { isTicked, markFor } from "./boxes.js";
import type { Checkbox, Plan, PlanItem, PlanTask, StatusWord } from "./plan.js";
import { type PlanWords, type Vocabulary, vocabularyOf } from "./words.js";

/** The options of {@link tickTask}. */
export interface TickOptions {
  /** True if the task's acceptance criteria are ticked too. Default false. */
  readonly criteria?: boolean;
  /** `false` removes the ticks. Default true. */
  readonly done?: boolean;
  /** The words that the plan was read with, beside the built-in ones. */
  readonly words?: PlanWords;
}

/**
 * Returns the source with a task ticked; every other character stays as it was. `plan` must be the result of reading
 * this text. Where the state of a task is a status line, its word changes: `Pending` becomes `Done`. A task without both,
 * usually a heading, changes only its criteria.
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
  const words = vocabularyOf(options.words);
  const ofTasks = tasks.flatMap((task) => [
    ...(task.checkbox === undefined ? [] : [task.checkbox]),
    ...(criteria ? task.acceptanceCriteria.flatMap((item) => item.checkbox ?? []) : []),
  ]);
  const boxes = [...ofTasks, ...items.flatMap((item) => item.checkbox ?? [])];
  return withEdits(markdown, [
    ...boxes.flatMap((box) => boxEdit(markdown, box, done) ?? []),
    ...tasks.flatMap(({ status }) => (status && statusEdit(markdown, status, done, words)) ?? []),
  ]);
}

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
function boxEdit(markdown: string, { mark, position }: Checkbox, done: boolean): Edit | undefined {
  const { offset } = position;
  const found = markdown.charAt(offset);
  const known = mark === "" ? /[^\S\r\n]|[\]］】\\]/.test(found) : markdown.startsWith(mark, offset);
  if (!known) throw otherText(position.line);
  if (isTicked(mark) === done) return undefined;
  const text = markFor(done, mark);
  if (mark === "") return { offset, length: /\s/.test(found) ? 1 : 0, text };
  // `[\~]`: the mark is escaped, and the new one needs no escape.
  const extra = markdown.charAt(offset - 1) === "\\" ? 1 : 0;
  return { offset: offset - extra, length: mark.length + extra, text };
}

/** An emoji before a status word, and the blanks between them. */
const EMOJI = /\p{Extended_Pictographic}\uFE0F?([ \t]*)$/u;

/** Returns the edit for a status word, with the emoji before it; undefined if it says the same already. */
function statusEdit(
  markdown: string,
  { text, position: { offset, line } }: StatusWord,
  done: boolean,
  words: Vocabulary,
): Edit | undefined {
  if (!markdown.startsWith(text, offset)) throw otherText(line);
  const said = words.stateIn(text);
  if ((said?.state === "done" && !said.limited) === done) return undefined;
  const word = inCaseOf(text, words.wordFor(done ? "done" : "pending", said?.word ?? text));
  const [emoji = "", blanks = ""] = EMOJI.exec(markdown.slice(Math.max(0, offset - 10), offset)) ?? [];
  const before = emoji === "" ? "" : `${done ? "✅" : "⏳"}${blanks}`;
  return { offset: offset - emoji.length, length: emoji.length + text.length, text: before + word };
}

/** Returns a word in capitals, or with a capital, if the other one is. */
function inCaseOf(like: string, word: string): string {
  if (like === like.toUpperCase()) return word.toUpperCase();
  return /^\p{Lu}/u.test(like) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}

function otherText(line: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `line ${line} differs from the text that the plan was read from`, {
    remedy: "Read the text again with parsePlan, and tick that plan.",
    details: { field: "markdown" },
  });
}
