/**
 * The events and the head of a routed session, and the structure that it pins. The schemas are the storage
 * format of the log: a change that old logs don't match needs a new `ROUTED_SCHEMA`.
 */

import * as z from "zod";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import { snapshotSchema, verificationSchema } from "../../phased/state/event-schemas.js";
import { approvalSchema, fieldGateSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema } from "../../workflow/json.js";
import { FINISH, type RoutedDefinition } from "../../workflow/routed-definition.js";
import { ROUTED_STATUSES } from "../decision/request.js";

/** The version of the format of events and heads. */
export const ROUTED_SCHEMA = 1;

/** Checks a pinned structure: the transitions and gates of a routed workflow. */
const routedStructureSchema = z.object({
  name: z.string(),
  revision: z.string(),
  goal: z.string().optional(),
  steps: z
    .array(
      z.object({
        name: z.string(),
        next: z.array(z.string()).optional(),
        gate: z.optional(fieldGateSchema),
        maxVisits: z.int().positive().optional(),
      }),
    )
    .min(1),
});

/** The snapshots of the step that is entered, if there are any. */
const begun = { snapshots: z.array(snapshotSchema).optional() };

/** A client's report on a step, with its context updates. */
const reported = {
  operation: z.enum(["advance", "resume"]),
  /** The current step. */
  step: z.string(),
  /** Where the client thought that it was. */
  assumedStep: z.string().optional(),
  report: storedObjectSchema,
  contextUpdates: storedObjectSchema,
};

/** The findings of a gate about a report. */
const judged = {
  warnings: z.array(problemSchema).optional(),
  verification: z.array(verificationSchema).optional(),
};

/** A person's answer to a report. */
const answer = {
  step: z.string(),
  by: z.string(),
  note: z.string().optional(),
  evidenceHash: z.string(),
  /** The version of the commit that asked. */
  asked: z.int().positive(),
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  keyId: z.string().optional(),
};

/** The cost of a decision. */
const usageSchema = z.object({
  model: z.string().optional(),
  inputTokens: z.number().optional(),
  outputTokens: z.number().optional(),
  requests: z.number().optional(),
});

/** Checks a stored event. */
export const routedEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    structure: routedStructureSchema,
    context: storedObjectSchema,
    /** Missing where the decider picks it. */
    firstStep: z.string().optional(),
    ...begun,
  }),
  z.object({ type: z.literal("reported"), ...reported, ...judged }),
  /** The report shows less than the step's gate asks for; nothing is decided. */
  z.object({
    type: z.literal("gate_refused"),
    ...reported,
    attempt: z.int().positive(),
    /** A client came back and showed nothing: it was no attempt. */
    uncounted: z.literal(true).optional(),
    problems: z.array(problemSchema),
    verification: z.array(verificationSchema).optional(),
  }),
  /** The evidence is complete and waits for a person's approval. */
  z.object({
    type: z.literal("approval_requested"),
    step: z.string(),
    ...approvalSchema.shape,
    evidenceHash: z.string(),
  }),
  z.object({ type: z.literal("approved"), ...answer }),
  z.object({ type: z.literal("denied"), ...answer, note: z.string() }),
  z.object({
    type: z.literal("decided"),
    /** The step that the decision is on; missing for the first one. */
    from: z.string().optional(),
    next: z.string(),
    contextUpdates: storedObjectSchema,
    status: z.enum(ROUTED_STATUSES),
    reasoning: z.string().optional(),
    usage: usageSchema.optional(),
    milliseconds: z.number(),
    /** What was interpreted differently from the answer, and why. */
    notes: z.array(z.string()).optional(),
    ...begun,
  }),
  z.object({
    type: z.literal("failed"),
    step: z.string().optional(),
    code: z.string(),
    reason: z.string(),
    /** Missing for failures before the decider was asked. */
    milliseconds: z.number().optional(),
  }),
  z.object({ type: z.literal("suspended"), reason: z.string().optional() }),
  z.object({ type: z.literal("retried"), ...begun }),
  z.object({ type: z.literal("cancelled"), reason: z.string().optional() }),
  z.object({ type: z.literal("deleted"), reason: z.string().optional() }),
]);

/** One event of a routed session. */
export type RoutedEvent = z.infer<typeof routedEventSchema>;
/** An event of one type. */
export type RoutedEventOf<T extends RoutedEvent["type"]> = Extract<RoutedEvent, { type: T }>;

