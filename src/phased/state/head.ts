/**
 * What has not been written into a plan yet. A commit and a file are two writes: the head says what is
 * due, so that whoever comes next can make it good, however often that takes.
 */
import * as z from "zod";
import { addToRanges, cutRanges, type EventOf, inRanges, joinRanges, rangesSchema } from "./events.js";

const NOTHING: DueTicks = { tick: [], untick: [] };

/** A phase out of a plan has passed. */
export function dueAfterPass({ due = NOTHING }: HeadFacts, { position, ticks }: EventOf<"gate_passed">): Due {
  return ticks === undefined ? leftOf(due) : leftOf({ ...due, tick: addToRanges(due.tick, position) });
}

/** Phases out of a plan are no longer completed, those among them whose ticks have not been written yet included. */
export function dueAfterRollback(head: HeadFacts, { unticksFrom: from }: EventOf<"rolled_back">): Due {
  const { due = NOTHING, completed } = head;
  if (from === undefined) return leftOf(due);
  return leftOf({
    tick: cutRanges(due.tick, from),
    untick: joinRanges(due.untick, completed, (place) => place >= from || inRanges(due.untick, place)),
  });
}

/**
 * Ticks were written. Somebody may have rolled back, or passed, a phase while they were: then the file
 * is behind again, and the opposite is due.
 */
export function dueAfterTicks(head: HeadFacts, { ticks, unticks }: EventOf<"plan_ticked">): Due {
  const { due = NOTHING, completed } = head;
  const late = joinRanges(ticks, [], (place) => !inRanges(completed, place));
  return leftOf({
    tick: joinRanges(due.tick, unticks, (place) => inRanges(completed, place) && !inRanges(ticks, place)),
    untick: joinRanges(due.untick, late, (place) => !inRanges(unticks, place)),
  });
}

interface Due {
  due: DueTicks | undefined;
}

function leftOf(due: DueTicks): Due {
  return { due: due.tick.length === 0 && due.untick.length === 0 ? undefined : due };
}

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
