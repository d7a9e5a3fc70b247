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
  const summary = summaryOf(machine, { sessionId, head, at }, activeSinceOf(commit));
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

/** Since which version a session is active stands in no body: what can't be a version before this one is not gone by. */
function activeSinceOf({ version, summary: { activeSince } }: Commit): number {
  return Number.isInteger(activeSince) && activeSince >= 1 && activeSince <= version ? activeSince : version;
}

/** What lists filter on and show: a summary that lies in one of these would show a session in the wrong place. */
const LISTED = ["kind", "workflowType", "target", "status", "current", "createdAt", "updatedAt"] as const;
/** What a summary may leave out. */
const OPTIONAL = ["total", "completedAt"] as const;

/**
 * Checks the summary beside a commit's body against the one that was made of the head in it: no hash covers the one beside
 * the body, and lists filter by it. Throws `TAMPERED`.
 */
export function checkSummary(commit: Commit, made: SessionSummary): void {
  const { summary } = commit;
  const differs =
    LISTED.some((field) => summary[field] !== made[field]) ||
    OPTIONAL.some((field) => summary[field] !== undefined && summary[field] !== made[field]);
  if (summary.sessionId !== made.sessionId || differs || summary.activeSince !== made.activeSince) {
    throw tampered(commit, "its summary is not that of its body");
  }
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

/** Checks and reads a commit that comes by itself, with its summary. Throws `TAMPERED` or `FORMAT_TOO_NEW`. */
export function readWhole<Event, Head>(
  machine: Machine<never, Event, Head>,
  commit: Commit,
  hashKey: Uint8Array | undefined,
): Recorded<Event, Head> {
  const made = readCommit(machine, commit.sessionId, commit, hashKey);
  checkSummary(commit, made.newest.summary);
  return recordedOf(made);
}