/** Checks a question that no decider has answered yet. */
const pendingSchema = z.object({
  operation: z.enum(["start", "advance", "resume"]),
  /** The version of the commit that holds the report, or the start. */
  version: z.int().positive(),
  assumedStep: z.string().optional(),
  /** Names the report and its updates: the same ones handed in again are no other report. */
  digest: z.string(),
  /** A person's approval is awaited before the decider is asked. */
  awaiting: z.object({ version: z.int().positive(), evidenceHash: z.string() }).optional(),
});

const common = {
  workflow: z.string(),
  revision: z.string(),
  /** The step that was decided last; missing until the decider has picked the first one. */
  step: z.string().optional(),
  /** How many steps there are. */
  total: z.int().positive(),
  context: storedObjectSchema,
  pending: pendingSchema.optional(),
  /** The report that was decided last, and the commit that did it: who handed in the same one meanwhile shares it. */
  answered: z.object({ digest: z.string(), version: z.int().positive() }).optional(),
  /** How often steps with `maxVisits` were entered. */
  visits: z.record(z.string(), z.int()),
  /** Failures in a row at the gate of the current step, and in all since it was entered. */
  attempts: z.int().nonnegative(),
  spent: z.int().nonnegative(),
  /** The commit that holds what the checks of the current step begin with, where they begin with anything. */
  baseline: z.int().positive().optional(),
  createdAt: z.string(),
};

/** Checks a stored head. */
export const routedHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("RUNNING"), ...common }),
  z.object({ status: z.literal("SUSPENDED"), ...common, reason: z.string().optional() }),
  z.object({ status: z.literal("COMPLETED"), ...common, completedAt: z.string() }),
  z.object({
    status: z.literal("FAILED"),
    ...common,
    completedAt: z.string(),
    code: z.string(),
    reason: z.string(),
    /** True if `retry` can continue it. */
    retryable: z.boolean(),
  }),
  z.object({ status: z.literal("DELETED"), ...common, reason: z.string().optional() }),
]);

/**
 * The state of a routed session: everything that the next decision needs, and nothing that grows with the
 * work done.
 */
export type RoutedHead = z.infer<typeof routedHeadSchema>;
/** The part of a head that every status has. */
export type RoutedFacts = Omit<Extract<RoutedHead, { status: "RUNNING" }>, "status">;
/** A question that no decider has answered yet. */
export type PendingDecision = z.infer<typeof pendingSchema>;

/** What a session pins: editing a workflow changes neither transitions nor gates of sessions under way. */
export type RoutedStructure = z.infer<typeof routedStructureSchema>;
/** A pinned step. */
export type PinnedStep = RoutedStructure["steps"][number];

/** Returns the part of a definition that is pinned. */
export function structureOf({ name, revision, goal, steps }: RoutedDefinition): RoutedStructure {
  return {
    name,
    revision,
    ...(goal === undefined ? {} : { goal }),
    steps: steps.map((step) => ({
      name: step.name,
      ...(step.next === undefined ? {} : { next: [...step.next] }),
      ...(step.gate === undefined ? {} : { gate: step.gate }),
      ...(step.maxVisits === undefined ? {} : { maxVisits: step.maxVisits }),
    })),
  };
}

/** Returns a step by its name. */
export function stepOf(structure: RoutedStructure, name: string): PinnedStep | undefined {
  return structure.steps.find((step) => step.name === name);
}

/** How often steps with `maxVisits` were entered, by name. */
type Visits = Readonly<Record<string, number>>;

/**
 * Returns the steps that may follow, including `FINISH` if it may; without a step, those that the work may
 * begin with.
 */
export function allowedNext(structure: RoutedStructure, from: string | undefined, visits: Visits): string[] {
  const names = structure.steps.map(({ name }) => name);
  const next = from === undefined ? names : (stepOf(structure, from)?.next ?? [...names, FINISH]);
  return next.filter((name) => name === FINISH || !isUsedUp(structure, name, visits));
}

function isUsedUp(structure: RoutedStructure, name: string, visits: Visits): boolean {
  const max = stepOf(structure, name)?.maxVisits;
  return max !== undefined && (visits[name] ?? 0) >= max;
}
