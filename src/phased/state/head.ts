/**
 * The head of a phased session: everything that the next transition needs, and nothing that grows with the
 * work done. It also records which ticks are still to be written into a plan: a commit and a file are two
 * separate writes, so a later call must be able to catch up.
 */

import * as z from "zod/mini";
import { rangesSchema } from "./event-schemas.js";
import { addToRanges, cutRanges, type EventOf, inRanges, joinRanges } from "./events.js";

/** The state of a phased session. Names come from the pinned structure, payloads from the log. */
export type SessionHead =
  | (HeadFacts & { status: "active" })
  | (HeadFacts & { status: "paused"; pausedAt: string; note?: string | undefined })
  | (HeadFacts & { status: "failed"; failedAt: string })
  | (HeadFacts & { status: "completed"; completedAt: string })
  | (HeadFacts & { status: "deleted"; deletedAt: string; reason?: string | undefined });

/** The part of a head that every status has. Times are ISO 8601, UTC. */
export interface HeadFacts {
  /** The type of the workflow. */
  workflowType: string;
  /** The revision that the session has pinned. */
  revision: string;
  /** What the work is about, as given at the start. */
  target: string;
  /** The version of the commit that pins the structure. */
  structureVersion: number;
  /** The number of the current phase; of the last one if the session is completed. */
  phase: number;
  /** Its position among the phases, from 0. */
  position: number;
  /** The number of phases. */
  total: number;
  /** Positions of phases whose gates passed, as ranges. */
  completed: [from: number, to: number][];
  /** Positions of phases that the host skipped, as ranges. */
  skipped: [from: number, to: number][];
  /** Failures in a row at the current phase's gate. */
  attempts: number;
  /** Failures in total, by position, of phases that have not passed since. An agent's retry does not reset them. */
  spent: [number, number][];
  /** The last submission at the current phase, and whether the next one is merged over it. */
  submission?: { version: number; merge: boolean } | undefined;
  /** Ticks that are not written into the plan yet: positions of phases to tick and to untick. */
  due?: { tick: [from: number, to: number][]; untick: [from: number, to: number][] } | undefined;
  /** The commit that asked a person to approve complete evidence, while the answer is awaited. */
  awaiting?: { version: number; evidenceHash: string } | undefined;
  /** The commit with the current phase's snapshots: usually the one that entered the phase. */
  baseline?: number | undefined;
  /** When the session was started. */
  createdAt: string;
  /** When the current phase was entered. */
  phaseStartedAt: string;
}

/** Ticks that are not written into a plan yet: positions of phases. */
export type DueTicks = NonNullable<HeadFacts["due"]>;

const common = {
  workflowType: z.string(),
  revision: z.string(),
  target: z.string(),
  structureVersion: z.int().check(z.positive()),
  phase: z.int(),
  position: z.int().check(z.nonnegative()),
  total: z.int().check(z.positive()),
  completed: rangesSchema,
  skipped: rangesSchema,
  attempts: z.int().check(z.nonnegative()),
  spent: z.array(z.tuple([z.int(), z.int()])),
  submission: z.optional(z.object({ version: z.int(), merge: z.boolean() })),
  due: z.optional(z.object({ tick: rangesSchema, untick: rangesSchema })),
  awaiting: z.optional(z.object({ version: z.int(), evidenceHash: z.string() })),
  baseline: z.optional(z.int().check(z.positive())),
  createdAt: z.string(),
  phaseStartedAt: z.string(),
};

/** Checks a stored head. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...common }),
  z.object({ status: z.literal("paused"), ...common, pausedAt: z.string(), note: z.optional(z.string()) }),
  z.object({ status: z.literal("failed"), ...common, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...common, completedAt: z.string() }),
  z.object({ status: z.literal("deleted"), ...common, deletedAt: z.string(), reason: z.optional(z.string()) }),
]);

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
