import type { Receipt } from "../log/commit.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { SessionQuery } from "../ports/storage-adapter.js";
import type { OperationMetrics } from "../runtime/metrics.js";
import type { EvidenceOf, PhaseNumberOf, Workflow } from "../workflow/define-workflow.js";
import type { JsonObject } from "../workflow/json.js";
import type { SessionAudit } from "./approval/audit.js";
import type { ApprovalRequest, AwaitedApproval } from "./approval/awaited.js";
import type { ApprovalResult, ApproveRequest, DenyRequest } from "./approval/decide.js";
import type { CleanupRequest, CleanupResult } from "./cleanup.js";
import type {
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./commands.js";
import type { CompleteRequest } from "./complete-phase.js";
import type { CompleteResult } from "./gate-answer.js";
import type { SessionPage } from "./lists.js";
import { type NotificationListener, type NotificationName, Notifications } from "./notifications.js";
import { Operations } from "./operations.js";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.js";
import type { SyncRequest, SyncResult } from "./plan/sync.js";
import { Session } from "./session.js";
import type { StartRequest, StartResult } from "./start.js";
import type { Actor } from "./state/commands.js";
import type { GateFailure, PhaseAttempt } from "./state/history.js";
import type { FullStateView, PhaseView, StateView, TaskView } from "./views.js";
import { type SessionCommit, type WatchQuery, watchCommits } from "./watch.js";
/** The evidence of each phase, by its number. */
export type EvidenceByPhase<W extends Workflow> = { [N in PhaseNumberOf<W>]: EvidenceOf<W, N> };

/**
 * Runs phased sessions: shows an agent only the phase that it is in, takes evidence at its gate, and
 * refuses every way around it. Holds no state of its own that matters: any number of engines may
 * work on one storage, and what a call has answered is stored.
 *
 * Methods that take a session's id do what {@link Session} does. They reject with
 * {@link PhasegateError}; an unmet gate is a result, not an error.
 */
export class Engine {
  readonly #options: ResolvedOptions;
  readonly #operations: Operations;
  readonly #notifications = new Notifications();

  constructor(options: EngineOptions) {
    this.#options = resolveOptions(options);
    this.#operations = new Operations(this.#options, this.#notifications);
  }

  /** Listens to notifications; the function that comes back stops it. */
  on<N extends NotificationName>(name: N, listener: NotificationListener<N>): () => void {
    return this.#notifications.on(name, listener);
  }

  /**
   * One session, typed by its workflow: `completePhase` takes exactly that phase's evidence. Its methods
   * reject with `INVALID_INPUT` if the session is on another workflow.
   */
  session<W extends Workflow>(workflow: W, sessionId: string): Session<PhaseNumberOf<W>, EvidenceByPhase<W>>;
  /** One session, of any workflow. Throws `INVALID_INPUT` for what can't be an id. */
  session(sessionId: string): Session;
  session(workflowOrId: Workflow | string, sessionId = ""): Session {
    if (typeof workflowOrId === "string") return new Session(this.#operations, workflowOrId);
    return new Session(this.#operations, sessionId, workflowOrId.definition.structure.type);
  }

  /** All workflows, broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly WorkflowListing[]> {
    return this.#operations.run("listWorkflows", (_, { workflows }) => workflows.all());
  }

  /** Starts a session. A start that fails leaves nothing behind. */
  start(request: StartRequest): Promise<StartResult> {
    return this.#operations.run("start", (phased, context) => phased.startSession(context, request));
  }

  /**
   * Phased sessions by creation time, newest first, in pages. Each is read, and shown as its log has it. One that can't be
   * read, or that passed a gate on an approval that this host does not believe, is named in `broken` and told to `security`
   * listeners; the others are listed.
   */
  listSessions(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#operations.run("listSessions", (phased, context) => phased.listSessions(context, query));
  }

  /**
   * Commits of sessions as any process appends them, from the call on: each at least once, a session's in their order,
   * each checked against its hash. Ends when the signal aborts, and with `break`. Throws `UNSUPPORTED` where the storage
   * can't be watched; a commit that isn't what was written ends it with `TAMPERED`. Commits of a session that passed a gate
   * on an approval that this host does not believe are left out, and told to `security` listeners.
   */
  watch(
    query: WatchQuery = {},
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<SessionCommit, undefined> {
    return watchCommits(this.#options.storage, this.#operations, query, options.signal);
  }

  /** Deletes sessions that nobody has touched for a while: as asked for, or as `retention` says. */
  cleanup(request: CleanupRequest = {}): Promise<CleanupResult> {
    return this.#operations.run("cleanup", (phased, context) => phased.cleanup(context, request));
  }

  /** Counts and durations of every operation since the engine was made. */
  metrics(): Record<string, OperationMetrics> {
    return this.#operations.metrics.report();
  }

  /** Tells the listeners of `internalError` of a failure beside the engine: in a tool, in a face. */
  reportError(operation: string, error: unknown): void {
    this.#notifications.notify("internalError", { operation, error });
  }

  /** Lets go of the storage. */
  async close(): Promise<void> {
    await this.#options.storage.close?.();
  }

  /** The current phase, or one that is done. */
  async getPhase(sessionId: string, phase?: number): Promise<PhaseView> {
    const session = this.session(sessionId);
    return phase === undefined ? session.currentPhase() : session.phase(phase);
  }

  /** A task of the current phase, or of one that is done. */
  async getTask(sessionId: string, phase: number, task: number): Promise<TaskView> {
    return this.session(sessionId).task(phase, task);
  }

  /** Takes evidence to the gate of the current phase. */
  async completePhase(sessionId: string, { phase, evidence, ...request }: CompleteRequest): Promise<CompleteResult> {
    const session: Session<number, Record<number, unknown>> = this.session(sessionId);
    return session.completePhase(phase, evidence, request);
  }

  /** What all sessions wait for, where they wait for a person: evidence that is complete. */
  approvals(): Promise<readonly AwaitedApproval[]> {
    return this.#operations.run("approvals", (phased, context) => phased.listApprovals(context));
  }

  /** What a person is asked in a session, with the evidence that it is about; undefined while nothing waits for one. */
  async getApproval(sessionId: string): Promise<ApprovalRequest | undefined> {
    return this.session(sessionId).approval();
  }

  /** A person's yes to what a session waits for: its phase passes. For the host alone. */
  async approve(sessionId: string, request: ApproveRequest): Promise<ApprovalResult> {
    return this.session(sessionId).approve(request);
  }

  /** A person's no: a failed attempt, with their note as what is to be mended. For the host alone. */
  async deny(sessionId: string, request: DenyRequest): Promise<ApprovalResult> {
    return this.session(sessionId).deny(request);
  }

  /** Where a session stands, from its head alone. */
  async getState(sessionId: string): Promise<StateView> {
    return this.session(sessionId).state();
  }

  /** Where a session stands, with its artifacts and options; reads the whole log. */
  async getFullState(sessionId: string): Promise<FullStateView> {
    return this.session(sessionId).fullState();
  }

  /** The options that a session was started with. */
  async getOptions(sessionId: string): Promise<JsonObject> {
    return this.session(sessionId).options();
  }

  /** Every try at every phase, oldest first. */
  async history(sessionId: string): Promise<readonly PhaseAttempt[]> {
    return this.session(sessionId).history();
  }

  /** Every refusal at a gate, oldest first. */
  async errors(sessionId: string): Promise<readonly GateFailure[]> {
    return this.session(sessionId).errors();
  }

  /** Sets an active session aside. */
  async pause(sessionId: string, request: Keyed & { readonly note?: string } = {}): Promise<PauseResult> {
    return this.session(sessionId).pause(request);
  }

  /** Takes a paused session up again. */
  async resume(sessionId: string, request: Keyed = {}): Promise<ResumeResult> {
    return this.session(sessionId).resume(request);
  }

  /** Gives the current phase its attempts back. `by` is `host` if not given; an agent's retries are bounded. */
  async retryPhase(
    sessionId: string,
    { phase, ...request }: Keyed & { readonly phase: number; readonly resetEvidence?: boolean; readonly by?: Actor },
  ): Promise<RetryResult> {
    return this.session(sessionId).retryPhase(phase, request);
  }

  /** Goes back to an earlier phase; it and all after it must be done again. */
  async rollback(
    sessionId: string,
    { to, ...request }: Keyed & { readonly to: number; readonly by?: Actor },
  ): Promise<RollbackResult> {
    return this.session(sessionId).rollback(to, request);
  }

  /** Lets the current phase pass without evidence, where its gate allows it. For the host alone. */
  async overrideGate(sessionId: string, request: MoveRequest & { readonly phase: number }): Promise<MoveResult> {
    return this.session(sessionId).overrideGate(request.phase, request);
  }

  /** Skips the current phase, where the definition allows it. For the host alone. */
  async skipPhase(sessionId: string, request: MoveRequest & { readonly phase: number }): Promise<MoveResult> {
    return this.session(sessionId).skipPhase(request.phase, request);
  }

  /** Moves a session to the newest definition of its workflow, which is recorded. For the host alone. */
  async migrate(sessionId: string, request: Keyed & { readonly by: string }): Promise<StateView> {
    return this.session(sessionId).migrate(request);
  }

  /** Lays a session's plan, as it is now, beside the pinned one and, unless it is a preview, goes on with it. */
  async syncPlan(sessionId: string, request: SyncRequest = {}): Promise<SyncResult> {
    return this.session(sessionId).syncPlan(request);
  }

  /** Deletes a session, with a tombstone that says why; its id is never used again. */
  async deleteSession(sessionId: string, request: { readonly reason?: string } = {}): Promise<DeleteResult> {
    return this.session(sessionId).delete(request);
  }

  /** Checks a session's log, against a receipt kept elsewhere if there is one. */
  async audit(sessionId: string, receipt?: Receipt): Promise<SessionAudit> {
    return this.session(sessionId).audit(receipt);
  }
}

/** Makes an engine. */
export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}
