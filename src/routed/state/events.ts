/**
 * The events and the head of a routed session, the structure that it pins, and its commands. The schemas are the storage format:
 * a change that old logs don't match needs a new `ROUTED_SCHEMA`.
 */
import * as z from "zod/mini";
import { signatureSchema } from "../../approval/message.js";
import type { AttemptLimits } from "../../gate/judge.js";
import { problemSchema } from "../../gate/verdict.js";
import { snapshotSchema, verificationSchema } from "../../phased/state/events.js";
import { ownerSchema } from "../../ports/actor.js";
import { approvalSchema, fieldGateSchema } from "../../workflow/gate-definition.js";
import { type JsonObject, storedObjectSchema } from "../../workflow/json.js";
import { FINISH, type RoutedDefinition } from "../../workflow/routed-definition.js";
import { STATUS_WORDS } from "../decision/request.js";

/** The version of the format of events and heads. */
export const ROUTED_SCHEMA = 1;

const text = z.optional(z.string());
const version = z.int().check(z.positive());
const count = z.int().check(z.nonnegative());

const stepSchema = z.object({
  name: z.string(),
  /** The only steps, or `FINISH`, that may follow. Any if missing. */
  next: z.optional(z.array(z.string())),
  /** The gate for the report's `details`. None if missing. */
  gate: z.optional(fieldGateSchema),
  /** The number of times that the step may be entered; any number if missing. */
  maxVisits: z.optional(z.int().check(z.positive())),
});
export type PinnedStep = z.infer<typeof stepSchema>;

export const routedStructureSchema = z.object({
  name: z.string(),
  /** The digest of its definition. */
  revision: z.string(),
  /** What the workflow is for. */
  goal: text,
  steps: z.array(stepSchema).check(z.minLength(1)),
});
/** The structure that a session pins: an edited workflow changes neither transitions nor gates of sessions under way. */
export type RoutedStructure = z.infer<typeof routedStructureSchema>;

/** The snapshots of the step that is entered. */
const begun = { snapshots: z.optional(z.readonly(z.array(snapshotSchema))) };
/** The results of the gate's verifiers, if it has any. */
const verified = { verification: z.optional(z.readonly(z.array(verificationSchema))) };
const problems = z.readonly(z.array(problemSchema));

/** The statuses in a log: their words are those of 0.1.0 and of the wire. */
export const STORED = { ...STATUS_WORDS, deleted: "DELETED" } as const;

function stored<const S extends keyof typeof STORED>(status: S) {
  return z.pipe(
    z.literal(STORED[status]),
    z.transform((): S => status),
  );
}

/** Returns events and head with the statuses that are stored. */
export function storedForm(events: readonly RoutedEvent[], head: RoutedHead) {
  const inWords = <T extends { readonly status: keyof typeof STORED }>(value: T) => ({
    ...value,
    status: STORED[value.status],
  });
  return { events: events.map((event) => (event.type === "decided" ? inWords(event) : event)), head: inWords(head) };
}

const reported = {
  /** The call that the report came with. */
  operation: z.enum(["advance", "resume"]),
  /** The current step. */
  step: z.string(),
  /** The step that the client believed to be current. */
  assumedStep: text,
  report: storedObjectSchema,
  contextUpdates: storedObjectSchema,
};

const answer = {
  step: z.string(),
  /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
  by: z.string(),
  /** SHA-256 of the report that was decided on. */
  evidenceHash: z.string(),
  /** The version of the commit that asked. */
  asked: version,
  /** True if there was a valid signature by that name's key. */
  authenticated: z.boolean(),
  signature: z.optional(signatureSchema),
  /** The id of the public key that the signature was checked with. */
  keyId: text,
};

