import type { SessionId } from "../../definition/names.js";
import type { Machine } from "../../kernel/machine.js";
import { checkSummary, readCommit } from "../../kernel/read-commit.js";
import type { Commit } from "../../ports/storage-adapter.js";

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
