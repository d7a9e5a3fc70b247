/**
 * The events of a phased session and the format in which logs have them: one schema for each gives its type. A change that old
 * logs don't match needs a new `SESSION_SCHEMA`, and an upcast in the machine of phased sessions. Phases are meant by their
 * numbers; positions count them from 0.
 */
import * as z from "zod/mini";
import { signatureSchema } from "../../approval/message.js";
import { problemSchema } from "../../gate/verdict.js";
import { ownerSchema } from "../../ports/actor.js";
import { approvalSchema } from "../../workflow/gate-definition.js";
import { storedObjectSchema, storedValueSchema } from "../../workflow/json.js";
import { structureSchema } from "../../workflow/structure.js";
import { notedSchema } from "./noted.js";
import { rangesSchema } from "./ranges.js";

/** The version of the format of events and heads. */
export const SESSION_SCHEMA = 1;

const phase = z.int();
const position = z.int().check(z.nonnegative());
const version = z.int().check(z.positive());
const count = z.int().check(z.nonnegative());
const text = z.optional(z.string());
const texts = z.array(z.string());
const isTrue = z.optional(z.literal(true));

const payload = z.object({
  /** The digest of the payload. */
  payload: z.string(),
  /** The length of the JSON, in characters. */
  characters: z.number(),
  /** The value's keys, if it is an object. */
  names: texts,
});

/** A value in the log is inline if it is short, otherwise the digest of a payload that holds its JSON. */
const evidenceRefSchema = z.union([z.object({ inline: storedObjectSchema }), payload]);
/** Evidence in the log. */
export type EvidenceRef = z.infer<typeof evidenceRefSchema>;

const valueRefSchema = z.union([z.object({ inline: storedValueSchema }), payload]);
/** A value in the log: the output of a schema, or a verifier's snapshot. */
export type ValueRef = z.infer<typeof valueRefSchema>;

const snapshotShape = z.object({
  /** The name of the verifier. */
  verifier: z.string(),
  /** Identifies the gate's check: the SHA-256 of its verifier, field and params. */
  check: z.string(),
  /** When it was taken, if that was later than the moment that it stands for: ISO 8601, UTC. */
  takenAt: text,
  /** Missing if the snapshot failed. */
  value: z.optional(valueRefSchema),
  /** Why the snapshot failed: the check reports it at the gate. */
  failed: text,
});
/** A verifier's snapshot of the state that a phase began with. */
export interface Snapshot extends z.infer<typeof snapshotShape> {}
/** Checks a stored one. */
export const snapshotSchema: z.ZodMiniType<Snapshot> = snapshotShape;

const verificationShape = z.object({
  /** The name of the verifier. */
  verifier: z.string(),
  /** The field whose value was verified; missing if the gate itself asks for the check. */
  field: text,
  /** The name of a check that the gate itself asks for, such as `verified_by.2`. */
  check: text,
  /** True if the check passed. */
  ok: z.boolean(),
  /** True if the check could not be made: the verifier crashed, timed out, or is not registered. */
  failed: isTrue,
  /** True if there is no snapshot to compare with; a retry of the phase takes one. */
  unrecorded: isTrue,
  /** What was found, and what to fix. */
  message: z.string(),
  /** What was run or read. */
  ran: text,
  /** The exit code of a command, or the status of a response. */
  exit: z.optional(z.number()),
  /** SHA-256 of the output or the content. */
  digest: text,
  /** The first and last lines of the output; `…` marks an omission. */
  output: z.optional(texts),
  /** The time of the check: ISO 8601, UTC. */
  at: z.string(),
});
/** The result of one verifier. */
export interface Verification extends z.infer<typeof verificationShape> {}
/** Checks a stored one. */
export const verificationSchema: z.ZodMiniType<Verification> = verificationShape;

const waivedShape = z.object({
  /** The names of what is not required. */
  fields: texts,
  /** The reason that the agent gave. */
  reason: z.string(),
  /** The name of the person. */
  by: z.string(),
  /** The person's comment. */
  note: text,
  /** True if the person has signed it. */
  authenticated: z.boolean(),
  /** The version of the commit with the person's answer. */
  version,
});
/** What a person has waived at a gate. */
export interface Waived extends z.infer<typeof waivedShape> {}
const waivedSchema: z.ZodMiniType<Waived> = waivedShape;

