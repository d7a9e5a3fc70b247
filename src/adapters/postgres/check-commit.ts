import { isSessionId, shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { isIsoTime } from "../session-query.js";

/** Refuses a commit that is too large, or that the tables or the views over them could not show. */
export function checkCommit(commit: Commit, maxBytes: number): void {
  const { sessionId, version, schema, at, summary, payloads = [] } = commit;
  const { createdAt, updatedAt, completedAt } = summary;
  if (!isSessionId(sessionId) || summary.sessionId !== sessionId) throw invalid("sessionId", sessionId);
  if (!Number.isSafeInteger(version) || version < 1) throw invalid("version", version);
  if (!Number.isInteger(schema) || Math.abs(schema) >= 2 ** 31) throw invalid("schema", schema);
  for (const [field, time] of Object.entries({ at, createdAt, updatedAt, completedAt })) {
    // Most are the time of the commit itself, which is checked first.
    if (time === at && field !== "at") continue;
    if (!(isIsoTime(time) || (time === undefined && field === "completedAt"))) throw invalid(field, time);
  }
  const bytes = [commit, ...payloads].reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
}

function invalid(field: string, value: unknown): PhasegateError {
  return new PhasegateError("INVALID_INPUT", `The commit's ${field} is not valid: ${shown(value)}`, {
    remedy: "Commits are made by the engine; an adapter or a host that makes its own must follow the port's types.",
    details: { field },
  });
}

function tooLarge(bytes: number, limit: number): PhasegateError {
  return new PhasegateError("TOO_LARGE", `The commit has ${bytes} bytes, and ${limit} are allowed`, {
    remedy: "Hand in less at once, or raise the storage's maxCommitBytes.",
    details: { bytes, limit },
  });
}
