import { isSessionId } from "../../definition/names.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { tampered } from "./sqlite-failure.js";
import { numberIn, type Row, storedBytes, storedText, textIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** What a commit is made of, in whatever table it stands. */
export const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/** A commit's values, in the order of {@link COMMIT_COLUMNS}. */
export function commitValues({ version, at, schema, previousHash, hash, summary, body }: Commit) {
  const texts = [previousHash, hash, JSON.stringify(summary), body].map(storedText);
  return [version, storedText(at), schema, ...texts] as const;
}

/** So many bytes of it are stored; what finds it again is not counted. */
export function commitBytes({ summary, body }: Commit): number {
  return storedBytes(JSON.stringify(summary)) + storedBytes(body);
}

/** The commit in a row. Throws `TAMPERED` if its summary is none. */
export function commitIn(row: Row): Commit {
  const version = numberIn(row, "version");
  const summary = summaryIn(row);
  return {
    sessionId: summary.sessionId,
    version,
    at: textIn(row, "at"),
    schema: numberIn(row, "schema"),
    previousHash: textIn(row, "previous_hash"),
    hash: textIn(row, "hash"),
    summary,
    body: textIn(row, "body"),
  };
}

/** The summary in a row; the rest of it is believed, as what matters of it stands in the body, under a hash. */
export function summaryIn(row: Row): SessionSummary {
  const text = textIn(row, "summary");
  try {
    const summary: SessionSummary = JSON.parse(text);
    if (isSessionId(summary.sessionId)) return summary;
  } catch {
    // Told below.
  }
  throw tampered("?", numberIn(row, "version"), "its summary can't be read");
}

/** Selects commits with the columns that {@link commitIn} reads. */
export function selectCommits({ commits }: TableNames, rest: string): string {
  const columns = COMMIT_COLUMNS.split(", ").map((column) => `c.${column}`);
  return `SELECT c.seq, ${columns.join(", ")} FROM ${commits} c ${rest}`;
}
