import type { SessionId } from "../../definition/names.js";
import { tampered } from "../../kernel/commit-body.js";
import type { Machine } from "../../kernel/machine.js";
import { readCommit } from "../../kernel/read-commit.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";

/** A kind of session, as far as its logs are checked: phased ones are known, others are handed in. */
export interface SessionKind {
  /** As it stands in summaries: `phased`, `routed`. */
  readonly name: string;
  /**
   * Checks that a commit is what was written, and gives the digests of the payloads that it names. Throws `TAMPERED` or
   * `FORMAT_TOO_NEW`.
   */
  check(sessionId: SessionId, commit: Commit, hashKey: Uint8Array | undefined): readonly string[];
}

/** What lists filter on and show: a summary that lies in one of these would show a session in the wrong place. */
const LISTED = ["kind", "workflowType", "target", "status", "current", "createdAt", "updatedAt"] as const;
/** What a summary may leave out. */
const OPTIONAL = ["total", "completedAt"] as const;

/** The sessions of a machine. */
export function sessionKind<Event, Head>(machine: Machine<never, Event, Head>): SessionKind {
  return {
    name: machine.kind,
    check(sessionId, commit, hashKey) {
      const { newest, events } = readCommit(machine, sessionId, commit, hashKey);
      checkSummary(commit, newest.summary);
      return events.flatMap((event) => machine.payloadsOf(event));
    },
  };
}

/** No hash covers a summary: it must say what the head says. */
function checkSummary(commit: Commit, made: SessionSummary): void {
  const { summary, version } = commit;
  const isSince = Number.isInteger(summary.activeSince) && summary.activeSince >= 1 && summary.activeSince <= version;
  const differs =
    LISTED.some((field) => summary[field] !== made[field]) ||
    OPTIONAL.some((field) => summary[field] !== undefined && summary[field] !== made[field]);
  if (summary.sessionId !== made.sessionId || differs || !isSince) {
    throw tampered(commit, "its summary is not that of its body");
  }
}
