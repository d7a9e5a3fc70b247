/**
 * The events of a phased session. The schemas are the storage format of the log: a change that old logs
 * don't match needs a new `SESSION_SCHEMA`, and an upcast in the machine of phased sessions.
 */

import * as z from "zod";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import { approvalSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema, storedValueSchema } from "../../workflow/json.js";
import { structureSchema } from "../../workflow/structure.js";

/** The version of the format of events and heads. */
export const SESSION_SCHEMA = 1;

const phase = z.int();
const position = z.int().nonnegative();

const payload = z.object({ payload: z.string(), characters: z.number(), names: z.array(z.string()) });

/** Checks any other value in the log: inline, or by the digest of a payload. */
const valueRefSchema = z.union([z.object({ inline: storedValueSchema }), payload]);

/** Checks a stored snapshot of a verifier. */
export const snapshotSchema = z.object({
  verifier: z.string(),
  /** Identifies the gate's check: the SHA-256 of its verifier, field and params. */
  check: z.string(),
  /** Missing if the snapshot failed. */
  value: valueRefSchema.optional(),
  /** Why the snapshot failed: the check reports it at the gate. */
  failed: z.string().optional(),
});

/** The snapshots that the current phase begins with, if there are any. */
const begun = { snapshots: z.array(snapshotSchema).optional() };

/** Checks evidence in the log: inline, or by the digest of a payload. */
const evidenceRefSchema = z.union([z.object({ inline: storedObjectSchema }), payload]);

/** Checks the stored result of a verifier. */
export const verificationSchema = z.object({
  verifier: z.string(),
  /** The field whose value was verified; missing where the gate itself asks for the check. */
  field: z.string().optional(),
  ok: z.boolean(),
  /** True if the check could not be made: the verifier crashed, timed out, or is not registered. */
  failed: z.literal(true).optional(),
  /** What was found, and what to fix. */
  message: z.string(),
  /** What was run or read. */
  ran: z.string().optional(),
  /** The exit code of a command, or the status of a response. */
  exit: z.number().optional(),
  /** SHA-256 of the output or the content. */
  digest: z.string().optional(),
  /** The first and last lines of the output; `…` marks an omission. */
  output: z.array(z.string()).optional(),
  /** ISO 8601, UTC. */
  at: z.string(),
});

/** The results of the gate's verifiers, if it has any. */
const verified = { verification: z.array(verificationSchema).optional() };

/** Evidence that passes its gate, with the results of its checks. */
const accepted = {
  phase,
  position,
  attempt: z.int(),
  evidence: evidenceRefSchema,
  /** The schema's output, where it differs from the evidence. */
  output: valueRefSchema.optional(),
  warnings: z.array(problemSchema).optional(),
  ...verified,
};

/** A person's answer to evidence. */
const decided = {
  phase,
  /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
  by: z.string(),
  evidenceHash: z.string(),
  /** The version of the commit that asked. */
  asked: z.int().positive(),
  /** True if there was a valid signature by that name's key. */
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  /** The id of the public key that the signature was checked with. */
  keyId: z.string().optional(),
};

const actor = z.enum(["agent", "host"]);

/** Checks one difference: of a phase, or of a task if it has an id. */
const changeSchema = z.object({
  /** The phase's number in the session; the plan's own where the session has no such phase. */
  phase: z.int(),
  /** The task's own id. */
  id: z.string().optional(),
  /** Its current or former name. */
  name: z.string(),
  from: z.string().optional(),
  to: z.string().optional(),
  /** True if it is in a phase behind the session, which no longer requires it. */
  behind: z.literal(true).optional(),
});

const list = z.array(changeSchema);
const count = z.int().nonnegative();

/** Checks the stored differences between two versions of a plan. */
const planChangesSchema = z.object({
  added: list,
  removed: list,
  renamed: list,
  /** Tasks in another phase, or in another order; phases in another order. */
  moved: list,
  dependencies: list,
  criteria: list,
  gate: list,
  /** Anything else about a task or a phase: descriptions, estimates, optional tasks. */
  other: list,
  /** The number of all differences, listed or not. */
  count,
  /** The number of differences of each kind. */
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
   * What is no longer required from the current phase on: items of gates by their texts, tasks with their ids. A task
   * with `from` and `to` has another name, one with only `to` is now optional, one with only `from` lacks that part of
   * its text.
   */
  takenAway: list,
});

/** Checks stored ranges. */
export const rangesSchema = z.array(z.tuple([z.int(), z.int()]));

