/**
 * The head of a phased session: everything that the next transition needs, and nothing that grows with the
 * work done. It also records which ticks are still to be written into a plan: a commit and a file are two
 * separate writes, so a later call must be able to catch up.
 */

import * as z from "zod";
import { addToRanges, cutRanges, type EventOf, inRanges, joinRanges, rangesSchema } from "./events.js";

const common = {
  workflowType: z.string(),
  revision: z.string(),
  target: z.string(),
  /** The version of the commit that pins the structure. */
  structureVersion: z.int().positive(),
  /** The number of the current phase; of the last one if the session is completed. */
  phase: z.int(),
  /** Its position among the phases, from 0. */
  position: z.int().nonnegative(),
  total: z.int().positive(),
  /** Positions of phases whose gates passed. */
  completed: rangesSchema,
  /** Positions of phases that the host skipped. */
  skipped: rangesSchema,
  /** Failures in a row at the current phase's gate. */
  attempts: z.int().nonnegative(),
  /** Failures in total, by position, of phases that have not passed since. An agent's retry does not reset them. */
  spent: z.array(z.tuple([z.int(), z.int()])),
  /** The last submission at the current phase, and whether the next one is merged over it. */
  submission: z.object({ version: z.int(), merge: z.boolean() }).optional(),
  /** Ticks that are not written into the plan yet: positions of phases to tick and to untick. */
  due: z.object({ tick: rangesSchema, untick: rangesSchema }).optional(),
  /** The commit that asked a person to approve complete evidence, while the answer is awaited. */
  awaiting: z.object({ version: z.int(), evidenceHash: z.string() }).optional(),
  /** The commit with the current phase's snapshots: usually the one that entered the phase. */
  baseline: z.int().positive().optional(),
  createdAt: z.string(),
  phaseStartedAt: z.string(),
};

/** Checks a stored head. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...common }),
  z.object({ status: z.literal("paused"), ...common, pausedAt: z.string(), note: z.string().optional() }),
  z.object({ status: z.literal("failed"), ...common, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...common, completedAt: z.string() }),
  z.object({ status: z.literal("deleted"), ...common, deletedAt: z.string(), reason: z.string().optional() }),
]);

/** The state of a phased session. Names come from the pinned structure, payloads from the log. */
export type SessionHead = z.infer<typeof sessionHeadSchema>;

/** The part of a head that every status has. */
export type HeadFacts = Omit<Extract<SessionHead, { status: "active" }>, "status">;

/** Ticks that are not written into a plan yet: positions of phases. */
export type DueTicks = NonNullable<SessionHead["due"]>;

/** Returns the number of failures at a position that still count. */
export function spentAt(head: HeadFacts, position: number): number {
  return head.spent.find(([place]) => place === position)?.[1] ?? 0;
}

interface Due {
  due: DueTicks | undefined;
}

const NOTHING: DueTicks = { tick: [], untick: [] };

/** Adds the ticks of a phase that has passed. */
export function dueAfterPass({ due = NOTHING }: HeadFacts, { position, ticks }: EventOf<"gate_passed">): Due {
  return ticks === undefined ? withoutEmpty(due) : withoutEmpty({ ...due, tick: addToRanges(due.tick, position) });
}

/** Removes the ticks of phases that are no longer completed, including ticks that are not written yet. */
export function dueAfterRollback(head: HeadFacts, { unticksFrom: from }: EventOf<"rolled_back">): Due {
  const { due = NOTHING, completed } = head;
  if (from === undefined) return withoutEmpty(due);
  return withoutEmpty({
    tick: cutRanges(due.tick, from),
    untick: joinRanges(due.untick, completed, (place) => place >= from || inRanges(due.untick, place)),
  });
}

/**
 * Removes the ticks that were written. If a phase was passed or rolled back meanwhile, the file is outdated
 * again and the opposite is due.
 */
export function dueAfterTicks(head: HeadFacts, { ticks, unticks }: EventOf<"plan_ticked">): Due {
  const { due = NOTHING, completed } = head;
  const late = joinRanges(ticks, [], (place) => !inRanges(completed, place));
  return withoutEmpty({
    tick: joinRanges(due.tick, unticks, (place) => inRanges(completed, place) && !inRanges(ticks, place)),
    untick: joinRanges(due.untick, late, (place) => !inRanges(unticks, place)),
  });
}

function withoutEmpty(due: DueTicks): Due {
  return { due: due.tick.length === 0 && due.untick.length === 0 ? undefined : due };
}
