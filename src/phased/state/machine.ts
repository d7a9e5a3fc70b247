/** The machine of phased sessions for the log, and what a log of them holds. */
import * as z from "zod/mini";
import type { Current, Recorded } from "../../log/commit.js";
import type { Kernel } from "../../log/log.js";
import type { Machine } from "../../log/machine.js";
import { type EventOf, SESSION_SCHEMA, type SessionEvent, sessionEventSchema, type ValueRef } from "./events.js";
import { listedFacts, type SessionHead, sessionHeadSchema } from "./head.js";
import { type PhasedCommand, transition } from "./transition.js";

/** The kernel of phased sessions. */
export type PhasedKernel = Kernel<PhasedCommand, SessionEvent, SessionHead>;

/** The current state of a phased session. */
export type PhasedSession = Current<SessionHead>;
/** A checked commit of a session. Large evidence is in its events by its digest. */
export interface SessionCommit extends Recorded<SessionEvent, SessionHead> {}

const eventsSchema = z.array(sessionEventSchema);

/** The machine of phased sessions. */
export const phasedMachine: Machine<PhasedCommand, SessionEvent, SessionHead> = {
  kind: "phased",
  schema: SESSION_SCHEMA,
  // One for each format that was written before this one; test/samples/ has logs of all that there were.
  upcasts: {},
  decide: transition,
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: sessionHeadSchema.parse(head) }),
  summarize: listedFacts,
  payloadsOf: (event) => refsIn(event).flatMap((ref) => (ref !== undefined && "payload" in ref ? [ref.payload] : [])),
};

function refsIn(event: SessionEvent): readonly (ValueRef | undefined)[] {
  switch (event.type) {
    case "gate_passed":
    case "approval_requested":
      return [event.evidence, event.output];
    case "gate_failed":
      return [event.evidence];
    case "phase_entered":
    case "retried":
    case "migrated":
    case "snapshots_taken":
      return (event.snapshots ?? []).map(({ value }) => value);
    default:
      return [];
  }
}

/** Returns a test for the events of some types. */
export function isOneOf<T extends SessionEvent["type"]>(...types: readonly T[]) {
  const names = new Set<string>(types);
  return (event: SessionEvent): event is EventOf<T> => names.has(event.type);
}

/** Returns true if an event binds its session to a structure. */
export const isPinning = isOneOf("started", "migrated", "plan_synced");

/** Returns the event of a type from a commit that has one. */
export function requireEvent<T extends SessionEvent["type"]>(
  { events }: Pick<SessionCommit, "events">,
  type: T,
): EventOf<T> {
  const found = events.find(isOneOf(type));
  if (found === undefined) throw new Error(`a commit without '${type}'`);
  return found;
}
