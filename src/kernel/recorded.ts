import type { SessionId } from "../definition/names.js";
import type { SessionSummary } from "../ports/storage-adapter.js";

/** A commit, read and checked. */
export interface Recorded<Event, Head> {
  readonly sessionId: SessionId;
  readonly version: number;
  readonly at: string;
  readonly hash: string;
  readonly events: readonly Event[];
  readonly head: Head;
  readonly summary: SessionSummary;
}

/** What a call led to; `replayed` if an earlier call with the same key did it. */
export interface Executed<Event, Head> extends Recorded<Event, Head> {
  readonly replayed: boolean;
}
