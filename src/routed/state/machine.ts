/** The machine of routed sessions, as the log runs it. */
import * as z from "zod/mini";
import type { Current, Recorded } from "../../log/commit.js";
import type { Kernel } from "../../log/log.js";
import type { Machine } from "../../log/machine.js";
import { type SessionKind, sessionKind } from "../../phased/log-check.js";
import { ownedBy } from "../../ports/actor.js";
import type { SessionStatus } from "../../ports/storage-adapter.js";
import {
  ROUTED_SCHEMA,
  type RoutedCommand,
  type RoutedEvent,
  type RoutedHead,
  routedEventSchema,
  routedHeadSchema,
} from "./events.js";
import { decideRouted } from "./transition.js";

const eventsSchema = z.array(routedEventSchema);

/** The common status for lists of all kinds of sessions. */
const STATUS: Record<RoutedHead["status"], SessionStatus> = {
  RUNNING: "active",
  SUSPENDED: "paused",
  COMPLETED: "completed",
  FAILED: "failed",
  DELETED: "deleted",
};

/** The machine of routed sessions. */
export const routedMachine: Machine<RoutedCommand, RoutedEvent, RoutedHead> = {
  kind: "routed",
  schema: ROUTED_SCHEMA,
  decide: decideRouted,
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: routedHeadSchema.parse(head) }),
  summarize: (head) => ({
    workflowType: head.workflow,
    target: "",
    ...(head.owner && ownedBy(head.owner)),
    status: STATUS[head.status],
    current: head.step ?? "",
    total: head.total,
    createdAt: head.createdAt,
    ...("completedAt" in head ? { completedAt: head.completedAt } : {}),
  }),
  payloadsOf: (event) =>
    "snapshots" in event
      ? (event.snapshots ?? []).flatMap(({ value }) =>
          value !== undefined && "payload" in value ? [value.payload] : [],
        )
      : [],
};

/** Routed sessions, for `copySessions({ kinds })`. */
export const ROUTED_SESSIONS: SessionKind = sessionKind(routedMachine);

/** The kernel of routed sessions. */
export type RoutedKernel = Kernel<RoutedCommand, RoutedEvent, RoutedHead>;
/** The current state of a routed session. */
export type RoutedSession = Current<RoutedHead>;
/** A commit of a routed session. */
export type RoutedCommit = Recorded<RoutedEvent, RoutedHead>;
