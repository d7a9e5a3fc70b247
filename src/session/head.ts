import * as z from "zod";
import { rangesSchema } from "./ranges.js";

const common = {
  workflowType: z.string(),
  revision: z.string(),
  target: z.string(),
  /** The version of the commit that pins the structure. */
  structureVersion: z.int().positive(),
  /** The number of the phase that the session is in; the last one when it has completed. */
  phase: z.int(),
  /** Its place among the phases, from 0. */
  position: z.int().nonnegative(),
  total: z.int().positive(),
  /** Places of phases whose gates passed. */
  completed: rangesSchema,
  /** Places of phases that the host skipped. */
  skipped: rangesSchema,
  /** Failures in a row at the current phase's gate. */
  attempts: z.int().nonnegative(),
  /** Failures in all, by place, of phases that have not passed since: what a retry doesn't forgive. */
  spent: z.array(z.tuple([z.int(), z.int()])),
  /** The last submission at the current phase, and whether the next one is merged over it. */
  submission: z.object({ version: z.int(), merge: z.boolean() }).optional(),
  /** What has not been written into the plan yet: places of phases whose tasks are to be ticked, or not any more. */
  due: z.object({ tick: rangesSchema, untick: rangesSchema }).optional(),
  /** The commit that asked for a person's word on complete evidence, while it is waited for. */
  awaiting: z.object({ version: z.int(), evidenceHash: z.string() }).optional(),
  /** The commit that holds what the checks of the current phase begin with: the one that entered it, as a rule. */
  baseline: z.int().positive().optional(),
  createdAt: z.string(),
  phaseStartedAt: z.string(),
};

/** Checks a head that comes out of a store. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...common }),
  z.object({ status: z.literal("paused"), ...common, pausedAt: z.string(), note: z.string().optional() }),
  z.object({ status: z.literal("failed"), ...common, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...common, completedAt: z.string() }),
  z.object({ status: z.literal("deleted"), ...common, deletedAt: z.string(), reason: z.string().optional() }),
]);

/**
 * Where a phased session stands: all that the next transition needs, and nothing that grows with
 * the work done. Names come from the pinned structure, payloads from the log.
 */
export type SessionHead = z.infer<typeof sessionHeadSchema>;

/** What has not been written into a plan yet. */
export type DueTicks = NonNullable<SessionHead["due"]>;

/** The part of a head that every status has. */
export type HeadFacts = Omit<Extract<SessionHead, { status: "active" }>, "status">;

/** Failures in all at a place, as far as they still count. */
export function spentAt(head: HeadFacts, position: number): number {
  return head.spent.find(([place]) => place === position)?.[1] ?? 0;
}
