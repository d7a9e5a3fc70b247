import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { Decision, DecisionContext, Machine } from "../../log/machine.js";
import { type SessionKind, sessionKind } from "../../phased/log-check.js";

const path = z.string();
const bytes = z.int().nonnegative();

/**
 * What an agent can do in a workspace, as it is recorded. The schemas are the format of the log: a change that old logs
 * don't fit needs a new `RECORDED_SCHEMA`. Paths are those of answers: `{bundle-root}/…`.
 */
const workspaceActSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("read"), path, offset: z.int().nonnegative().optional(), bytes }),
  z.object({
    type: z.literal("saved"),
    path,
    bytes,
    /** SHA-256 of its content, in hexadecimal digits. */
    hash: z.string(),
    replaced: z.boolean(),
  }),
  z.object({ type: z.literal("listed"), path, entries: z.int().nonnegative() }),
  z.object({
    type: z.literal("preloaded"),
    workflow: z.string(),
    files: z.array(path),
    missing: z.array(path),
  }),
  z.object({
    type: z.literal("step"),
    workflow: z.string(),
    /** The step that was given. */
    step: z.string(),
    /** Its number from 1 on, and how many there are, where that is known. */
    number: z.int().positive().optional(),
    of: z.int().positive().optional(),
  }),
]);

/** Something that an agent did in a workspace. */
export type WorkspaceAct = z.infer<typeof workspaceActSchema>;

/**
 * What can happen to a recorded session. The schemas are the format of the log: a change here that old logs don't fit
 * needs a new `RECORDED_SCHEMA`.
 */

/** The version of the format of events and heads. */
const RECORDED_SCHEMA = 1;

/** What an agent says of a session as it begins one: plain values by name. */
export const sessionInputsSchema = z.record(
  z.string().max(100),
  z.union([z.string().max(10_000), z.number(), z.boolean(), z.null(), z.array(z.string().max(1000)).max(100)]),
);

/** What a session was begun with. */
export type SessionInputs = z.infer<typeof sessionInputsSchema>;

/** Checks an event that comes out of a store. */
const recordedEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("opened"),
    workflow: z.string().optional(),
    agent: z.string().optional(),
    inputs: sessionInputsSchema.optional(),
  }),
  /** Another connection goes on with it. */
  z.object({ type: z.literal("reopened") }),
  ...workspaceActSchema.options,
  z.object({ type: z.literal("completed"), status: z.enum(["completed", "failed"]), summary: z.string().optional() }),
]);

/** One thing that happened to a recorded session. */
export type RecordedEvent = z.infer<typeof recordedEventSchema>;

const count = z.int().nonnegative();

/** Checks a head that comes out of a store. */
const recordedHeadSchema = z.object({
  status: z.enum(["active", "completed", "failed"]),
  workflow: z.string().optional(),
  agent: z.string().optional(),
  /** The step that was given last, in workflows that are read step by step. */
  step: z.string().optional(),
  /** How many acts there were. */
  reads: count,
  saves: count,
  steps: count,
  createdAt: z.string(),
  completedAt: z.string().optional(),
});

/** Where a recorded session stands: counts, and nothing that grows with the work done. */
export type RecordedHead = z.infer<typeof recordedHeadSchema>;

/** What may be asked of a recorded session. */
export type RecordedCommand =
  | {
      readonly type: "open";
      readonly workflow?: string;
      readonly agent?: string;
      readonly inputs?: SessionInputs;
      /** What was done before there was a session. */
      readonly acts: readonly WorkspaceAct[];
    }
  | { readonly type: "reopen"; readonly acts: readonly WorkspaceAct[] }
  | { readonly type: "act"; readonly act: WorkspaceAct }
  | { readonly type: "complete"; readonly status: "completed" | "failed"; readonly summary?: string };

const eventsSchema = z.array(recordedEventSchema);

/** Recorded sessions, as the kernel runs them: nothing is refused here but what can't have happened. */
export const recordedMachine: Machine<RecordedCommand, RecordedEvent, RecordedHead> = {
  kind: "recorded",
  schema: RECORDED_SCHEMA,
  decide,
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: recordedHeadSchema.parse(head) }),
  summarize: (head) => ({
    workflowType: head.workflow ?? "workspace",
    target: "",
    status: head.status,
    current: head.step ?? "",
    createdAt: head.createdAt,
    ...(head.completedAt === undefined ? {} : { completedAt: head.completedAt }),
  }),
  payloadsOf: () => [],
};

function decide(
  head: RecordedHead | undefined,
  command: RecordedCommand,
  { at }: DecisionContext,
): Decision<RecordedEvent, RecordedHead> {
  if (head === undefined && command.type !== "open") return refused(command.type, "missing", ["open"]);
  if (head !== undefined && command.type === "open") return refused("open", head.status, ["reopen"]);
  const events = eventsOf(command);
  const begun: RecordedHead = head ?? { status: "active", reads: 0, saves: 0, steps: 0, createdAt: at };
  return { ok: true, events, head: events.reduce((before, event) => applied(before, event, at), begun) };
}

function eventsOf(command: RecordedCommand): RecordedEvent[] {
  switch (command.type) {
    case "open": {
      const { type: _, acts, ...facts } = command;
      return [{ type: "opened", ...facts }, ...acts];
    }
    case "reopen":
      return [{ type: "reopened" }, ...command.acts];
    case "act":
      return [command.act];
    case "complete": {
      const { status, summary } = command;
      return [{ type: "completed", status, ...(summary === undefined ? {} : { summary }) }];
    }
  }
}

function applied(head: RecordedHead, event: RecordedEvent, at: string): RecordedHead {
  switch (event.type) {
    case "opened":
      return {
        ...head,
        ...(event.workflow === undefined ? {} : { workflow: event.workflow }),
        ...(event.agent === undefined ? {} : { agent: event.agent }),
      };
    case "reopened": {
      const { completedAt: _, ...rest } = head;
      return { ...rest, status: "active" };
    }
    case "read":
    case "listed":
    case "preloaded":
      return { ...head, reads: head.reads + 1 };
    case "saved":
      return { ...head, saves: head.saves + 1 };
    case "step":
      return { ...head, steps: head.steps + 1, step: event.step };
    case "completed":
      return { ...head, status: event.status, completedAt: at };
  }
}

function refused(command: string, status: string, allowed: readonly string[]): Decision<RecordedEvent, RecordedHead> {
  return {
    ok: false,
    error: new PhasegateError("INVALID_TRANSITION", `${command} is not possible: the session is ${status}`, {
      remedy: `Possible now: ${allowed.join(", ")}.`,
      details: { command, status, allowed },
    }),
  };
}

/** Recorded sessions of workspaces, for `copySessions({ kinds })`. */
export const RECORDED_SESSIONS: SessionKind = sessionKind(recordedMachine);
