import type { RecordedEvent } from "./recorded-events.js";
import type { RecordedCommit } from "./recorder.js";

/** Something that happened in a recorded session, and when. */
export type RecordedEntry = RecordedEvent & {
  /** The version of its commit. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly at: string;
};

/** What a commit says, one entry for each event. */
export function recordedEntries({
  events,
  version,
  at,
}: Pick<RecordedCommit, "events" | "version" | "at">): RecordedEntry[] {
  return events.map((event) => ({ ...event, version, at }));
}
