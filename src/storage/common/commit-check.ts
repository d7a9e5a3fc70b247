import { PhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { isSessionId, shown } from "../../workflow/names.js";
import { isIsoTime } from "./session-query.js";
/** Refuses a commit that no engine makes, whose place in lists would be wrong, and one that is too large. */
export function checkCommit(commit: Commit, maxBytes: number): void {
  const { sessionId, version, summary, payloads = [] } = commit;
  if (!isSessionId(sessionId) || summary.sessionId !== sessionId) throw invalidCommit("sessionId", sessionId);
  if (!isVersion(version)) throw invalidCommit("version", version);
  if (!isVersion(summary.activeSince)) throw invalidCommit("summary.activeSince", summary.activeSince);
  if (!isIsoTime(summary.createdAt)) throw invalidCommit("summary.createdAt", summary.createdAt);
  const bytes = [commit, ...payloads].reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
}

/** A commit with a field that an adapter can't store as it is. */
export function invalidCommit(field: string, value: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `The commit's ${field} is not valid: ${shown(value)}`, {
    remedy: "Commits are made by the engine; an adapter or a host that makes its own must follow the port's types.",
    details: { field },
  });
}

function isVersion(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}

function tooLarge(bytes: number, limit: number): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `The commit has ${bytes} bytes, and ${limit} are allowed`, {
    remedy: "Hand in less at once, or raise the storage's maxCommitBytes.",
    details: { bytes, limit },
  });
}
