import type { Commit } from "../../ports/storage-adapter.js";
import { checkCommit, invalidCommit } from "../check-commit.js";
import { isIsoTime } from "../session-query.js";

/** Refuses a commit that the tables, or the views over them, could not show. */
export function checkRowCommit(commit: Commit, maxBytes: number): void {
  const { schema, at, summary } = commit;
  if (!Number.isInteger(schema) || Math.abs(schema) >= 2 ** 31) throw invalidCommit("schema", schema);
  if (!isIsoTime(at)) throw invalidCommit("at", at);
  const { updatedAt, completedAt } = summary;
  // Most are the time of the commit itself.
  if (updatedAt !== at && !isIsoTime(updatedAt)) throw invalidCommit("updatedAt", updatedAt);
  if (completedAt !== undefined && completedAt !== at && !isIsoTime(completedAt)) {
    throw invalidCommit("completedAt", completedAt);
  }
  checkCommit(commit, maxBytes);
}
