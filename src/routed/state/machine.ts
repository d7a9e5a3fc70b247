/** The machine of routed sessions, as the log runs it. */
import * as z from "zod/mini";
import type { Current, Recorded } from "../../log/commit.js";
import type { Kernel } from "../../log/log.js";
import type { Machine } from "../../log/machine.js";
import { type SessionKind, sessionKind } from "../../phased/log-check.js";
import { ownedBy } from "../../ports/actor.js";
import {
  ROUTED_SCHEMA,
  type RoutedCommand,
  type RoutedEvent,
  type RoutedHead,
  routedEventSchema,
  routedHeadSchema,
  storedForm,
} from "./events.js";
import { decideRouted } from "./transition.js";

const eventsSchema = z.array(routedEventSchema);

export const routedMachine: Machine<RoutedCommand, RoutedEvent, RoutedHead> = {
  kind: "routed",
  schema: ROUTED_SCHEMA,
  decide: decideRouted,
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: routedHeadSchema.parse(head) }),
  store: storedForm,
  summarize: (head) => ({
    workflowType: head.workflow,
    target: "",
    ...(head.owner && ownedBy(head.owner)),
    status: head.status,
    current: head.step ?? "",
    total: head.total,
    createdAt: head.createdAt,
    completedAt: "completedAt" in head ? head.completedAt : undefined,
  }),
  payloadsOf(event) {
    const snapshots = "snapshots" in event ? (event.snapshots ?? []) : [];
    return snapshots.flatMap(({ value }) => (value !== undefined && "payload" in value ? [value.payload] : []));
  },
};

/** Routed sessions, for `copySessions({ kinds })`. */
export const ROUTED_SESSIONS: SessionKind = sessionKind(routedMachine);

export type RoutedKernel = Kernel<RoutedCommand, RoutedEvent, RoutedHead>;
/** The current state of a routed session. */
export type RoutedSession = Current<RoutedHead>;
/** A commit of a routed session. */
export type RoutedCommit = Recorded<RoutedEvent, RoutedHead>;
