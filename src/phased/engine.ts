/** The engine of phased sessions: the public entry to every operation. They are loaded by the first call (phased.ts). */
import { type Actor, type Authorize, byOwner, type Caller, callerOf, maySee } from "../ports/actor.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionQuery, StorageAdapter, WatchOptions } from "../ports/storage-adapter.js";
import type { Listener } from "../runtime/notifier.js";
import { type OperationMetrics, Operations } from "../runtime/operations.js";
import type { PhaseNumberOf, Workflow } from "../workflow/workflow-input.js";
import type { AwaitedApproval, AwaitedWaiver } from "./approval/ledger.js";
import { SessionsById } from "./by-id.js";
import type { CompleteRequest } from "./complete-phase.js";
import type { TaskRequest, TaskResult } from "./complete-task.js";
import type { CompleteResult } from "./gate-answer.js";
import type { CleanupRequest, CleanupResult, SessionPage } from "./lists.js";
import { type EngineNotifications, Notifications } from "./notifications.js";
import { checkEngineOptions, type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.js";
import { type EvidenceByPhase, Session } from "./session.js";
import type { LoadedPhased } from "./session-decisions.js";
import type { StartRequest, StartResult } from "./start.js";
import type { Statistics, StatisticsRequest } from "./statistics.js";
import type { DocumentView, PhaseView, TaskView } from "./views.js";
import { type SessionCommit, type WatchQuery, watchCommits } from "./watch.js";

let storageIn: (engine: Engine) => StorageAdapter;

/** Returns the storage of an engine: for the inspector, which watches it once for all engines on it. Not for hosts. */
export function storageOf(engine: Engine): StorageAdapter {
  return storageIn(engine);
}

/**
 * Runs phased sessions. Shows an agent only its current phase, takes evidence at the gate, and refuses every way around it.
 * The engine has no state of its own that matters: any number of engines may use one storage, and every answer is stored.
 * Methods that take a session's id do and reject as those of {@link Session}. An unmet gate is a result, not an error. Every
 * method may reject with `BUSY` (more than `limits.maxConcurrent` operations), `STORAGE_FAILED` or `INTERNAL`.
 */
export class Engine extends SessionsById {
  static {
    storageIn = (engine) => engine.#options.storage;
  }

  readonly #options: ResolvedOptions;
  readonly #operations: Operations<LoadedPhased>;
  readonly #notifications: Notifications;
  /** For whom the engine is; for the host itself if missing. */
  readonly #caller: Caller | undefined;
  #loaded: LoadedPhased | undefined;

  /** @internal Engines are made by {@link createEngine}, and by `as` of another one. */
  constructor(from: EngineOptions | Engine, caller?: Caller) {
    super();
    this.#caller = caller;
    if (from instanceof Engine) {
      this.#options = from.#options;
      this.#notifications = from.#notifications;
      this.#operations = from.#operations.within(({ phased, context }, operation) => {
        return { phased, context: phased.limitedFor(context, caller, operation) };
      });
      return;
    }
    this.#options = resolveOptions(from);
    this.#notifications = new Notifications();
    const { clock, limits, telemetry } = this.#options;
    const [context, notifications] = [() => this.#loaded ?? this.#load(), this.#notifications];
    const { maxConcurrent } = limits;
    this.#operations = new Operations({ context, notifications, clock, maxConcurrent, engine: "phased", telemetry });
  }

  /**
   * Returns this engine for one actor of a server that several share. The actor owns the sessions that it starts. Sessions
   * that `authorize` does not let it see do not exist for it: not in lists, hints, errors, notifications and metrics, nor by
   * the time that an answer takes. By default agents see their own sessions alone.
   * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
   */
  as(actor: Actor, authorize: Authorize = byOwner): Engine {
    const report = (error: unknown) => this.#notifications.notify("internalError", { operation: "authorize", error });
    return new Engine(this, callerOf(actor, authorize, report));
  }

  async #load(): Promise<LoadedPhased> {
    const { phased, createContext } = await import("./phased.js");
    // Concurrent first calls share one context.
    this.#loaded ??= { phased, context: createContext(this.#options, this.#notifications) };
    return this.#loaded;
  }

  /**
   * Adds a listener for a notification; returns a function that removes it.
   * @throws {PhasegateError} `INVALID_INPUT` when there is no notification of that name.
   */
  on<N extends keyof EngineNotifications>(name: N, listener: Listener<EngineNotifications[N]>): () => void {
    const caller = this.#caller;
    if (caller === undefined) return this.#notifications.on(name, listener);
    // Those about no session, such as of internal errors, are the host's.
    return this.#notifications.on(name, (notification) => {
      if ("target" in notification && maySee(caller, "on", { kind: "phased", ...notification })) listener(notification);
    });
  }

  /**
   * Returns one session, typed by its workflow: `completePhase` accepts exactly that phase's evidence. Its methods
   * reject with `INVALID_INPUT` if the session is on another workflow.
   * @throws {PhasegateError} `INVALID_INPUT` when `sessionId` can't be an id.
   */
  session<W extends Workflow>(workflow: W, sessionId: string): Session<PhaseNumberOf<W>, EvidenceByPhase<W>>;
  /**
   * Returns one session, of any workflow.
   * @throws {PhasegateError} `INVALID_INPUT` when `sessionId` can't be an id.
   */
  session(sessionId: string): Session;
  session(workflowOrId: Workflow | string, sessionId = ""): Session {
    const { evidenceLimits } = this.#options;
    // What is neither a text nor a workflow is refused as an id.
    const isWorkflow = typeof workflowOrId === "object" && workflowOrId !== null && "definition" in workflowOrId;
    if (!isWorkflow) return new Session(this.#operations, evidenceLimits, workflowOrId);
    return new Session(this.#operations, evidenceLimits, sessionId, workflowOrId.definition.structure.type);
  }

  /** Lists all workflows; broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly WorkflowListing[]> {
    return this.#operations.run("listWorkflows", ({ context: { workflows } }) => workflows.all());
  }

  /**
   * Starts a session. If it fails, nothing is written.
   * @throws {PhasegateError} `INVALID_INPUT` when options or idempotency key are invalid.
   * @throws {PhasegateError} `PATH_REFUSED` when the target leads out of the project root.
   * @throws {PhasegateError} `WORKFLOW_NOT_FOUND` when there is no workflow of that type.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the workflow is broken or a verifier is missing.
   * @throws {PhasegateError} `PLAN_PARSE` when the plan is missing or can't be read.
   * @throws {PhasegateError} `SESSION_LIMIT` when `limits.maxActiveSessions` are active.
   * @throws {PhasegateError} `CONFLICT` when the session that the idempotency key has started was deleted.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` or `TEMPLATE` when a text can't be read.
   */
  start(request: StartRequest): Promise<StartResult> {
    return this.#operations.run("start", ({ phased, context }) => phased.startSession(context, request));
  }

  /**
   * Lists phased sessions by creation time, newest first, in pages. Each is read from its log. One that can't be read, or that
   * passed a gate with an approval that this host does not accept, is listed in `broken` and reported to `security` listeners.
   * @throws {PhasegateError} `CURSOR_INVALID` when `query.cursor` is not a cursor of this storage.
   */
  listSessions(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#operations.run("listSessions", ({ phased, context }) => phased.listSessions(context, query));
  }

  /**
   * Yields commits of sessions as any process appends them, from the call on: each at least once, those of one session
   * in order, each checked against its hash. Ends when the signal aborts, or with `break`. Omits commits of a session
   * that passed a gate with an approval that this host does not accept; these are reported to `security` listeners.
   * @throws {PhasegateError} `UNSUPPORTED` when the storage can't be watched.
   * @throws {PhasegateError} `TAMPERED` when a commit is not what was written.
   */
  watch(query: WatchQuery = {}, options: WatchOptions = {}): AsyncIterableIterator<SessionCommit, undefined> {
    return watchCommits(this.#options.storage, this.#operations, query, options);
  }

  /**
   * Deletes sessions without recent commits, as requested or as `retention` says.
   * @throws {PhasegateError} `INVALID_INPUT` when an age or a status is invalid.
   */
  cleanup(request: CleanupRequest = {}): Promise<CleanupResult> {
    return this.#operations.run("cleanup", ({ phased, context }) => phased.cleanup(context, request));
  }

  /**
   * Returns statistics of sessions: states, phases, times, refusals. With a cursor, only what was committed since is read.
   * @throws {PhasegateError} `CURSOR_INVALID` when the cursor is not of this storage, these approvers or this version.
   */
  statistics(request: StatisticsRequest = {}): Promise<Statistics> {
    return this.#operations.run("statistics", ({ phased, context }) => phased.statistics(context, request));
  }

  /** Returns calls and milliseconds of every operation that was called, by name, since this engine was created. */
  metrics(): Record<string, OperationMetrics> {
    return this.#operations.metrics.report();
  }

  /** Reports a failed call outside the engine, such as of a tool, to the listeners of `refused` or `internalError`. */
  reportError(operation: string, error: unknown, sessionId?: string): void {
    this.#notifications.failed(operation, error, sessionId === undefined ? {} : { sessionId });
  }

  /** Closes the storage; the engine of an actor leaves it open for the others. */
  async close(): Promise<void> {
    if (this.#caller === undefined) await this.#options.storage.close?.();
  }

  /** Lists the approvals that all sessions wait for. */
  approvals(): Promise<readonly AwaitedApproval[]> {
    return this.#operations.run("approvals", ({ phased, context }) => phased.listApprovals(context));
  }

  /** Lists the requests for waivers that all sessions wait for. */
  waivers(): Promise<readonly AwaitedWaiver[]> {
    return this.#operations.run("waivers", ({ phased, context }) => phased.listWaivers(context));
  }

  /** Returns the current phase, or a completed one. */
  async getPhase(sessionId: string, phase?: number): Promise<PhaseView> {
    return phase === undefined ? this.session(sessionId).currentPhase() : this.session(sessionId).phase(phase);
  }

  /** Returns a task of the current phase, or of a completed one. */
  async getTask(sessionId: string, phase: number, task: number): Promise<TaskView> {
    return this.session(sessionId).task(phase, task);
  }

  /** Returns a document of a session's workflow, as {@link Session.document} does. */
  async getDocument(sessionId: string, path: string): Promise<DocumentView> {
    return this.session(sessionId).document(path);
  }

  /**
   * Notes a task of the current phase as done, for whoever continues the work. In a phase from a plan the gate takes it as the claim of this task.
   * @throws {PhasegateError} as {@link Session.completeTask} does.
   */
  async completeTask(
    sessionId: string,
    { phase, task, ...request }: TaskRequest & { readonly phase: number; readonly task?: number },
  ): Promise<TaskResult> {
    return this.session(sessionId).completeTask(phase, task, request);
  }

  /**
   * Submits evidence to the gate of the current phase.
   * @throws {PhasegateError} as {@link Session.completePhase} does.
   */
  async completePhase(sessionId: string, { phase, evidence, ...request }: CompleteRequest): Promise<CompleteResult> {
    const session: Session<number, Record<number, unknown>> = this.session(sessionId);
    return session.completePhase(phase, evidence, request);
  }
}

/**
 * Creates an engine.
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown, missing or invalid.
 */
export function createEngine(options: EngineOptions): Engine {
  checkEngineOptions(options);
  return new Engine(options);
}
