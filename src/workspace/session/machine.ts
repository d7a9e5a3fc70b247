/**
 * Recorded sessions: what agents do, as it is stored, the state machine over it, and the recorder, which writes one log per
 * session and one commit per act. The schemas are the format of the log: a change that old logs do not fit needs a new
 * `RECORDED_SCHEMA`.
 */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import type { AuditReport, Receipt, Recorded } from "../../log/commit.js";
import { type Admits, Kernel } from "../../log/log.js";
import type { Decision, DecisionContext, Machine } from "../../log/machine.js";
import { type SessionKind, sessionKind } from "../../phased/log-check.js";
import { type Owner, ownedBy, ownerSchema } from "../../ports/actor.js";
import type { Clock } from "../../ports/clock.js";
import type { SessionSummary, StorageAdapter } from "../../ports/storage-adapter.js";
import type { Telemetry } from "../../ports/telemetry.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";

const path = z.string();
const bytes = z.int().nonnegative();

const workspaceActSchema = z.discriminatedUnion("type", [
  /** A text file was read, from the byte `offset` on; from the first if missing. */
  z.object({ type: z.literal("read"), path, offset: z.int().nonnegative().optional(), bytes }),
  /** An output was saved. */
  z.object({
    type: z.literal("saved"),
    path,
    bytes,
    /** SHA-256 of its bytes, in hexadecimal. */
    hash: z.string(),
    /** True if there was a file of that name before. */
    replaced: z.boolean(),
  }),
  /** A folder was listed. */
  z.object({ type: z.literal("listed"), path, entries: z.int().nonnegative() }),
  /** The files of a workflow were loaded. */
  z.object({ type: z.literal("preloaded"), workflow: z.string(), files: z.array(path), missing: z.array(path) }),
  /** A step of a skill was given. */
  z.object({
    type: z.literal("step"),
    workflow: z.string(),
    /** The step that was given. */
    step: z.string(),
    /** Its number from 1, and the number of steps, if known. */
    number: z.int().positive().optional(),
    of: z.int().positive().optional(),
  }),
]);

/** An act of an agent in a workspace. Sizes are in bytes; paths are as in answers: `{bundle-root}/…`. */
export type WorkspaceAct = z.infer<typeof workspaceActSchema>;

const RECORDED_SCHEMA = 1;

/** The inputs that an agent gives when it creates a session: plain values by name. */
export const sessionInputsSchema = z.record(
  z.string().max(100),
  z.union([z.string().max(10_000), z.number(), z.boolean(), z.null(), z.array(z.string().max(1000)).max(100)]),
);

/** The format of an event. */
export const recordedEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("opened"),
    workflow: z.string().optional(),
    agent: z.string().optional(),
    inputs: sessionInputsSchema.optional(),
    /** Whose session it is. Logs of workspaces without owners have none. */
    owner: z.optional(ownerSchema),
  }),
  /** A connection continues the session. */
  z.object({ type: z.literal("reopened") }),
  ...workspaceActSchema.options,
  z.object({ type: z.literal("completed"), status: z.enum(["completed", "failed"]), summary: z.string().optional() }),
]);

/** An event of a recorded session: it was opened, reopened or completed, or an agent did something in it. */
export type RecordedEvent = z.infer<typeof recordedEventSchema>;

const count = z.int().nonnegative();

/** The format of a head. */
export const recordedHeadSchema = z.object({
  /** The status of the session. */
  status: z.enum(["active", "completed", "failed"]),
  /** The name of the workflow, if the agent gave it. */
  workflow: z.string().optional(),
  /** The name of the agent, if it gave it. */
  agent: z.string().optional(),
  /** Whose session it is, if it has an owner. */
  owner: z.optional(ownerSchema),
  /** The step that was given last, if the workflow has steps. */
  step: z.string().optional(),
  /** How many files were read. */
  reads: count,
  /** How many files were saved. */
  saves: count,
  /** How many steps were given. */
  steps: count,
  /** When the session was created: ISO 8601, UTC. */
  createdAt: z.string(),
  /** When it was completed. */
  completedAt: z.string().optional(),
});
/** The state of a recorded session. Its size does not grow with the number of acts. */
export type RecordedHead = z.infer<typeof recordedHeadSchema>;

/** The commands of a recorded session; `acts` were done before there was a session. */
export type RecordedCommand =
  | ({ readonly type: "open"; readonly acts: readonly WorkspaceAct[] } & Omit<OpenedEvent, "type">)
  | { readonly type: "reopen"; readonly acts: readonly WorkspaceAct[] }
  | { readonly type: "act"; readonly act: WorkspaceAct }
  | { readonly type: "complete"; readonly status: "completed" | "failed"; readonly summary?: string };

