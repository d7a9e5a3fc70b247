import * as z from "zod";
import type { Machine } from "../kernel/machine.js";
import type { SessionCommand, TransitionContext } from "../session/commands.js";
import { SESSION_SCHEMA, type SessionEvent, sessionEventSchema } from "../session/events.js";
import { type SessionHead, sessionHeadSchema } from "../session/head.js";
import type { ValueRef } from "../session/refs.js";
import { transition } from "../session/transition.js";

/** A command with what its transition needs: the pinned structure and the limits in force. */
export interface PhasedCommand {
  readonly command: SessionCommand;
  readonly structure: TransitionContext["structure"];
  readonly limits: TransitionContext["limits"];
  readonly snapshots?: TransitionContext["snapshots"];
}

const eventsSchema = z.array(sessionEventSchema);

/** Phased sessions, as the kernel runs them. */
export const phasedMachine: Machine<PhasedCommand, SessionEvent, SessionHead> = {
  kind: "phased",
  schema: SESSION_SCHEMA,
  // One for each format that was written before this one; test/samples/ has logs of all that there were.
  upcasts: {},
  decide: (head, { command, structure, limits, snapshots }, { at, version }) =>
    transition(head, command, { structure, limits, at, version, snapshots }),
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: sessionHeadSchema.parse(head) }),
  summarize: (head) => ({
    workflowType: head.workflowType,
    target: head.target,
    status: head.status,
    current: head.phase,
    total: head.total,
    createdAt: head.createdAt,
    ...(head.status === "completed" ? { completedAt: head.completedAt } : {}),
  }),
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
      return (event.snapshots ?? []).map(({ value }) => value);
    default:
      return [];
  }
}
