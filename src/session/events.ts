/**
 * What can happen to a phased session. The schemas are the format of the log: a change here that
 * old logs don't fit needs a new `SESSION_SCHEMA`, and an upcast in the machine of phased sessions that reads them.
 */
import * as z from "zod";
import { approvalSchema } from "../definition/gate-structure.js";
import { storedObjectSchema } from "../definition/json.js";
import { structureSchema } from "../definition/structure.js";
import { problemSchema } from "../gate/verdict.js";
import { signatureSchema } from "./approval-message.js";
import { planChangesSchema } from "./plan-changes.js";
import { rangesSchema } from "./ranges.js";
import { evidenceRefSchema, valueRefSchema } from "./refs.js";
import { snapshotSchema, verificationSchema } from "./verification.js";

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
