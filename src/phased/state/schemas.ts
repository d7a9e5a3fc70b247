/**
 * The storage format of a phased session's events and heads. A change that old logs don't match needs a new
 * `SESSION_SCHEMA`, and an upcast in the machine of phased sessions. events.ts and head.ts say what the members mean.
 */
import * as z from "zod/mini";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import { ownerSchema } from "../../ports/actor.js";
import { approvalSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema, storedValueSchema } from "../../workflow/json.js";
import { structureSchema } from "../../workflow/structure.js";
import { dueTicksSchema, rangesSchema } from "./ranges.js";
import { taskNotesSchema } from "./task-notes.js";

/** The version of the format of events and heads. */
export const SESSION_SCHEMA = 1;

const phase = z.int();
const position = z.int().check(z.nonnegative());
const text = z.optional(z.string());
const texts = z.array(z.string());

const payload = z.object({ payload: z.string(), characters: z.number(), names: texts });
const valueRefSchema = z.union([z.object({ inline: storedValueSchema }), payload]);
const evidenceRefSchema = z.union([z.object({ inline: storedObjectSchema }), payload]);

/** Checks a stored snapshot of a verifier. */
export const snapshotSchema = z.object({
  verifier: z.string(),
  check: z.string(),
  takenAt: text,
  value: z.optional(valueRefSchema),
  failed: text,
});

/** Checks the stored result of a verifier. */
export const verificationSchema = z.object({
  verifier: z.string(),
  field: text,
  check: text,
  ok: z.boolean(),
  failed: z.optional(z.literal(true)),
  unrecorded: z.optional(z.literal(true)),
  message: z.string(),
  ran: text,
  exit: z.optional(z.number()),
  digest: text,
  output: z.optional(texts),
  at: z.string(),
});

const begun = { snapshots: z.optional(z.array(snapshotSchema)) };
const verified = { verification: z.optional(z.array(verificationSchema)) };

/** Checks what a person has waived. */
const waivedSchema = z.object({
  fields: texts,
  reason: z.string(),
  by: z.string(),
  note: text,
  authenticated: z.boolean(),
  version: z.int().check(z.positive()),
});

const accepted = {
  phase,
  position,
  attempt: z.int(),
  evidence: evidenceRefSchema,
  output: z.optional(valueRefSchema),
  warnings: z.optional(z.array(problemSchema)),
  ...verified,
  waived: z.optional(z.array(waivedSchema)),
  proofs: z.optional(z.array(z.object({ field: z.string(), proof: z.string() }))),
};

const answered = {
  phase,
  by: z.string(),
  asked: z.int().check(z.positive()),
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  keyId: text,
};

const decided = { ...answered, evidenceHash: z.string() };
const taskPairs = { tasks: z.optional(z.array(z.tuple([z.int(), z.int()]))) };

const actor = z.enum(["agent", "host"]);
const operatorNote = { operator: text, note: text };

const changeSchema = z.object({
  phase: z.int(),
  id: text,
  name: z.string(),
  from: text,
  to: text,
  behind: z.optional(z.literal(true)),
});

const list = z.array(changeSchema);
const count = z.int().check(z.nonnegative());

const planChangesSchema = z.object({
  added: list,
  removed: list,
  renamed: list,
  moved: list,
  dependencies: list,
  criteria: list,
  gate: list,
  other: list,
  count,
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
  takenAway: list,
});

