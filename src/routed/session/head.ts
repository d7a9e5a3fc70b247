import * as z from "zod";
import { storedObjectSchema } from "../../definition/json.js";

/** A question that no decider has answered yet. */
const pendingSchema = z.object({
  operation: z.enum(["start", "advance", "resume"]),
  /** The version of the commit that holds the report, or the start. */
  version: z.int().positive(),
  assumedStep: z.string().optional(),
  /** Names the report and its updates: the same ones handed in again are no other report. */
  digest: z.string(),
  /** A person's word is waited for before anybody is asked. */
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

/** Checks a head that comes out of a store. */
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
    /** Whether `retry` takes it up again. */
    retryable: z.boolean(),
  }),
  z.object({ status: z.literal("DELETED"), ...common, reason: z.string().optional() }),
]);

/** Where a routed session stands: all that the next decision needs, and nothing that grows with the work done. */
export type RoutedHead = z.infer<typeof routedHeadSchema>;
/** The part of a head that every status has. */
export type RoutedFacts = Omit<Extract<RoutedHead, { status: "RUNNING" }>, "status">;
/** A question that no decider has answered yet. */
export type PendingDecision = z.infer<typeof pendingSchema>;
