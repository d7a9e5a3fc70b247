/** A commit of a session as hosts see it. */
import type { SessionSummary } from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";

/** A checked commit of a session. */
export interface SessionCommit {
  /** The session that was changed. */
  readonly sessionId: SessionId;
  /** 1 for the first commit, without gaps. */
  readonly version: number;
  /** The time of the decision: ISO 8601, UTC. */
  readonly at: string;
  /** The hash of the commit. */
  readonly hash: string;
  /** The session after this commit, for lists. */
  readonly summary: SessionSummary;
  /** The events in order. Large evidence is in them by its digest. */
  readonly events: readonly SessionEvent[];
  /** The session's head after this commit. */
  readonly head: SessionHead;
}
