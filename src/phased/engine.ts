/** The engine of phased sessions: the public entry to every operation. They are loaded by the first call (phased.ts). */
import type { Receipt } from "../log/commit.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionQuery } from "../ports/storage-adapter.js";
import type { Listener } from "../runtime/notifier.js";
import { type OperationMetrics, Operations } from "../runtime/operations.js";
import type { JsonObject } from "../workflow/json.js";
import type { PhaseNumberOf, Workflow } from "../workflow/workflow-input.js";
import type { ApprovalRequest, AwaitedApproval, AwaitedWaiver, SessionAudit } from "./approval/ledger.js";
import type { ApprovalResult, ApproveRequest, DenyRequest } from "./approval/requests.js";
import type {
  DenyWaiverRequest,
  RequestWaiver,
  WaiveRequest,
  WaiverRequest,
  WaiverRequested,
  WaiverResult,
} from "./approval/waivers.js";
import type { ArtifactView, CommitsRequest } from "./artifacts.js";
import type {
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
  TaskRequest,
  TaskResult,
} from "./commands.js";
import type { CompleteRequest } from "./complete-phase.js";
import type { CompleteResult } from "./gate-answer.js";
import type { CleanupRequest, CleanupResult, SessionPage } from "./lists.js";
import { type EngineNotifications, Notifications } from "./notifications.js";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.js";
import type { SyncRequest, SyncResult } from "./plan/sync.js";
import type { RefusedStep } from "./refusals.js";
import { type EvidenceByPhase, type HistoryRequest, Session } from "./session.js";
import type { LoadedPhased } from "./session-decisions.js";
import type { StartRequest, StartResult } from "./start.js";
import type { OperatorNote } from "./state/commands.js";
import type { GateFailure, PhaseAttempt } from "./state/history.js";
import type { Statistics, StatisticsRequest } from "./statistics.js";
import type { DocumentView, FullStateView, PhaseView, StateView, TaskView } from "./views.js";
import { type SessionCommit, type WatchQuery, watchCommits } from "./watch.js";

/**
 * Runs phased sessions. Shows an agent only its current phase, takes evidence at the gate, and refuses every way around it.
 * The engine has no state of its own that matters: any number of engines may use one storage, and every answer is stored.
 * Methods that take a session's id do and reject as those of {@link Session}. An unmet gate is a result, not an error. Every
 * method may reject with `BUSY` (more than `limits.maxConcurrent` operations), `STORAGE_FAILED` or `INTERNAL`.
 */
export class Engine {
  readonly #options: ResolvedOptions;
  readonly #operations: Operations<LoadedPhased>;
  readonly #notifications = new Notifications();
  #loaded: LoadedPhased | undefined;

  /** @internal Engines are made by {@link createEngine}. */
  constructor(options: EngineOptions) {
    this.#options = resolveOptions(options);
    const { clock, limits, telemetry } = this.#options;
    const [context, notifications] = [() => this.#loaded ?? this.#load(), this.#notifications];
    const { maxConcurrent } = limits;
    this.#operations = new Operations({ context, notifications, clock, maxConcurrent, engine: "phased", telemetry });
  }

  async #load(): Promise<LoadedPhased> {
    const { phased, createContext } = await import("./phased.js");
    // Concurrent first calls share one context.
    this.#loaded ??= { phased, context: createContext(this.#options, this.#notifications) };
    return this.#loaded;
  }