export const routedEventSchema = z.discriminatedUnion("type", [
  /** An instance starts and pins the workflow's transitions and gates. Without a first step, the decider picks it. */
  z.object({
    type: z.literal("started"),
    structure: routedStructureSchema,
    context: storedObjectSchema,
    firstStep: text,
    ...begun,
    owner: z.optional(ownerSchema),
  }),
  /** The host hands the instance over. */
  z.object({ type: z.literal("assigned"), owner: ownerSchema, by: z.string(), note: text }),
  /** A client reports on a step, and the step's gate accepts the report; warnings don't block. */
  z.object({ type: z.literal("reported"), ...reported, warnings: z.optional(problems), ...verified }),
  /** The report shows less than the step's gate asks for; nothing is decided. */
  z.object({
    type: z.literal("gate_refused"),
    ...reported,
    /** The number of this attempt at the step. */
    attempt: z.int().check(z.positive()),
    /** True if a client came back and showed nothing: it was no attempt. */
    uncounted: z.optional(z.literal(true)),
    problems,
    ...verified,
  }),
  /**
   * A call with a key of its own comes with the report that is recorded already: its key is recorded, too. `of` is the commit
   * that the call is answered from: the one with the report, or with the decision on it.
   */
  z.object({ type: z.literal("continued"), operation: reported.operation, of: version }),
  /** The evidence is complete and waits for a person's approval. */
  z.object({
    type: z.literal("approval_requested"),
    step: z.string(),
    ...approvalSchema.shape,
    evidenceHash: z.string(),
  }),
  z.object({ type: z.literal("approved"), ...answer, note: text }),
  z.object({ type: z.literal("denied"), ...answer, note: z.string() }),
  z.object({
    type: z.literal("decided"),
    /** The step that the decision is on; missing for the first one. */
    from: text,
    next: z.string(),
    contextUpdates: storedObjectSchema,
    status: z.union([stored("active"), stored("paused"), stored("completed"), stored("failed")]),
    reasoning: text,
    usage: z.optional(
      z.object({
        model: text,
        inputTokens: z.optional(z.number()),
        outputTokens: z.optional(z.number()),
        requests: z.optional(z.number()),
      }),
    ),
    milliseconds: z.number(),
    /** What was interpreted differently from the answer, and why. */
    notes: z.optional(z.readonly(z.array(z.string()))),
    ...begun,
  }),
  /** The decision failed, with the code of the error; without a time if the decider was not asked. */
  z.object({
    type: z.literal("failed"),
    step: text,
    code: z.string(),
    reason: z.string(),
    milliseconds: z.optional(z.number()),
  }),
  z.object({ type: z.literal("suspended"), reason: text, operator: text }),
  /** A failed instance runs again; by the host if there is an operator. */
  z.object({ type: z.literal("retried"), ...begun, operator: text, note: text }),
  /** The host lets a suspended instance run again. */
  z.object({ type: z.literal("released"), operator: z.string(), note: text }),
  z.object({ type: z.literal("cancelled"), reason: text }),
  z.object({ type: z.literal("deleted"), reason: text, operator: text }),
]);
export type RoutedEvent = z.infer<typeof routedEventSchema>;

export type RoutedEventOf<T extends RoutedEvent["type"]> = Extract<RoutedEvent, { type: T }>;

/** Returns the first event of a type in a commit. */
export function eventIn<T extends RoutedEvent["type"]>(
  { events }: { readonly events: readonly RoutedEvent[] },
  type: T,
): RoutedEventOf<T> | undefined {
  return events.find((event): event is RoutedEventOf<T> => event.type === type);
}

const pendingSchema = z.object({
  /** The call that it is for. */
  operation: z.enum(["start", "advance", "resume"]),
  /** The version of the commit that holds the report, or the start. */
  version,
  /** The step that the client believed to be current. */
  assumedStep: text,
  /** Identifies the report and its updates, so that a repeated report is recognised. */
  digest: z.string(),
  /** A person's approval is awaited before the decider is asked. */
  awaiting: z.optional(z.object({ version, evidenceHash: z.string() })),
});
/** A question that no decider has answered yet. */
export type PendingDecision = z.infer<typeof pendingSchema>;

const factsSchema = z.object({
  workflow: z.string(),
  /** The revision that the session has pinned. */
  revision: z.string(),
  /** The step that was decided last; missing until the decider has picked the first one. */
  step: text,
  /** The number of steps. */
  total: z.int().check(z.positive()),
  /** The context, with all updates merged in. */
  context: storedObjectSchema,
  pending: z.optional(pendingSchema),
  /** The report that was decided last, and the commit that did it: a repeated report gets the same answer. */
  answered: z.optional(z.object({ digest: z.string(), version })),
  /** The number of visits to steps with `maxVisits`. */
  visits: z.record(z.string(), z.int()),
  /** Failures in a row at the gate of the current step. */
  attempts: count,
  /** Failures in total since the current step was entered. */
  spent: count,
  /** The commit with the current step's snapshots, if there are any. */
  baseline: z.optional(version),
  /** Who it belongs to. Missing if nobody was recorded. */
  owner: z.optional(ownerSchema),
  /** When the session was started: ISO 8601, UTC. */
  createdAt: z.string(),
});
/** The part of a head that every status has. */
export type RoutedFacts = z.infer<typeof factsSchema>;

