import * as z from "zod";
import type { Machine } from "../kernel/machine.js";
import type { SessionCommand, TransitionContext } from "../session/commands.js";
import { SESSION_SCHEMA, type SessionEvent, sessionEventSchema } from "../session/events.js";
import { type SessionHead, sessionHeadSchema } from "../session/head.js";
import { transition } from "../session/transition.js";

/** A command with what its transition needs: the pinned structure and the limits in force. */
export interface PhasedCommand {
  readonly command: SessionCommand;
  readonly structure: TransitionContext["structure"];
  readonly limits: TransitionContext["limits"];
}

const eventsSchema = z.array(sessionEventSchema);

/** Phased sessions, as the kernel runs them. */
export const phasedMachine: Machine<PhasedCommand, SessionEvent, SessionHead> = {
  kind: "phased",
  schema: SESSION_SCHEMA,
  decide: (head, { command, structure, limits }, { at, version }) =>
    transition(head, command, { structure, limits, at, version }),
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
  payloadsOf: (event) => {
    if (event.type !== "gate_passed" && event.type !== "gate_failed" && event.type !== "approval_requested") return [];
    const refs = event.type === "gate_failed" ? [event.evidence] : [event.evidence, event.output];
    return refs.flatMap((ref) => (ref !== undefined && "payload" in ref ? [ref.payload] : []));
  },
};
