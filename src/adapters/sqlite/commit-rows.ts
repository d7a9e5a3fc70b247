import type { SQLInputValue } from "node:sqlite";
import { parseSessionId } from "../../definition/names.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { isSummary } from "../session-query.js";
import { tampered } from "./sqlite-failure.js";
import { numberIn, type Row, storedText, textIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** What a commit is made of, in whatever table it stands. */
export const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/**
 * A commit as it is stored, in the order of {@link COMMIT_COLUMNS}. Of the summary that is left out which stands beside it
 * anyway: most commits then take half a page.
 */
export function storeCommit(commit: Commit): SQLInputValue[] {
  const { version, at, schema, previousHash, hash } = commit;
  const { sessionId, updatedAt, ...others } = commit.summary;
  const summary = JSON.stringify(updatedAt === at ? others : { ...others, updatedAt });
  const [time, body] = [storedText(at), storedText(commit.body)];
  return [version, time, schema, storedText(previousHash), storedText(hash), summary, body];
}

/** The commit in a row. Throws `TAMPERED` if its summary is none. */
export function commitIn(row: Row): Commit {
  const summary = storedSummary(row);
  if (summary === undefined) {
    throw tampered(textIn(row, "session_id"), numberIn(row, "version"), "its summary can't be read");
  }
  return {
    sessionId: summary.sessionId,
    version: numberIn(row, "version"),
    at: textIn(row, "at"),
    schema: numberIn(row, "schema"),
    previousHash: textIn(row, "previous_hash"),
    hash: textIn(row, "hash"),
    summary,
    body: textIn(row, "body"),
  };
}

/** The summary in a row; undefined if lists can't go by it. Whether it is true is told by the body, which is under a hash. */
export function summaryIn(row: Row): SessionSummary | undefined {
  const stored = storedSummary(row);
  return isSummary(stored) ? stored : undefined;
}

/** What stands in place of a summary, with what stands beside it; undefined if that is no JSON. */
function storedSummary(row: Row): SessionSummary | undefined {
  const stored = parseSummary(textIn(row, "summary"));
  return stored && { updatedAt: textIn(row, "at"), ...stored, sessionId: parseSessionId(row.session_id) };
}

function parseSummary(json: string): Omit<SessionSummary, "sessionId" | "updatedAt"> | undefined {
  try {
    return JSON.parse(json) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Selects commits `c` of sessions `s` with the columns that {@link commitIn} reads, and others that are named. */
export function selectCommits({ commits, sessions }: TableNames, rest: string, ...others: readonly string[]): string {
  const columns = COMMIT_COLUMNS.split(", ").map((column) => `c.${column}`);
  return `SELECT ${["c.seq", "s.session_id", ...columns, ...others].join(", ")}
    FROM ${commits} c JOIN ${sessions} s ON s.number = c.session ${rest}`;
}
