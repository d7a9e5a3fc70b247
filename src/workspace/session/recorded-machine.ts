import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { Decision, DecisionContext, Machine } from "../../kernel/machine.js";
import type { WorkspaceAct } from "./acts.js";
import { RECORDED_SCHEMA, type RecordedEvent, recordedEventSchema, type SessionInputs } from "./recorded-events.js";

const count = z.int().nonnegative();

/** Checks a head that comes out of a store. */
export const recordedHeadSchema = z.object({
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
