import type { SessionId } from "../../definition/names.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { Asking } from "./asking.js";
import { type CommitRow, commitOf } from "./commit-row.js";
import type { Statements } from "./statements.js";

const FIRST_PAGE = 16;
const LONGEST_PAGE = 500;
/** About so many characters are fetched at once, where commits are as long as those before. */
const PAGE_LENGTH = 4_000_000;

/** Reads commits in their order, in pages, so that neither a long log nor large commits fill the memory. */
export async function* readLog(
  asking: Asking,
  { log }: Statements,
  id: SessionId,
  { after = 0, limit = Number.POSITIVE_INFINITY }: { readonly after?: number; readonly limit?: number },
): AsyncGenerator<Commit> {
  let [position, left, wanted] = [after, limit, FIRST_PAGE];
  while (left > 0) {
    const page = Math.min(wanted, left);
    const rows = await asking.rows<CommitRow>("read", log([id, position, page]));
    for (const row of rows) yield commitOf(row);
    if (rows.length < page) return;
    position = Number(rows.at(-1)?.version);
    left -= rows.length;
    wanted = nextPage(rows);
  }
}

/** How many commits the next page may hold. */
function nextPage(rows: readonly CommitRow[]): number {
  const length = rows.reduce((sum, { body, summary }) => sum + body.length + summary.length, 0);
  const fitting = Math.floor((PAGE_LENGTH * rows.length) / Math.max(length, 1));
  return Math.max(1, Math.min(LONGEST_PAGE, fitting));
}
