import * as z from "zod";

/** One difference: a phase's, or a task's where it has an id. */
const changeSchema = z.object({
  /** The phase's number in the session; the plan's own where the session has no such phase. */
  phase: z.int(),
  /** The task's own id. */
  id: z.string().optional(),
  /** What it is, or was, called. */
  name: z.string(),
  from: z.string().optional(),
  to: z.string().optional(),
  /** It lies behind the session, which asks for it no more. */
  behind: z.literal(true).optional(),
});

const list = z.array(changeSchema);
const count = z.int().nonnegative();

/** Checks what changed in a plan, as it comes out of a store. */
export const planChangesSchema = z.object({
  added: list,
  removed: list,
  renamed: list,
  /** Tasks in another phase, or in another order; phases in another order. */
  moved: list,
  dependencies: list,
  criteria: list,
  gate: list,
  /** Anything else that is said of a task or a phase: descriptions, estimates, what may be left out. */
  other: list,
  /** How many differences there are, listed here or not. */
  count,
  /** The same of each kind. */
  counts: z.object({
    added: count,
    removed: count,
    renamed: count,
    moved: count,
    dependencies: count,
    criteria: count,
    gate: count,
    other: count,
  }),
  /**
   * What is asked for no more from the current phase on: items of gates by their texts, tasks with their ids. A task with
   * `from` and `to` has another name, one with `to` alone may be left out, one with `from` alone lacks that part of its text.
   */
  takenAway: list,
});

/** What is different between the plan that a session has pinned and its source. Ticks are no difference. */
export type PlanChanges = z.infer<typeof planChangesSchema>;
/** One difference. */
export type PlanChange = z.infer<typeof changeSchema>;
/** The kinds of differences, in the order in which they are told. */
export const PLAN_CHANGE_KINDS = [
  "added",
  "removed",
  "renamed",
  "moved",
  "dependencies",
  "criteria",
  "gate",
  "other",
] as const satisfies readonly Exclude<keyof PlanChanges, "count" | "counts" | "takenAway">[];
/** A kind of difference. */
export type PlanChangeKind = (typeof PLAN_CHANGE_KINDS)[number];
