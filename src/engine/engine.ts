import type { EvidenceOf, PhaseNumberOf, Workflow } from "../definition/define-workflow.js";
import { parseSessionId } from "../definition/names.js";
import type { AuditReport, Receipt } from "../kernel/audit.js";
import { Kernel } from "../kernel/kernel.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { Page, SessionQuery, SessionSummary } from "../ports/storage-adapter.js";
import type { Actor } from "../session/commands.js";
import { type GateFailure, gateFailures, type PhaseAttempt, phaseHistory } from "../session/history.js";
import { announce } from "./announce.js";
import { readEvents } from "./artifacts.js";
import { type CleanupRequest, type CleanupResult, cleanup } from "./cleanup.js";
import { type CompleteRequest, type CompleteResult, completePhase } from "./complete-phase.js";
import { type EngineContext, loadSession } from "./context.js";
import type { OperationMetrics } from "./metrics.js";
import { type NotificationListener, type NotificationName, Notifications } from "./notifications.js";
import { Operations } from "./operations.js";
import { type EngineOptions, resolveOptions } from "./options.js";
import { type PhaseView, type TaskView, viewPhase, viewTask } from "./phase-view.js";
import { phasedMachine } from "./phased-machine.js";
import { Pinned } from "./pinned.js";
import {
  type DeleteResult,
  deleteSession,
  type Keyed,
  type MoveResult,
  migrate,
  movePast,
  type PauseResult,
  pause,
  type ResumeResult,
  type RetryResult,
  type RollbackResult,
  resume,
  retryPhase,
  rollback,
} from "./session-commands.js";
import { Session } from "./session-object.js";
import { requireWorkflow, type StartRequest, type StartResult, startSession } from "./start-session.js";
import { type FullStateView, type StateView, viewFullState, viewState } from "./state-view.js";

/**
 * Runs phased sessions: shows an agent only the phase that it is in, takes evidence at its gate, and
 * refuses every way around it. Holds no state of its own that matters: any number of engines may
 * work on one storage, and what a call has answered is stored.
 *
 * Methods reject with {@link PhasegateError}; an unmet gate is a result, not an error.
 */
export class Engine {
  readonly #context: EngineContext;
  readonly #operations: Operations;
  readonly #notifications = new Notifications();

  constructor(engineOptions: EngineOptions) {
    const options = resolveOptions(engineOptions);
    const notifications = this.#notifications;
    const kernel = new Kernel({
      ...options,
      machine: phasedMachine,
      onCommit: (session) => announce(notifications, session),
      onConflict: (sessionId, version) => notifications.notify("conflict", { sessionId, version }),
    });
    this.#context = { options, kernel, pinned: new Pinned(kernel, options.content) };
    this.#operations = new Operations(notifications, options.limits.maxConcurrent);
  }

  /** Listens to notifications; the function that comes back stops it. */
  on<N extends NotificationName>(name: N, listener: NotificationListener<N>): () => void {
    return this.#notifications.on(name, listener);
  }

  /** All workflows, broken ones with their diagnostics. */
  listWorkflows(): Promise<readonly WorkflowListing[]> {
    return this.#operations.run("listWorkflows", () => this.#context.options.content.list());
  }

  /** Starts a session. A start that fails leaves nothing behind. */
  start(request: StartRequest): Promise<StartResult> {
    return this.#operations.run("start", () => startSession(this.#context, request));
  }

  /** The current phase, or one that is done. */
  getPhase(sessionId: string, phase?: number): Promise<PhaseView> {
    return this.#operations.run("getPhase", async () => {
      const loaded = await loadSession(this.#context, sessionId);
      return viewPhase(this.#context, loaded, phase ?? loaded.session.head.phase);
    });
  }

