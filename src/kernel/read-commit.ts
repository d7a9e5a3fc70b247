import type { SessionId } from "../definition/names.js";
import type { Commit, SessionSummary } from "../ports/storage-adapter.js";
import { type CommitBody, readBody, tampered } from "./commit-body.js";
import { freeze } from "./freeze.js";
import type { Keys } from "./idempotency.js";
import type { Machine } from "./machine.js";
import type { Current, Recorded } from "./recorded.js";
import { upcast } from "./upcast.js";

/** What is kept of a session's newest commit; not the events, which may hold evidence. */
export interface Newest<Head> extends Current<Head> {
  readonly keys: Keys;
  readonly body: string;
}

/** A commit that was read or made: what is kept of it, and what happened in it. */
export interface Made<Event, Head> {
  readonly newest: Newest<Head>;
  readonly events: readonly Event[];
}

/**
 * Checks a commit of a session that comes out of a store, and reads it, from whatever format it was written in. Throws
 * `TAMPERED` or `FORMAT_TOO_NEW`. The summary is made anew: the one beside the body is for lists, and no hash covers it.
 */
export function readCommit<Event, Head>(
  machine: Pick<Machine<never, Event, Head>, "kind" | "schema" | "upcasts" | "parse" | "summarize">,
  sessionId: SessionId,
  commit: Commit,
  hashKey?: Uint8Array,
): Made<Event, Head> {
  const { version, at, hash, body } = commit;
  if (commit.sessionId !== sessionId) throw tampered({ sessionId, version }, "it belongs to another session");
  const { keys, ...stored } = readBody(commit, machine.schema, hashKey);
  const { events, head } = parse(machine, commit, stored);
  const summary = summaryOf(machine, { sessionId, head, at }, commit.summary.activeSince);
  return { newest: { sessionId, version, at, hash, summary, body, keys, head: freeze(head) }, events };
}

/** What a list shows of a session that stands so. */
export function summaryOf<Head>(
  machine: Pick<Machine<never, never, Head>, "kind" | "summarize">,
  { sessionId, head, at }: Pick<Current<Head>, "sessionId" | "head" | "at">,
  activeSince: number,
): SessionSummary {
  return { sessionId, kind: machine.kind, ...machine.summarize(head), updatedAt: at, activeSince };
}

/** A commit as it is handed out. */
export function recordedOf<Event, Head>({ newest, events }: Made<Event, Head>): Recorded<Event, Head> {
  const { sessionId, version, at, hash, head, summary } = newest;
  return { sessionId, version, at, hash, head, summary, events };
}

function parse<Event, Head>(
  machine: Pick<Machine<never, Event, Head>, "schema" | "upcasts" | "parse">,
  commit: Commit,
  stored: Pick<CommitBody, "events" | "head">,
) {
  try {
    const { events, head } = upcast(stored, commit.schema, machine.schema, machine.upcasts ?? {});
    return machine.parse(events, head);
  } catch (cause) {
    const error = tampered(commit, "its events are none that this library writes");
    error.cause = cause;
    throw error;
  }
}