export const routedHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: stored("active"), ...factsSchema.shape }),
  z.object({ status: stored("paused"), ...factsSchema.shape, reason: text }),
  z.object({ status: stored("completed"), ...factsSchema.shape, completedAt: z.string() }),
  z.object({
    status: stored("failed"),
    ...factsSchema.shape,
    completedAt: z.string(),
    code: z.string(),
    reason: z.string(),
    /** True if `retry` can continue it. */
    retryable: z.boolean(),
  }),
  z.object({ status: stored("deleted"), ...factsSchema.shape, reason: text }),
]);
/**
 * The state of a routed session: everything that the next decision needs, and nothing that grows with the
 * work done.
 */
export type RoutedHead = z.infer<typeof routedHeadSchema>;

/** Returns the part of a definition that is pinned. */
export function structureOf({ name, revision, goal, steps }: RoutedDefinition): RoutedStructure {
  return {
    name,
    revision,
    goal,
    steps: steps.map((step) => ({
      name: step.name,
      ...(step.next === undefined ? {} : { next: [...step.next] }),
      gate: step.gate,
      maxVisits: step.maxVisits,
    })),
  };
}

export function stepOf(structure: RoutedStructure, name: string): PinnedStep | undefined {
  return structure.steps.find((step) => step.name === name);
}

/** The number of visits to steps with `maxVisits`, by name. */
type Visits = Readonly<Record<string, number>>;

/**
 * Returns the steps that may follow, including `FINISH` if it may; without a step, those that the work may
 * begin with.
 */
export function allowedNext(structure: RoutedStructure, from: string | undefined, visits: Visits): string[] {
  const names = structure.steps.map(({ name }) => name);
  const next = from === undefined ? names : (stepOf(structure, from)?.next ?? [...names, FINISH]);
  const usedUp = structure.steps.filter(
    ({ name, maxVisits: max }) => max !== undefined && visitsOf(name, visits) >= max,
  );
  return next.filter((name) => !usedUp.some((step) => step.name === name));
}

/** Returns how often a step was entered. Own keys only: a step may be called `toString`. */
export function visitsOf(name: string, visits: Visits): number {
  return Object.hasOwn(visits, name) ? (visits[name] ?? 0) : 0;
}

/** The members of an event, without those that the head knows. */
type Said<T extends RoutedEvent["type"], Known extends PropertyKey = never> = Omit<
  RoutedEventOf<T>,
  "type" | "step" | Known
>;

/** A report as it is recorded, with its digest, and the context with its updates, which the caller has bounded. */
export interface ReportFacts extends Said<"reported", "warnings" | "verification"> {
  readonly digest: string;
  readonly context: JsonObject;
}

export type RoutedCommand =
  | ({ readonly type: "start"; readonly digest: string } & Said<"started">)
  | ({ readonly type: "assign" } & Said<"assigned">)
  | ({
      readonly type: "report";
      /** The gate requires an approval of this evidence. */
      readonly approval?: Said<"approval_requested">;
    } & ReportFacts &
      Pick<RoutedEventOf<"reported">, "warnings" | "verification">)
  | ({ readonly type: "continue" } & Said<"continued">)
  | ({
      readonly type: "refuse";
      /** True if it counts as an attempt at the gate. */
      readonly counted: boolean;
    } & ReportFacts &
      Pick<RoutedEventOf<"gate_refused">, "problems" | "verification"> &
      AttemptLimits)
  | ({ readonly type: "approve" | "deny" } & Said<"approved", "asked"> & AttemptLimits)
  | ({
      readonly type: "decide";
      /** The question that it answers. */
      readonly pending: number;
      readonly context: JsonObject;
      /** True if the visits of the entered step are counted. */
      readonly counted: boolean;
      /** True if a client that came back continues its step: the step's snapshots stay. */
      readonly stays: boolean;
    } & Said<"decided", "from">)
  | ({ readonly type: "fail"; readonly pending: number } & Said<"failed">)
  | ({ readonly type: "suspend" } & Said<"suspended">)
  /** With an operator, the host retries, which may grant more attempts. */
  | ({ readonly type: "retry"; readonly maxAttemptsTotal: number } & Said<"retried">)
  | ({ readonly type: "release" } & Said<"released">)
  | ({ readonly type: "cancel" } & Said<"cancelled">)
  | ({ readonly type: "delete" } & Said<"deleted">);