/** What every submission has, whether it passes its gate or not. */
const submittedSchema = z.object({
  /** The phase's number. */
  phase,
  /** The number of this submission among those at the phase. */
  attempt: z.int(),
  /** The evidence: inline, or the digest of a payload. */
  evidence: evidenceRefSchema,
  /** What the host has noted on the submission: numbers and texts by their names. */
  noted: z.optional(notedSchema),
  /** The results of the gate's verifiers, if it has any. */
  verification: z.optional(z.array(verificationSchema)),
});

const receiptSchema = z.object({
  sessionId: z.string(),
  /** The version of its last commit, and the hash of that. */
  version,
  hash: z.string(),
});
/** A completed child as its parent has seen it. */
export type ChildReceipt = z.infer<typeof receiptSchema>;

const completeSchema = z.object({
  ...submittedSchema.shape,
  /** The position of the phase among those of the session, from 0. */
  position,
  /** The schema's output, where it differs from the evidence. */
  output: z.optional(valueRefSchema),
  /** Problems that don't block. */
  warnings: z.optional(z.array(problemSchema)),
  /** What was not required, since a person had waived it. */
  waived: z.optional(z.array(waivedSchema)),
  /** The children that were completed, if the phase is a workflow. */
  children: z.optional(z.array(receiptSchema)),
  /** Where the agent's claims can be seen, if the host asks for that. */
  proofs: z.optional(z.array(z.object({ field: z.string(), proof: z.string() }))),
});
/** What a gate found complete. */
export type CompleteEvidence = z.infer<typeof completeSchema>;

export const parentSchema = z.object({
  /** The session whose phase it is. */
  sessionId: z.string(),
  /** The number of that phase. */
  phase,
  /** How many sessions it is within, this one and its own parents. 1 if missing. */
  depth: z.optional(z.int()),
});
/** The session and phase that a session was started for. */
export type Parent = z.infer<typeof parentSchema>;

const answerSchema = z.object({
  /** The number of the phase that asked. */
  phase,
  /** The person's name as the host knows it; as the caller gave it, if it is not authenticated. */
  by: z.string(),
  /** The version of the commit that asked. */
  asked: version,
  /** True if there was a valid signature by that name's key. */
  authenticated: z.boolean(),
  /** The signature, if there is one. */
  signature: z.optional(signatureSchema),
  /** The id of the public key that the signature was checked with. */
  keyId: text,
});

const changeShape = z.object({
  /** The phase's number in the session; the plan's own if the session has no such phase. */
  phase,
  /** The task's own id. */
  id: text,
  /** Its current or former name. */
  name: z.string(),
  /** The former value. */
  from: text,
  /** The current value. */
  to: text,
  /** True if it is in a phase behind the session, which no longer requires it. */
  behind: isTrue,
});
/** One difference: of a phase, or of a task if it has an id. */
export interface PlanChange extends z.infer<typeof changeShape> {}
const changeSchema: z.ZodMiniType<PlanChange> = changeShape;

const changes = z.array(changeSchema);

const planChangesSchema = z.object({
  /** New phases and tasks. */
  added: changes,
  /** Phases and tasks that the source no longer has. */
  removed: changes,
  /** Phases and tasks with another name. */
  renamed: changes,
  /** Tasks in another phase, or in another order; phases in another order. */
  moved: changes,
  /** Tasks that depend on other tasks than before. */
  dependencies: changes,
  /** Tasks with other acceptance criteria. */
  criteria: changes,
  /** Phases with other items in their validation gate. */
  gate: changes,
  /** Anything else about a task or a phase: descriptions, estimates, optional tasks. */
  other: changes,
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
   * What is no longer required from the current phase on: items of gates by their texts, tasks with their ids. A task with
   * `from` and `to` has another name; with `to` alone it is now optional, with `from` alone it lacks that part of its text.
   */
  takenAway: changes,
});
/** The differences between the plan that a session has pinned and its source. Ticks are not differences. */
export type PlanChanges = z.infer<typeof planChangesSchema>;

/** A kind of difference. */
export type PlanChangeKind = keyof PlanChanges["counts"];
/** The kinds of differences, in the order in which they are reported. */
export const PLAN_CHANGE_KINDS = [
  ...(["added", "removed", "renamed", "moved"] as const),
  ...(["dependencies", "criteria", "gate", "other"] as const),
] satisfies PlanChangeKind[];

