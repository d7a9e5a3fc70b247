/**
 * What can happen to a routed session. The schemas are the format of the log: a change here that old logs don't fit
 * needs a new `ROUTED_SCHEMA`.
 */
import * as z from "zod";
import { ROUTED_STATUSES } from "../../decision/decision-request.js";
import { approvalSchema } from "../../definition/gate-structure.js";
import { storedObjectSchema } from "../../definition/json.js";
import { problemSchema } from "../../gate/verdict.js";
import { signatureSchema } from "../../session/approval-message.js";
import { snapshotSchema, verificationSchema } from "../../session/verification.js";
import { routedStructureSchema } from "./structure.js";

/** The version of the format of events and heads. */
export const ROUTED_SCHEMA = 1;

/** What a client said of a step, and what it adds to the context. */
const reported = {
  operation: z.enum(["advance", "resume"]),
  /** Where the session stood. */
  step: z.string(),
  /** Where the client thought that it was. */
  assumedStep: z.string().optional(),
  report: storedObjectSchema,
  contextUpdates: storedObjectSchema,
};

/** What a gate found out about a report. */
const judged = {
  warnings: z.array(problemSchema).optional(),
  verification: z.array(verificationSchema).optional(),
};

/** A person's word on what a report shows. */
const word = {
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

/** What the checks of the step that is entered begin with, where they begin with anything. */
const begun = { snapshots: z.array(snapshotSchema).optional() };

/** Who decided, and at what price. */
const usageSchema = z.object({
  model: z.string().optional(),
  inputTokens: z.number().optional(),
  outputTokens: z.number().optional(),
  requests: z.number().optional(),
});

/** Checks an event that comes out of a store. */
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
  /** Nothing is missing but a person's word. */
  z.object({
    type: z.literal("approval_requested"),
    step: z.string(),
    ...approvalSchema.shape,
    evidenceHash: z.string(),
  }),
  z.object({ type: z.literal("approved"), ...word }),
  z.object({ type: z.literal("denied"), ...word, note: z.string() }),
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
    /** What was taken otherwise than it was answered, and why. */
    notes: z.array(z.string()).optional(),
    ...begun,
  }),
  z.object({
    type: z.literal("failed"),
    step: z.string().optional(),
    code: z.string(),
    reason: z.string(),
    /** Missing for failures that nobody was asked before. */
    milliseconds: z.number().optional(),
  }),
  z.object({ type: z.literal("suspended"), reason: z.string().optional() }),
  z.object({ type: z.literal("retried"), ...begun }),
  z.object({ type: z.literal("cancelled"), reason: z.string().optional() }),
  z.object({ type: z.literal("deleted"), reason: z.string().optional() }),
]);

/** One thing that happened to a routed session. */
export type RoutedEvent = z.infer<typeof routedEventSchema>;
/** An event of one type. */
export type RoutedEventOf<T extends RoutedEvent["type"]> = Extract<RoutedEvent, { type: T }>;
