/**
 * The machine of routed sessions, as the log runs it, and the storage format of their events and heads. A change that old
 * logs don't match needs a new `ROUTED_SCHEMA`. events.ts says what the members mean.
 */
import * as z from "zod/mini";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import type { Current, Recorded } from "../../log/commit.js";
import type { Kernel } from "../../log/log.js";
import type { Machine } from "../../log/machine.js";
import { type SessionKind, sessionKind } from "../../phased/log-check.js";
import { snapshotSchema, verificationSchema } from "../../phased/state/schemas.js";
import { ownedBy, ownerSchema } from "../../ports/actor.js";
import type { SessionStatus } from "../../ports/storage-adapter.js";
import { approvalSchema, fieldGateSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema } from "../../workflow/json.js";
import { ROUTED_STATUSES } from "../decision/request.js";
import type { RoutedCommand, RoutedEvent, RoutedHead } from "./events.js";
import { decideRouted } from "./transition.js";

/** The version of the format of events and heads. */
export const ROUTED_SCHEMA = 1;

const text = z.optional(z.string());
const version = z.int().check(z.positive());

/** Checks a pinned structure: the transitions and gates of a routed workflow. */
export const routedStructureSchema = z.object({
  name: z.string(),
  revision: z.string(),
  goal: text,
  steps: z
    .array(
      z.object({
        name: z.string(),
        next: z.optional(z.array(z.string())),
        gate: z.optional(fieldGateSchema),
        maxVisits: z.optional(z.int().check(z.positive())),
      }),
    )
    .check(z.minLength(1)),
});

const begun = { snapshots: z.optional(z.array(snapshotSchema)) };
const verified = { verification: z.optional(z.array(verificationSchema)) };

const reported = {
  operation: z.enum(["advance", "resume"]),
  step: z.string(),
  assumedStep: text,
  report: storedObjectSchema,
  contextUpdates: storedObjectSchema,
};

const answer = {
  step: z.string(),
  by: z.string(),
  evidenceHash: z.string(),
  asked: version,
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  keyId: text,
};

const usageSchema = z.object({
  model: text,
  inputTokens: z.optional(z.number()),
  outputTokens: z.optional(z.number()),
  requests: z.optional(z.number()),
});

/** Checks a stored event. */
export const routedEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    structure: routedStructureSchema,
    context: storedObjectSchema,
    firstStep: text,
    ...begun,
    owner: z.optional(ownerSchema),
  }),
  z.object({ type: z.literal("assigned"), owner: ownerSchema, by: z.string(), note: text }),
  z.object({ type: z.literal("reported"), ...reported, warnings: z.optional(z.array(problemSchema)), ...verified }),
  z.object({
    type: z.literal("gate_refused"),
    ...reported,
    attempt: z.int().check(z.positive()),
    uncounted: z.optional(z.literal(true)),
    problems: z.array(problemSchema),
    ...verified,
  }),
  z.object({ type: z.literal("continued"), operation: reported.operation, of: version }),
  z.object({
    type: z.literal("approval_requested"),
    step: z.string(),
    ...approvalSchema.shape,
    evidenceHash: z.string(),
  }),
  z.object({ type: z.literal("approved"), ...answer, note: text }),
  z.object({ type: z.literal("denied"), ...answer, note: z.string() }),
  z.object({
    type: z.literal("decided"),
    from: text,
    next: z.string(),
    contextUpdates: storedObjectSchema,
    status: z.enum(ROUTED_STATUSES),
    reasoning: text,
    usage: z.optional(usageSchema),
    milliseconds: z.number(),
    notes: z.optional(z.array(z.string())),
    ...begun,
  }),
  z.object({
    type: z.literal("failed"),
    step: text,
    code: z.string(),
    reason: z.string(),
    milliseconds: z.optional(z.number()),
  }),
  z.object({ type: z.literal("suspended"), reason: text, operator: text }),
  z.object({ type: z.literal("retried"), ...begun, operator: text, note: text }),
  z.object({ type: z.literal("released"), operator: z.string(), note: text }),
  z.object({ type: z.literal("cancelled"), reason: text }),
  z.object({ type: z.literal("deleted"), reason: text, operator: text }),
]);

const pendingSchema = z.object({
  operation: z.enum(["start", "advance", "resume"]),
  version,
  assumedStep: text,
  digest: z.string(),
  awaiting: z.optional(z.object({ version, evidenceHash: z.string() })),
});

const common = {
  workflow: z.string(),
  revision: z.string(),
  step: text,
  total: z.int().check(z.positive()),
  context: storedObjectSchema,
  pending: z.optional(pendingSchema),
  answered: z.optional(z.object({ digest: z.string(), version })),
  visits: z.record(z.string(), z.int()),
  attempts: z.int().check(z.nonnegative()),
  spent: z.int().check(z.nonnegative()),
  baseline: z.optional(version),
  owner: z.optional(ownerSchema),
  createdAt: z.string(),
};

/** Checks a stored head. */
export const routedHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("RUNNING"), ...common }),
  z.object({ status: z.literal("SUSPENDED"), ...common, reason: text }),
  z.object({ status: z.literal("COMPLETED"), ...common, completedAt: z.string() }),
  z.object({
    status: z.literal("FAILED"),
    ...common,
    completedAt: z.string(),
    code: z.string(),
    reason: z.string(),
    retryable: z.boolean(),
  }),
  z.object({ status: z.literal("DELETED"), ...common, reason: text }),
]);

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
