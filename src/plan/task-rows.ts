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

/** A row that begins with the id of a task. */
interface Mention {
  readonly id: string;
  readonly row: Row;
  /** Whether it is a heading, or has a checkbox. */
  readonly marked: boolean;
  /** How many rows stand below it. */
  said: number;
}

/**
 * Finds the ids. A heading or an item with a checkbox is a task by its id. Of the lines without either one is,
 * where no such row has the id, or where those that do, further down, say nothing more: a list to check them off.
 */
export function taskRowsOf(rows: readonly Row[], dialect: Dialect): TaskRows {
  const idOf = new Map<Row, string>();
  const mentions = new Map<string, number>();
  for (const [id, { marked, bare }] of byId(mentionsIn(rows, dialect))) {
    const first = marked[0]?.row.line ?? Number.POSITIVE_INFINITY;
    const said = bare !== undefined && (marked.length === 0 || (bare.said > 0 && bare.row.line < first));
    if (bare !== undefined && said && marked.every((mention) => mention.said === 0)) {
      idOf.set(bare.row, id);
    } else {
      for (const { row } of marked) idOf.set(row, id);
      if (marked.length > 0) mentions.set(id, marked.length);
    }
  }
  return { idOf, mentions };
}

/** The mentions of each id; of those without a mark the one below which the most is said, of equals the first. */
function byId(mentions: readonly Mention[]) {
  const found = new Map<string, { readonly marked: Mention[]; bare?: Mention }>();
  for (const mention of mentions) {
    const entry = found.get(mention.id) ?? { marked: [] };
    found.set(mention.id, entry);
    if (mention.marked) entry.marked.push(mention);
    else if (mention.said > (entry.bare?.said ?? -1)) entry.bare = mention;
  }
  return found;
}

function mentionsIn(rows: readonly Row[], dialect: Dialect): Mention[] {
  const found: Mention[] = [];
  const forms = headingForms(rows, dialect);
  let open: Mention | undefined;
  for (const row of rows) {
    const marked = row.kind === "heading" ? headingId(row, forms) : checkedId(row, dialect);
    const id = marked ?? bareId(row, dialect);
    if (id !== undefined) {
      open = { id, row, marked: marked !== undefined, said: 0 };
      found.push(open);
    } else if (open !== undefined && isBelow(row, open.row)) {
      open.said += 1;
    } else {
      open = undefined;
    }
  }
  return found;
}

/** Whether a row is said of the one before: deeper in its list, or a line of text. */
function isBelow({ kind, depth }: Row, above: Row): boolean {
  return kind === "text" || (kind === "item" && (above.kind !== "item" || depth > above.depth));
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