  /** A task of the current phase, or of one that is done. */
  getTask(sessionId: string, phase: number, task: number): Promise<TaskView> {
    return this.#operations.run("getTask", async () => {
      return viewTask(this.#context, await loadSession(this.#context, sessionId), phase, task);
    });
  }

  /** Takes evidence to the gate of the current phase. */
  completePhase(sessionId: string, request: CompleteRequest): Promise<CompleteResult> {
    return this.#operations.run(
      "completePhase",
      () => completePhase(this.#context, sessionId, request),
      ({ passed }) => passed,
    );
  }

  /** Where a session stands, from its head alone. */
  getState(sessionId: string): Promise<StateView> {
    return this.#operations.run("getState", async () => viewState(await loadSession(this.#context, sessionId)));
  }

  /** Where a session stands, with its artifacts and options; reads the whole log. */
  getFullState(sessionId: string): Promise<FullStateView> {
    return this.#operations.run("getFullState", async () => {
      return viewFullState(this.#context, await loadSession(this.#context, sessionId));
    });
  }

  /** Sessions by creation time, newest first, in pages. */
  listSessions(query: SessionQuery = {}): Promise<Page<SessionSummary>> {
    return this.#operations.run("listSessions", () => this.#context.options.storage.list(query));
  }

  /** Every try at every phase, oldest first. */
  history(sessionId: string): Promise<readonly PhaseAttempt[]> {
    return this.#operations.run("history", async () => {
      const { session } = await loadSession(this.#context, sessionId);
      return phaseHistory(await readEvents(this.#context, session.sessionId));
    });
  }

  /** Every refusal at a gate, oldest first. */
  errors(sessionId: string): Promise<readonly GateFailure[]> {
    return this.#operations.run("errors", async () => {
      const { session } = await loadSession(this.#context, sessionId);
      return gateFailures(await readEvents(this.#context, session.sessionId));
    });
  }

  /** Sets an active session aside. */
  pause(sessionId: string, request: Keyed & { readonly note?: string } = {}): Promise<PauseResult> {
    return this.#operations.run("pause", () => pause(this.#context, sessionId, request));
  }

  /** Takes a paused session up again. */
  resume(sessionId: string, request: Keyed = {}): Promise<ResumeResult> {
    return this.#operations.run("resume", () => resume(this.#context, sessionId, request));
  }

  /** Gives the current phase its attempts back. `by` is `host` if not given; an agent's retries are bounded. */
  retryPhase(
    sessionId: string,
    request: Keyed & { readonly phase: number; readonly resetEvidence?: boolean; readonly by?: Actor },
  ): Promise<RetryResult> {
    return this.#operations.run("retryPhase", () => retryPhase(this.#context, sessionId, request));
  }

  /** Goes back to an earlier phase; it and all after it must be done again. */
  rollback(
    sessionId: string,
    request: Keyed & { readonly to: number; readonly by?: Actor },
  ): Promise<RollbackResult> {
    return this.#operations.run("rollback", () => rollback(this.#context, sessionId, request));
  }

  /** Lets the current phase pass without evidence, where its gate allows it. For the host alone. */
  overrideGate(
    sessionId: string,
    request: Keyed & { readonly phase: number; readonly by: string; readonly reason: string },
  ): Promise<MoveResult> {
    return this.#operations.run("overrideGate", () => movePast(this.#context, sessionId, "overrideGate", request));
  }

  /** Skips the current phase, where the definition allows it. For the host alone. */
  skipPhase(
    sessionId: string,
    request: Keyed & { readonly phase: number; readonly by: string; readonly reason: string },
  ): Promise<MoveResult> {
    return this.#operations.run("skipPhase", () => movePast(this.#context, sessionId, "skipPhase", request));
  }

  /** Moves a session to the newest definition of its workflow, which is recorded. For the host alone. */
  migrate(sessionId: string, request: Keyed & { readonly by: string }): Promise<StateView> {
    return this.#operations.run("migrate", async () => {
      const { session } = await loadSession(this.#context, sessionId);
      const { structure } = await requireWorkflow(this.#context.options, session.head.workflowType);
      await migrate(this.#context, sessionId, structure, request);
      return viewState(await loadSession(this.#context, sessionId));
    });
  }

  /** Deletes a session, with a tombstone that says why; its id is never used again. */
  deleteSession(sessionId: string, request: { readonly reason?: string } = {}): Promise<DeleteResult> {
    return this.#operations.run("deleteSession", () => deleteSession(this.#context, sessionId, request));
  }

  /** Deletes sessions that nobody has touched for a while. */
  cleanup(request: CleanupRequest = {}): Promise<CleanupResult> {
    return this.#operations.run("cleanup", () => cleanup(this.#context, request));
  }

  /** Checks a session's log, against a receipt kept elsewhere if there is one. */
  audit(sessionId: string, receipt?: Receipt): Promise<AuditReport> {
    return this.#operations.run("audit", () => this.#context.kernel.audit(parseSessionId(sessionId), receipt));
  }

  /** Counts and durations of every operation since the engine was made. */
  metrics(): Record<string, OperationMetrics> {
    return this.#operations.metrics.report();
  }

  /** One session, typed by its workflow: `completePhase` takes exactly that phase's evidence. */
  session<W extends Workflow>(workflow: W, sessionId: string): Session<PhaseNumberOf<W>, EvidenceByPhase<W>>;
  /** One session, of any workflow. */
  session(sessionId: string): Session;
  session(workflowOrId: Workflow | string, sessionId?: string): Session {
    return new Session(this, parseSessionId(typeof workflowOrId === "string" ? workflowOrId : sessionId));
  }

  /** Lets go of the storage. */
  async close(): Promise<void> {
    await this.#context.options.storage.close?.();
  }
}

/** The evidence of each phase, by its number. */
export type EvidenceByPhase<W extends Workflow> = { [N in PhaseNumberOf<W>]: EvidenceOf<W, N> };

/** Makes an engine. */
export function createEngine(options: EngineOptions): Engine {
  return new Engine(options);
}