/** Checks a stored event. */
export const sessionEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("started"),
    target: z.string(),
    options: storedObjectSchema,
    structure: structureSchema,
    owner: z.optional(ownerSchema),
  }),
  z.object({ type: z.literal("assigned"), owner: ownerSchema, by: z.string(), note: text }),
  z.object({ type: z.literal("phase_entered"), phase, position, ...begun }),
  z.object({ type: z.literal("approval_requested"), ...accepted, ...approvalSchema.shape, evidenceHash: z.string() }),
  z.object({ type: z.literal("approved"), ...decided, note: text }),
  z.object({ type: z.literal("denied"), ...decided, note: z.string() }),
  z.object({
    type: z.literal("waiver_requested"),
    phase,
    fields: texts,
    reason: z.string(),
    approvers: z.optional(texts),
  }),
  z.object({ type: z.literal("waiver_granted"), ...answered, fields: texts, note: text }),
  z.object({ type: z.literal("waiver_denied"), ...answered, note: z.string() }),
  z.object({
    type: z.literal("gate_passed"),
    ...accepted,
    ticks: z.optional(z.literal(true)),
    stood: z.optional(texts),
    stoodItems: z.optional(z.array(z.int())),
  }),
  z.object({
    type: z.literal("step_refused"),
    phase,
    operation: z.string(),
    code: z.string(),
    requested: z.optional(z.int()),
    task: z.optional(z.int()),
  }),
  z.object({ type: z.enum(["task_completed", "task_given_up"]), phase, task: z.int(), note: text }),
  z.object({
    type: z.literal("gate_failed"),
    phase,
    attempt: z.int(),
    evidence: evidenceRefSchema,
    problems: z.array(problemSchema),
    uncounted: z.optional(z.literal(true)),
    ...verified,
  }),
  z.object({ type: z.literal("gate_overridden"), phase, position, by: z.string(), reason: z.string() }),
  z.object({ type: z.literal("phase_skipped"), phase, position, by: z.string(), reason: z.string(), rule: text }),
  z.object({ type: z.literal("paused"), ...operatorNote }),
  z.object({ type: z.literal("resumed"), pausedSeconds: z.number(), ...operatorNote }),
  z.object({ type: z.literal("retried"), phase, resetEvidence: z.boolean(), by: actor, ...begun, ...operatorNote }),
  z.object({
    type: z.literal("rolled_back"),
    from: phase,
    to: phase,
    position,
    cleared: z.array(phase),
    by: actor,
    unticksFrom: z.optional(position),
  }),
  z.object({ type: z.literal("completed") }),
  z.object({ type: z.literal("failed"), phase, attempts: z.int() }),
  z.object({
    type: z.literal("migrated"),
    structure: structureSchema,
    position,
    by: z.string(),
    ...begun,
    ...taskPairs,
  }),
  z.object({
    type: z.literal("plan_synced"),
    structure: structureSchema,
    position,
    by: actor,
    changes: planChangesSchema,
    places: z.optional(z.array(z.tuple([position, position]))),
    ...taskPairs,
    ...operatorNote,
  }),
  z.object({
    type: z.literal("plan_ticked"),
    ticks: rangesSchema,
    unticks: rangesSchema,
    ticked: texts,
    unticked: texts,
    missing: texts,
    unwritable: z.optional(texts),
  }),
  z.object({ type: z.literal("snapshots_taken"), phase, snapshots: z.array(snapshotSchema) }),
  z.object({ type: z.literal("deleted"), reason: text, operator: text }),
]);

const common = {
  workflowType: z.string(),
  revision: z.string(),
  target: z.string(),
  owner: z.optional(ownerSchema),
  structureVersion: z.int().check(z.positive()),
  phase: z.int(),
  position: z.int().check(z.nonnegative()),
  total: z.int().check(z.positive()),
  completed: rangesSchema,
  skipped: rangesSchema,
  attempts: z.int().check(z.nonnegative()),
  spent: z.array(z.tuple([z.int(), z.int()])),
  tasks: z.optional(taskNotesSchema),
  refused: z.optional(z.array(z.string())),
  submission: z.optional(z.object({ version: z.int(), merge: z.boolean() })),
  due: z.optional(dueTicksSchema),
  awaiting: z.optional(z.object({ version: z.int(), evidenceHash: z.string() })),
  waiver: z.optional(z.object({ version: z.int(), denied: z.optional(z.literal(true)) })),
  waiverRequests: z.optional(z.int()),
  waived: z.optional(z.array(z.object({ version: z.int(), fields: z.array(z.string()) }))),
  withWaivers: z.optional(rangesSchema),
  baseline: z.optional(z.int().check(z.positive())),
  createdAt: z.string(),
  phaseStartedAt: z.string(),
};

/** Checks a stored head. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...common }),
  z.object({
    status: z.literal("paused"),
    ...common,
    pausedAt: z.string(),
    note: z.optional(z.string()),
    beforeDecision: z.optional(z.literal(true)),
  }),
  z.object({ status: z.literal("failed"), ...common, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...common, completedAt: z.string() }),
  z.object({ status: z.literal("deleted"), ...common, deletedAt: z.string(), reason: z.optional(z.string()) }),
]);