const acceptedShape = z.object({
  /** The phase's name. */
  name: z.string(),
  /** The difference. */
  is: z.enum(["changed", "new", "gone"]),
  /** The parts of the phase that have changed. */
  what: z.optional(z.array(z.enum(["gate", "tasks"]))),
  /** Why it is accepted. */
  reason: z.string(),
});
/** A difference between two definitions of a workflow that the host has accepted in a migration. */
export interface AcceptedDifference extends z.infer<typeof acceptedShape> {}
const acceptedSchema: z.ZodMiniType<AcceptedDifference> = acceptedShape;

const actor = z.enum(["agent", "host"]);
/** Who asked for it on behalf of the host, and why. */
const operatorNote = { operator: text, note: text };
const begun = { snapshots: z.optional(z.array(snapshotSchema)) };
const pairs = z.optional(z.array(z.tuple([z.int(), z.int()])));

/** Checks a stored event. */
export const sessionEventSchema = z.discriminatedUnion("type", [
  /** A session starts and pins the workflow's definition. */
  z.object({
    type: z.literal("started"),
    target: z.string(),
    options: storedObjectSchema,
    structure: structureSchema,
    owner: z.optional(ownerSchema),
    /** The session that it is a child of, if it is one. */
    parent: z.optional(parentSchema),
  }),
  /** The current phase is a workflow, and a session on that has this id; it is started next. */
  z.object({
    type: z.literal("child_claimed"),
    phase,
    child: z.string(),
    /** Identifies what the child is started with: see `assignmentKey` in src/workflow/child-workflow.ts. */
    assignment: z.string(),
    /** The item of a list that it is for, in short. */
    item: text,
    /** The name of the actor who starts it, if it is known. */
    by: text,
  }),
  /** The host hands the session over. */
  z.object({ type: z.literal("assigned"), owner: ownerSchema, by: z.string(), note: text }),
  /** The session enters a phase, whose verifiers may have recorded what is there. */
  z.object({ type: z.literal("phase_entered"), phase, position, ...begun }),
  /** The evidence is complete and waits for a person's approval. */
  z.object({
    type: z.literal("approval_requested"),
    ...completeSchema.shape,
    /** The question for the person, and the names of those who may answer; any approver if missing. */
    ...approvalSchema.shape,
    /** SHA-256 of the evidence, which the answer is bound to. */
    evidenceHash: z.string(),
  }),
  /** A person approves. Comes before the `gate_passed` or `gate_failed` that follows from it. */
  z.object({ type: z.literal("approved"), ...answerSchema.shape, evidenceHash: z.string(), note: text }),
  /** A person denies, and says what to change. */
  z.object({ type: z.literal("denied"), ...answerSchema.shape, evidenceHash: z.string(), note: z.string() }),
  /** An agent can't meet some of what its gate asks for, and asks a person to do without. */
  z.object({
    type: z.literal("waiver_requested"),
    phase,
    /** The names of what is to be waived, as `waivable` in src/gate/waivers.ts gives them. */
    fields: texts,
    /** Why it can't be met. */
    reason: z.string(),
    /** The names of those who may answer; anyone that the host accepts if missing. */
    approvers: z.optional(texts),
  }),
  /** A person grants a waiver: for these names, until the session leaves the phase. */
  z.object({ type: z.literal("waiver_granted"), ...answerSchema.shape, fields: texts, note: text }),
  /** A person denies it, and says what to do instead. */
  z.object({ type: z.literal("waiver_denied"), ...answerSchema.shape, note: z.string() }),
  /** Evidence passed its gate. */
  z.object({
    type: z.literal("gate_passed"),
    ...completeSchema.shape,
    /** True if the phase comes from a plan, whose tasks must now be ticked. */
    ticks: isTrue,
    /** The ids of its tasks that were already ticked in the plan: a rollback keeps their ticks. */
    stood: z.optional(texts),
    /** The items of its validation gate whose boxes were already ticked, by number, from 1: their ticks are kept too. */
    stoodItems: z.optional(z.array(z.int())),
  }),
  /** Evidence did not pass its gate. */
  z.object({
    type: z.literal("gate_failed"),
    ...submittedSchema.shape,
    problems: z.array(problemSchema),
    /** Set if it counts as no attempt: nothing failed but checks that had nothing to compare with. */
    uncounted: isTrue,
  }),
  /** A task of the current phase is noted as done, or as given up: it could not be done, or is optional and left out. */
  z.object({
    type: z.enum(["task_completed", "task_given_up"]),
    phase,
    /** The task's number in its phase. */
    task: z.int(),
    /** What whoever continues should know; of a task that was given up always, and why, unless it was left out. */
    note: text,
  }),
  /** A step ahead was refused, for the first time in this visit to the phase. */
  z.object({
    type: z.literal("step_refused"),
    /** The current phase. */
    phase,
    /** The operation of the engine: `getPhase`, `completePhase` and the like. */
    operation: z.string(),
    /** The code of the error. */
    code: z.string(),
    /** The phase that was asked for. */
    requested: z.optional(z.int()),
    /** The task that was asked for. */
    task: z.optional(z.int()),
  }),
  /** The host let the session pass without evidence. */
  z.object({ type: z.literal("gate_overridden"), phase, position, by: z.string(), reason: z.string() }),
  /** The host skipped a phase, or the workflow's own rule did: then `rule` has it, in CEL. */
  z.object({ type: z.literal("phase_skipped"), phase, position, by: z.string(), reason: z.string(), rule: text }),
  z.object({ type: z.literal("paused"), ...operatorNote }),
  z.object({ type: z.literal("resumed"), pausedSeconds: z.number(), ...operatorNote }),
  /** A failed session continues. With all of the phase's snapshots, if some had failed before. */
  z.object({ type: z.literal("retried"), phase, resetEvidence: z.boolean(), by: actor, ...begun, ...operatorNote }),
  /** The session goes back to an earlier phase. */
  z.object({
    type: z.literal("rolled_back"),
    from: phase,
    to: phase,
    position,
    /** The phases that are no longer completed. */
    cleared: z.array(phase),
    by: actor,
    /** The position from which completed phases come from a plan, whose ticks must now be removed. */
    unticksFrom: z.optional(position),
  }),
  /** The last gate has passed. */
  z.object({ type: z.literal("completed") }),
  /** Too many failures, in a row or in total. */
  z.object({ type: z.literal("failed"), phase, attempts: z.int() }),
  /**
   * The host pinned another revision. With all of the phase's snapshots, if its gate has changed. Phases that count as
   * skipped, and a phase that is entered, follow as events of their own.
   */
  z.object({
    type: z.literal("migrated"),
    structure: structureSchema,
    position,
    by: z.string(),
    ...begun,
    /**
     * The old and new positions of the phases that stay as they are, with what is known of them; all others are to be done.
     * Missing if all up to the current one stay in their places, the current one too.
     */
    places: z.optional(z.array(z.tuple([position, position]))),
    /** The differences that the host has accepted. */
    accepted: z.optional(z.array(acceptedSchema)),
    /** The old and new numbers of the tasks that stay noted as done or given up. */
    tasks: pairs,
  }),
  /** The session adopted the edits of its plan. */
  z.object({
    type: z.literal("plan_synced"),
    structure: structureSchema,
    position,
    by: actor,
    changes: planChangesSchema,
    /** The old and new positions of phases with failed attempts, from the current phase on. */
    places: z.optional(z.array(z.tuple([position, position]))),
    /** The old and new numbers of the tasks that stay noted as done or given up. */
    tasks: pairs,
    ...operatorNote,
  }),
  /** Ticks were written into the plan. */
  z.object({
    type: z.literal("plan_ticked"),
    /** Positions of the phases whose tasks are now ticked in the plan, as ranges. */
    ticks: rangesSchema,
    /** Positions of the phases whose ticks were removed. */
    unticks: rangesSchema,
    /** The tasks that were ticked, by their ids in the plan. */
    ticked: texts,
    /** The tasks whose ticks were removed. */
    unticked: texts,
    /** Tasks that the plan no longer has, by their former ids. */
    missing: texts,
    /** Tasks without a checkbox in the plan. */
    unwritable: z.optional(texts),
  }),
  /** Snapshots that nobody took when the phase was entered, with all others of the phase. */
  z.object({ type: z.literal("snapshots_taken"), phase, snapshots: z.array(snapshotSchema) }),
  z.object({ type: z.literal("deleted"), reason: text, operator: text }),
]);

/** One event of a phased session. */
export type SessionEvent = z.infer<typeof sessionEventSchema>;

/** An event of one type. */
export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;