type OpenedEvent = Extract<RecordedEvent, { type: "opened" }>;

const eventsSchema = z.array(recordedEventSchema);

/** Recorded sessions, as the kernel runs them: nothing is refused here but what can't have happened. */
export const recordedMachine: Machine<RecordedCommand, RecordedEvent, RecordedHead> = {
  kind: "recorded",
  schema: RECORDED_SCHEMA,
  decide,
  parse: (events, head) => ({ events: eventsSchema.parse(events), head: recordedHeadSchema.parse(head) }),
  summarize: ({ workflow, status, step, owner, createdAt, completedAt }) => ({
    workflowType: workflow ?? "workspace",
    target: "",
    status,
    current: step ?? "",
    ...(owner && ownedBy(owner)),
    createdAt,
    ...(completedAt !== undefined && { completedAt }),
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
    case "complete":
      return [{ ...command, type: "completed" }];
  }
}

function applied(head: RecordedHead, event: RecordedEvent, at: string): RecordedHead {
  switch (event.type) {
    case "opened":
      return { ...head, workflow: event.workflow, agent: event.agent, owner: event.owner };
    case "reopened":
      return { ...head, status: "active", completedAt: undefined };
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

/** The kind of recorded sessions of workspaces, for `copySessions({ kinds })`. */
export const RECORDED_SESSIONS: SessionKind = sessionKind(recordedMachine);

/** A commit of a recorded session. */
export type RecordedCommit = Recorded<RecordedEvent, RecordedHead>;

type RecordedKernel = Kernel<RecordedCommand, RecordedEvent, RecordedHead>;

/** The options of {@link Recorder}; `hashKey` makes the hash chain an HMAC. */
interface RecorderOptions {
  readonly storage: StorageAdapter;
  readonly clock: Clock;
  readonly hashKey?: Uint8Array;
  readonly telemetry?: Telemetry;
}

export class Recorder {
  readonly #kernel: RecordedKernel;

  constructor(from: RecorderOptions | RecordedKernel) {
    if (from instanceof Kernel) {
      this.#kernel = from;
      return;
    }
    const { storage, telemetry } = from;
    this.#kernel = new Kernel({
      ...from,
      machine: recordedMachine,
      onCommit: (commit, before) => telemetry?.committed("recorded", commit, before?.head, storage),
      onConflict: () => telemetry?.conflicted("recorded"),
    });
  }

  /** Returns this recorder for one caller: it finds the sessions that `admits` accepts. */
  limitedTo(admits: Admits): Recorder {
    return new Recorder(this.#kernel.limitedTo(admits));
  }

  /** Returns true if there is or was a log with this id. Throws `TAMPERED` if its newest commit was changed. */
  async knows(id: string): Promise<boolean> {
    return (await this.#kernel.newest(parseSessionId(id))) !== undefined;
  }

  /** Returns undefined if the session was removed. Throws `TAMPERED` if its newest commit was changed. */
  async lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return (await this.#kernel.look(id))?.newest.summary;
  }

  /** Starts a log. Throws `INVALID_TRANSITION` if there is one. */
  open(id: string, facts: Omit<Extract<RecordedCommand, { type: "open" }>, "type">): Promise<void> {
    return this.#execute(id, { type: "open", ...facts });
  }

  /** Continues a log. Starts one if the session is older than its recording, with the owner that it has. */
  async reopen(id: string, acts: readonly WorkspaceAct[], owner?: Owner): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), (current) => ({
      command: current === undefined ? { type: "open", owner, acts } : { type: "reopen", acts },
    }));
  }

  record(id: string, act: WorkspaceAct): Promise<void> {
    return this.#execute(id, { type: "act", act });
  }

  complete(id: string, status: "completed" | "failed", summary?: string): Promise<void> {
    return this.#execute(id, { type: "complete", status, summary });
  }

  /** Yields all commits of a session, oldest first, each checked against the one before. */
  log(id: string): AsyncGenerator<RecordedCommit> {
    return this.#kernel.log(parseSessionId(id));
  }

  audit(id: string, receipt?: Receipt): Promise<AuditReport> {
    return this.#kernel.audit(parseSessionId(id), receipt);
  }

  async #execute(id: string, command: RecordedCommand): Promise<void> {
    await this.#kernel.execute(parseSessionId(id), () => ({ command }));
  }
}

/** An event of a recorded session, with its version and time. */
export type RecordedEntry = RecordedEvent & {
  /** The version of its commit. */
  readonly version: number;
  /** The time of the commit: ISO 8601, UTC. */
  readonly at: string;
};

/** Returns one entry for each event of a commit. */
export function recordedEntries({ events, version, at }: RecordedCommit): RecordedEntry[] {
  return events.map((event) => ({ ...event, version, at }));
}