  /** Adds a listener for a notification; returns a function that removes it. */
  on<N extends keyof EngineNotifications>(name: N, listener: Listener<EngineNotifications[N]>): () => void {
    return this.#notifications.on(name, listener);
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
    if (typeof workflowOrId === "string") return new Session(this.#operations, evidenceLimits, workflowOrId);
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
  watch(
    query: WatchQuery = {},
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<SessionCommit, undefined> {
    return watchCommits(this.#options.storage, this.#operations, query, options.signal);
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

  /** Closes the storage. */
  async close(): Promise<void> {
    await this.#options.storage.close?.();
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
   * Notes a task of the current phase as done, for whoever continues the work. It is no claim towards the gate.
   * @throws {PhasegateError} as {@link Session.completeTask} does.
   */
  async completeTask(
    sessionId: string,
    { phase, task, ...request }: TaskRequest & { readonly phase: number; readonly task: number },
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

  /** Lists the approvals that all sessions wait for. */
  approvals(): Promise<readonly AwaitedApproval[]> {
    return this.#operations.run("approvals", ({ phased, context }) => phased.listApprovals(context));
  }

  /** Returns the approval that a session waits for, with its evidence; undefined if it waits for none. */
  async getApproval(sessionId: string): Promise<ApprovalRequest | undefined> {
    return this.session(sessionId).approval();
  }

  /**
   * Approves what a session waits for: its phase passes. For the host only.
   * @throws {PhasegateError} as {@link Session.approve} does.
   */
  async approve(sessionId: string, request: ApproveRequest): Promise<ApprovalResult> {
    return this.session(sessionId).approve(request);
  }

  /**
   * Denies what a session waits for: a failed attempt with the note as its problem. For the host only.
   * @throws {PhasegateError} as {@link Session.deny} does.
   */
  async deny(sessionId: string, request: DenyRequest): Promise<ApprovalResult> {
    return this.session(sessionId).deny(request);
  }

  /**
   * Asks a person to waive what the agent can't meet at the current phase.
   * @throws {PhasegateError} as {@link Session.requestWaiver} does.
   */
  async requestWaiver(sessionId: string, { phase, ...request }: RequestWaiver): Promise<WaiverRequested> {
    return this.session(sessionId).requestWaiver(phase, request);
  }

  /** Lists the requests for waivers that all sessions wait for. */
  waivers(): Promise<readonly AwaitedWaiver[]> {
    return this.#operations.run("waivers", ({ phased, context }) => phased.listWaivers(context));
  }

  /** Returns the request for a waiver that waits for a person; undefined if there is none. */
  async getWaiver(sessionId: string): Promise<WaiverRequest | undefined> {
    return this.session(sessionId).waiver();
  }

  /**
   * Grants the waiver that a session waits for. For the host only.
   * @throws {PhasegateError} as {@link Session.waive} does.
   */
  async waive(sessionId: string, request: WaiveRequest): Promise<WaiverResult> {
    return this.session(sessionId).waive(request);
  }

  /**
   * Denies the waiver that a session waits for. For the host only.
   * @throws {PhasegateError} as {@link Session.denyWaiver} does.
   */
  async denyWaiver(sessionId: string, request: DenyWaiverRequest): Promise<WaiverResult> {
    return this.session(sessionId).denyWaiver(request);
  }

  /** Returns the state of a session, from its head alone. */
  async getState(sessionId: string): Promise<StateView> {
    return this.session(sessionId).state();
  }

  /** Returns the state of a session with its artifacts and options; reads the whole log. */
  async getFullState(sessionId: string): Promise<FullStateView> {
    return this.session(sessionId).fullState();
  }

  /**
   * Returns the accepted evidence of a completed phase; undefined for the current phase, and for one that was skipped.
   * Reads the whole log.
   * @throws {PhasegateError} as {@link Session.artifact} does.
   */
  async artifact(sessionId: string, phase: number): Promise<ArtifactView | undefined> {
    return this.session(sessionId).artifact(phase);
  }

  /** Returns the options that a session was started with. */
  async getOptions(sessionId: string): Promise<JsonObject> {
    return this.session(sessionId).options();
  }

  /** Returns commits of a session's log, as {@link Session.commits} does. */
  async commits(sessionId: string, request: CommitsRequest = {}): Promise<readonly SessionCommit[]> {
    return this.session(sessionId).commits(request);
  }

  /** Returns every attempt at every phase, oldest first, as {@link Session.history} does. */
  async history(sessionId: string, request: HistoryRequest = {}): Promise<readonly PhaseAttempt[]> {
    return this.session(sessionId).history(request);
  }

  /** Returns the steps ahead that were refused, oldest first; see {@link Session.refusals}. */
  async refusals(sessionId: string): Promise<readonly RefusedStep[]> {
    return this.session(sessionId).refusals();
  }

  /** Returns every failure at a gate, oldest first. */
  async errors(sessionId: string): Promise<readonly GateFailure[]> {
    return this.session(sessionId).errors();
  }

  /**
   * Pauses an active session.
   * @throws {PhasegateError} as {@link Session.pause} does.
   */
  async pause(sessionId: string, request: Keyed & OperatorNote = {}): Promise<PauseResult> {
    return this.session(sessionId).pause(request);
  }

  /**
   * Resumes a paused session.
   * @throws {PhasegateError} as {@link Session.resume} does.
   */
  async resume(sessionId: string, request: Keyed & OperatorNote = {}): Promise<ResumeResult> {
    return this.session(sessionId).resume(request);
  }

  /**
   * Resets the failed attempts of the current phase, and takes the snapshots that are missing.
   * @throws {PhasegateError} as {@link Session.retryPhase} does.
   */
  async retryPhase(
    sessionId: string,
    request: Keyed & OperatorNote & { phase: number; resetEvidence?: boolean; by?: "agent" | "host" },
  ): Promise<RetryResult> {
    return this.session(sessionId).retryPhase(request.phase, request);
  }

  /**
   * Returns to an earlier phase; it and all later ones must be done again.
   * @throws {PhasegateError} as {@link Session.rollback} does.
   */
  async rollback(
    sessionId: string,
    { to, ...request }: Keyed & { readonly to: number; readonly by?: "agent" | "host" },
  ): Promise<RollbackResult> {
    return this.session(sessionId).rollback(to, request);
  }

  /**
   * Passes the current phase without evidence, where its gate allows it. For the host only.
   * @throws {PhasegateError} as {@link Session.overrideGate} does.
   */
  async overrideGate(sessionId: string, request: MoveRequest & { readonly phase: number }): Promise<MoveResult> {
    return this.session(sessionId).overrideGate(request.phase, request);
  }

  /**
   * Skips the current phase, where the definition allows it. For the host only.
   * @throws {PhasegateError} as {@link Session.skipPhase} does.
   */
  async skipPhase(sessionId: string, request: MoveRequest & { readonly phase: number }): Promise<MoveResult> {
    return this.session(sessionId).skipPhase(request.phase, request);
  }

  /**
   * Moves a session to the newest definition of its workflow, which is recorded. For the host only.
   * @throws {PhasegateError} as {@link Session.migrate} does.
   */
  async migrate(sessionId: string, request: Keyed & { readonly by: string }): Promise<StateView> {
    return this.session(sessionId).migrate(request);
  }

  /**
   * Compares a session's plan with the pinned one and, unless it is a preview, adopts it.
   * @throws {PhasegateError} as {@link Session.syncPlan} does.
   */
  async syncPlan(sessionId: string, request: SyncRequest = {}): Promise<SyncResult> {
    return this.session(sessionId).syncPlan(request);
  }

  /**
   * Deletes a session with a tombstone that records the reason; its id is never used again.
   * @throws {PhasegateError} as {@link Session.delete} does.
   */
  async deleteSession(sessionId: string, request: { reason?: string; operator?: string } = {}): Promise<DeleteResult> {
    return this.session(sessionId).delete(request);
  }

  /** Checks a session's log, against a receipt if one is given. */
  async audit(sessionId: string, receipt?: Receipt): Promise<SessionAudit> {
    return this.session(sessionId).audit(receipt);
  }
}

/**
 * Creates an engine.
 * @throws {PhasegateError} `INVALID_INPUT` when a limit or an approver's key is invalid.
 */
export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}
