/** Which rows of a plan name a task, as far as that shows in the row itself. */
import type { Dialect } from "./dialects.js";
import { phaseTitle, type TaskIds, taskTitle } from "./identify.js";
import type { Row } from "./rows.js";

/** The ids of tasks in a plan. */
export interface TaskRows {
  readonly idOf: ReadonlyMap<Row, string>;
  /** How often each id stands at the beginning of a row with a checkbox, or of a heading. */
  readonly mentions: ReadonlyMap<string, number>;
}

/** A line that begins with `**Task 1.1**`, or is all in bold: it may be a task, or speak of one. */
const BOLD_TASK = /^(?:\*\*|__)Task\b/i;
const PLAIN_TASK = /^(?:\*\*|__)?Task[ \t]/i;

/**
 * Finds the ids. A heading or an item with a checkbox is a task by its id; a line without either only where no
 * such row has the id, and only one of them.
 */
export function taskRowsOf(rows: readonly Row[], dialect: Dialect): TaskRows {
  const idOf = new Map<Row, string>();
  const mentions = new Map<string, number>();
  const forms = headingForms(rows, dialect);
  for (const row of rows) {
    const id = row.kind === "heading" ? headingId(row, forms) : checkedId(row, dialect);
    if (id === undefined) continue;
    idOf.set(row, id);
    mentions.set(id, (mentions.get(id) ?? 0) + 1);
  }
  for (const [id, row] of bareTasks(rows, dialect)) if (!mentions.has(id)) idOf.set(row, id);
  return { idOf, mentions };
}

/** Of the lines with one id and without a checkbox, the one below which the most is said; of equals the first. */
function bareTasks(rows: readonly Row[], dialect: Dialect): Map<string, Row> {
  const found = new Map<string, { readonly row: Row; readonly said: number }>();
  let open: { readonly id: string; readonly row: Row; said: number } | undefined;
  const close = () => {
    if (open !== undefined && open.said > (found.get(open.id)?.said ?? -1)) found.set(open.id, open);
    open = undefined;
  };
  for (const row of rows) {
    const id = bareId(row, dialect);
    const isBelow = row.kind === "item" ? row.depth > (open?.row.depth ?? 0) : row.kind === "text";
    if (open !== undefined && id === undefined && isBelow) open.said += 1;
    else close();
    if (id !== undefined) open = { id, row, said: 0 };
  }
  close();
  return new Map([...found].map(([id, { row }]) => [id, row]));
}

function checkedId({ kind, checkbox, text }: Row, { ids }: Dialect): string | undefined {
  return kind === "item" && checkbox !== undefined ? taskTitle(text, ids)?.id : undefined;
}

function bareId({ kind, depth, checkbox, text }: Row, { ids }: Dialect): string | undefined {
  const item = kind === "item" && checkbox === undefined && PLAIN_TASK.test(text);
  const line = kind === "text" && depth === -1 && BOLD_TASK.test(text);
  return item || line ? taskTitle(text, ids)?.id : undefined;
}

/** `1.2 Name` as a heading is a task where no item has an id; else it is a section that holds tasks. */
function headingForms(rows: readonly Row[], { ids }: Dialect): readonly TaskIds[] {
  const named = ids.filter((form) => form !== "number");
  const phased = rows.some(({ kind, text }) => kind === "heading" && phaseTitle(text) !== undefined);
  const items = rows.some((row) => row.kind === "item" && row.checkbox !== undefined && hasNumber(row.text));
  return phased && !items ? [...named, "number"] : named;
}

function hasNumber(text: string): boolean {
  return taskTitle(text, ["number"])?.id.includes(".") ?? false;
}

function headingId({ text }: Row, forms: readonly TaskIds[]): string | undefined {
  const id = taskTitle(text, forms)?.id;
  // `2. Setup` is a section, also where `2.1 Tables` is a task.
  return id === undefined || (/^\d+$/.test(id) && !PLAIN_TASK.test(text)) ? undefined : id;
}
