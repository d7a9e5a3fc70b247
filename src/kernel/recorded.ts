import type { SessionId } from "../definition/names.js";
import type { SessionSummary } from "../ports/storage-adapter.js";

/** Where a session stands after a commit. */
export interface Current<Head> {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly at: string;
  readonly hash: string;
  readonly head: Head;
  readonly summary: SessionSummary;
}

/** A commit, read and checked. */
export interface Recorded<Event, Head> extends Current<Head> {
  readonly events: readonly Event[];
}

/** What a call led to; `replayed` if an earlier call with the same key did it. */
export interface Executed<Event, Head> extends Recorded<Event, Head> {
  readonly replayed: boolean;
}
