import { PhasegateError } from "../../errors.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { isSummary } from "../session-query.js";
import { decodeText, encodeText } from "./encode-text.js";

/** What a statement that reads commits gives. Numbers that may be large come as texts. */
export interface CommitRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly version: string;
  readonly at: string;
  readonly schema: number;
  readonly previous_hash: string;
  readonly hash: string;
  readonly summary: string;
  readonly body: string;
}

/** The columns of a {@link CommitRow}, of the table that is called `c`. */
export const COMMIT_COLUMNS = "c.session_id, c.version, c.at, c.schema, c.previous_hash, c.hash, c.summary, c.body";

/** A row as the commit that was appended; `TAMPERED` if its summary isn't one. */
export function commitOf(row: CommitRow): Commit {
  const summary = readSummary(row.session_id, row.summary);
  if (summary === undefined) throw damaged(row.session_id, row.version);
  return {
    sessionId: summary.sessionId,
    version: Number(row.version),
    at: decodeText(row.at),
    schema: row.schema,
    previousHash: decodeText(row.previous_hash),
    hash: decodeText(row.hash),
    summary,
    body: decodeText(row.body),
  };
}

/** The parameters of both statements that append, in their order. */
export function valuesOf(commit: Commit): unknown[] {
  const { sessionId, version, at, schema, previousHash, hash, summary, body } = commit;
  return [
    sessionId,
    version,
    encodeText(at),
    schema,
    encodeText(previousHash),
    encodeText(hash),
    // JSON escapes what PostgreSQL can't hold.
    JSON.stringify(summary),
    encodeText(body),
    summary.status,
    encodeText(summary.kind),
    encodeText(summary.workflowType),
    encodeText(summary.target),
    encodeText(String(summary.current)),
    encodeText(summary.createdAt),
    encodeText(summary.updatedAt),
    summary.completedAt === undefined ? null : encodeText(summary.completedAt),
  ];
}

/** A summary out of its JSON; undefined if it is none of this session. */
export function readSummary(sessionId: string, json: string): SessionSummary | undefined {
  const value = parse(json);
  return isSummary(value) && value.sessionId === sessionId ? value : undefined;
}

function damaged(sessionId: string, version: string): PhasegateError<"TAMPERED"> {
  return new PhasegateError("TAMPERED", `Version ${version} of session ${sessionId} is damaged: its summary is none`, {
    remedy: "Restore the session from a backup, or remove it.",
    details: { sessionId, version: Number(version), reason: "its summary is none" },
  });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