/** Checks a stored event. */
export const sessionEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    target: z.string(),
    options: storedObjectSchema,
    structure: structureSchema,
  }),
  z.object({ type: z.literal("phase_entered"), phase, position, ...begun }),
  /** The evidence is complete and waits for a person's approval. */
  z.object({ type: z.literal("approval_requested"), ...accepted, ...approvalSchema.shape, evidenceHash: z.string() }),
  /** Comes before the `gate_passed` or `gate_failed` that follows from it. */
  z.object({ type: z.literal("approved"), ...decided, note: z.string().optional() }),
  z.object({ type: z.literal("denied"), ...decided, note: z.string() }),
  z.object({
    type: z.literal("gate_passed"),
    ...accepted,
    /** True if the phase comes from a plan, whose tasks must now be ticked. */
    ticks: z.literal(true).optional(),
    /** The ids of its tasks that were already ticked in the plan: a rollback keeps their ticks. */
    stood: z.array(z.string()).optional(),
  }),
  z.object({
    type: z.literal("gate_failed"),
    phase,
    attempt: z.int(),
    evidence: evidenceRefSchema,
    problems: z.array(problemSchema),
    ...verified,
  }),
  z.object({ type: z.literal("gate_overridden"), phase, position, by: z.string(), reason: z.string() }),
  z.object({ type: z.literal("phase_skipped"), phase, position, by: z.string(), reason: z.string() }),
  z.object({ type: z.literal("paused"), note: z.string().optional() }),
  z.object({ type: z.literal("resumed"), pausedSeconds: z.number() }),
  /** With all of the phase's snapshots, if some had failed before. */
  z.object({ type: z.literal("retried"), phase, resetEvidence: z.boolean(), by: actor, ...begun }),
  z.object({
    type: z.literal("rolled_back"),
    from: phase,
    to: phase,
    position,
    /** The phases that are no longer completed. */
    cleared: z.array(phase),
    by: actor,
    /** The position from which completed phases come from a plan, whose ticks must now be removed. */
    unticksFrom: position.optional(),
  }),
  z.object({ type: z.literal("completed") }),
  z.object({ type: z.literal("failed"), phase, attempts: z.int() }),
  /** With all of the phase's snapshots, if its gate has changed. */
  z.object({ type: z.literal("migrated"), structure: structureSchema, position, by: z.string(), ...begun }),
  z.object({
    type: z.literal("plan_synced"),
    structure: structureSchema,
    position,
    by: actor,
    changes: planChangesSchema,
    /** The old and new positions of phases with failed attempts, from the current phase on. */
    places: z.array(z.tuple([position, position])).optional(),
  }),
  z.object({
    type: z.literal("plan_ticked"),
    /** Positions of the phases whose tasks are now ticked in the plan, and of those whose ticks were removed. */
    ticks: rangesSchema,
    unticks: rangesSchema,
    /** The tasks, by their ids in the plan. */
    ticked: z.array(z.string()),
    unticked: z.array(z.string()),
    /** Tasks that the plan no longer has, by their former ids. */
    missing: z.array(z.string()),
    /** Tasks without a checkbox in the plan. */
    unwritable: z.array(z.string()).optional(),
  }),
  z.object({ type: z.literal("deleted"), reason: z.string().optional() }),
]);

/** One event of a phased session. */
export type SessionEvent = z.infer<typeof sessionEventSchema>;
/** An event of one type. */
export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;

/** Evidence in the log. */
export type EvidenceRef = z.infer<typeof evidenceRefSchema>;
/** A value in the log: the output of a schema, or a verifier's snapshot. */
export type ValueRef = z.infer<typeof valueRefSchema>;

/** The result of one verifier. */
export type Verification = z.infer<typeof verificationSchema>;
/** A verifier's snapshot of the state that a phase began with. */
export type Snapshot = z.infer<typeof snapshotSchema>;

/** The differences between the plan that a session has pinned and its source. Ticks are not differences. */
export type PlanChanges = z.infer<typeof planChangesSchema>;
/** One difference. */
export type PlanChange = z.infer<typeof changeSchema>;
/** The kinds of differences, in the order in which they are reported. */
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

/** A set of integers as ascending, disjoint, inclusive ranges: compact for consecutive numbers. */
export type Ranges = z.infer<typeof rangesSchema>;

/** Returns true if a number is in the set. */
export function inRanges(ranges: Ranges, value: number): boolean {
  return ranges.some(([from, to]) => from <= value && value <= to);
}

/** Returns the set with one more number. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  // The usual case: phases are done in order.
  const last = ranges.at(-1);
  if (last !== undefined && value === last[1] + 1) return [...ranges.slice(0, -1), [last[0], value]];
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** Returns the numbers of both sets that pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean = () => true): Ranges {
  return [...numbersIn(one), ...numbersIn(other)].filter(test).reduce(addToRanges, []);
}

/** Returns all numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** Returns the numbers of the set below a limit. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}
