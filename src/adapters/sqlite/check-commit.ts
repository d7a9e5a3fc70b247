import { isSessionId, shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { isIsoTime } from "../session-query.js";

/** Refuses a commit that no engine makes, whose place in lists would be wrong, and one that is too large. */
export function checkCommit(commit: Commit, maxBytes: number): void {
  const { sessionId, version, summary, payloads = [] } = commit;
  if (!isSessionId(sessionId) || summary.sessionId !== sessionId) throw invalid("sessionId", sessionId);
  if (!isVersion(version)) throw invalid("version", version);
  if (!isVersion(summary.activeSince)) throw invalid("summary.activeSince", summary.activeSince);
  if (!isIsoTime(summary.createdAt)) throw invalid("summary.createdAt", summary.createdAt);
  const bytes = [commit, ...payloads].reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
}

function isVersion(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
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
