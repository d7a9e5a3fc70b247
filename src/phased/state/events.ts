import * as z from "zod";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import { approvalSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema, storedValueSchema } from "../../workflow/json.js";
import { structureSchema } from "../../workflow/structure.js";

const payload = z.object({ payload: z.string(), characters: z.number(), names: z.array(z.string()) });

/** Checks evidence in the log: there as it is, or by the digest of a payload. */
const evidenceRefSchema = z.union([z.object({ inline: storedObjectSchema }), payload]);

/** Checks any other value in the log, likewise. */
const valueRefSchema = z.union([z.object({ inline: storedValueSchema }), payload]);

/** Evidence in the log. */
export type EvidenceRef = z.infer<typeof evidenceRefSchema>;
/** A value in the log: what a schema made of evidence, what a check begins with. */
export type ValueRef = z.infer<typeof valueRefSchema>;

/** What was looked up to verify evidence, as it stands in the log. */

/** Checks the result of a verifier that comes out of a store. */
export const verificationSchema = z.object({
  verifier: z.string(),
  /** The field whose value was looked at; missing where the gate itself asks for the check. */
  field: z.string().optional(),
  ok: z.boolean(),
  /** True where it could not be found out: the verifier crashed, took too long, or isn't registered. */
  failed: z.literal(true).optional(),
  /** What was found, and what there is to mend. */
  message: z.string(),
  /** What was run or looked at. */
  ran: z.string().optional(),
  /** The exit code of a command, the status of a response. */
  exit: z.number().optional(),
  /** SHA-256 of the output or the content that was looked at. */
  digest: z.string().optional(),
  /** The first lines of the output; `…` stands for what was left out. */
  output: z.array(z.string()).optional(),
  /** ISO 8601, UTC. */
  at: z.string(),
});

/** Checks what a verifier looked at when a phase began. */
export const snapshotSchema = z.object({
  verifier: z.string(),
  /** Which of the gate's checks it is for: the SHA-256 of its verifier, field and params. */
  check: z.string(),
  /** Missing where it could not be had. */
  value: valueRefSchema.optional(),
  /** Why it could not be had: the check says so at the gate. */
  failed: z.string().optional(),
});

/** What one verifier has found. */
export type Verification = z.infer<typeof verificationSchema>;
/** What one verifier looked at when a phase began. */
export type Snapshot = z.infer<typeof snapshotSchema>;

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
const planChangesSchema = z.object({
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

/** Checks ranges that come out of a store. */
export const rangesSchema = z.array(z.tuple([z.int(), z.int()]));

/** A set of whole numbers as ascending, disjoint, inclusive ranges: small however many there are. */
export type Ranges = z.infer<typeof rangesSchema>;

/** Whether a number is in the set. */
export function inRanges(ranges: Ranges, value: number): boolean {
  return ranges.some(([from, to]) => from <= value && value <= to);
}

/** The set with one number more. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  // What is done in order, which is nearly always, goes on the end.
  const last = ranges.at(-1);
  if (last !== undefined && value === last[1] + 1) return [...ranges.slice(0, -1), [last[0], value]];
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** The set of all numbers that are in one of the two and pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean = () => true): Ranges {
  return [...numbersIn(one), ...numbersIn(other)].filter(test).reduce(addToRanges, []);
}

/** All numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** The set without the numbers from a limit on. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}

/**
 * What can happen to a phased session. The schemas are the format of the log: a change here that
 * old logs don't fit needs a new `SESSION_SCHEMA`, and an upcast in the machine of phased sessions that reads them.
 */

/** The version of the format of events and heads. */
export const SESSION_SCHEMA = 1;

const phase = z.int();
const position = z.int().nonnegative();
const actor = z.enum(["agent", "host"]);

/** What the gate's verifiers have found, where it has any. */
const verified = { verification: z.array(verificationSchema).optional() };

/** What the checks of the current phase begin with, where they begin with anything. */
const begun = { snapshots: z.array(snapshotSchema).optional() };

/** Evidence that passes its gate, and what was found out about it. */
const accepted = {
  phase,
  position,
  attempt: z.int(),
  evidence: evidenceRefSchema,
  /** What a schema made of the evidence, where that is not the evidence itself. */
  output: valueRefSchema.optional(),
  warnings: z.array(problemSchema).optional(),
  ...verified,
};

/** A person's word on evidence. */
const decided = {
  phase,
  /** Who, by the name that the host knows them by; as they say, where it is not authenticated. */
  by: z.string(),
  evidenceHash: z.string(),
  /** The version of the commit that asked. */
  asked: z.int().positive(),
  /** Whether a signature by that name's key was there, and right. */
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  /** Names the public key that the signature was checked with. */
  keyId: z.string().optional(),
};

/** Checks an event that comes out of a store. */
export const sessionEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    target: z.string(),
    options: storedObjectSchema,
    structure: structureSchema,
  }),
  z.object({ type: z.literal("phase_entered"), phase, position, ...begun }),
  /** Nothing is missing but a person's word. */
  z.object({ type: z.literal("approval_requested"), ...accepted, ...approvalSchema.shape, evidenceHash: z.string() }),
  /** Stands before the `gate_passed` or `gate_failed` that follows from it. */
  z.object({ type: z.literal("approved"), ...decided, note: z.string().optional() }),
  z.object({ type: z.literal("denied"), ...decided, note: z.string() }),
  z.object({
    type: z.literal("gate_passed"),
    ...accepted,
    /** The phase comes out of a plan, whose tasks are to be ticked now. */
    ticks: z.literal(true).optional(),
    /** Of these, by their ids, those that stood as done in the plan already: a rollback leaves them. */
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
  /** With all of the phase's snapshots, where some could not be had before. */
  z.object({ type: z.literal("retried"), phase, resetEvidence: z.boolean(), by: actor, ...begun }),
  z.object({
    type: z.literal("rolled_back"),
    from: phase,
    to: phase,
    position,
    /** The phases that are no longer completed. */
    cleared: z.array(phase),
    by: actor,
    /** The place from which on completed phases come out of a plan, whose ticks are to be taken back now. */
    unticksFrom: position.optional(),
  }),
  z.object({ type: z.literal("completed") }),
  z.object({ type: z.literal("failed"), phase, attempts: z.int() }),
  /** With all of the phase's snapshots, where its gate is another one now. */
  z.object({ type: z.literal("migrated"), structure: structureSchema, position, by: z.string(), ...begun }),
  z.object({
    type: z.literal("plan_synced"),
    structure: structureSchema,
    position,
    by: actor,
    changes: planChangesSchema,
    /** From the current phase on, those at whose gates something has failed: their places before and now. */
    places: z.array(z.tuple([position, position])).optional(),
  }),
  z.object({
    type: z.literal("plan_ticked"),
    /** Places of the phases whose tasks are ticked in the plan now, and of those whose ticks were taken back. */
    ticks: rangesSchema,
    unticks: rangesSchema,
    /** The tasks, by the ids that the plan had for them. */
    ticked: z.array(z.string()),
    unticked: z.array(z.string()),
    /** Tasks that the plan doesn't have any more, by the ids that they had. */
    missing: z.array(z.string()),
    /** Tasks that have nothing in the plan that could show it. */
    unwritable: z.array(z.string()).optional(),
  }),
  z.object({ type: z.literal("deleted"), reason: z.string().optional() }),
]);

/** One thing that happened to a phased session. */
export type SessionEvent = z.infer<typeof sessionEventSchema>;
/** An event of one type. */
export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;
