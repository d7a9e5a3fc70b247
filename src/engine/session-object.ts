import type { JsonObject } from "../definition/json.js";
import { parseSessionId, type SessionId } from "../definition/names.js";
import type { AuditReport, Receipt } from "../kernel/audit.js";
import type { Actor } from "../session/commands.js";
import { type GateFailure, gateFailures, type PhaseAttempt, phaseHistory } from "../session/history.js";
import { readEvents } from "./artifacts.js";
import { type CompleteResult, completePhase } from "./complete-phase.js";
import { loadSession, sessionNotFound } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import type { Operations } from "./operations.js";
import { type PhaseView, type TaskView, viewPhase, viewTask } from "./phase-view.js";
import type { SyncRequest, SyncResult } from "./plan/sync-plan.js";
import {
  type DeleteResult,
  deleteSession,
  type Keyed,
  type MoveRequest,
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
import { type FullStateView, type StateView, startOptions, viewFullState, viewState } from "./state-view.js";

/**
 * One session of an engine, with no id to pass on: what a host holds while it works with one agent.
 * It keeps nothing itself, so it may be thrown away and made again at any time. Methods reject with
 * {@link PhasegateError}.
 */
export class Session<
  Phase extends number = number,
  Evidence extends Record<Phase, unknown> = Record<Phase, JsonObject>,
> {
  readonly id: SessionId;
  readonly #context: EngineContext;
  readonly #operations: Operations;

  /** @internal Sessions are made by {@link Engine.session}. */
  constructor(context: EngineContext, operations: Operations, id: string) {
    this.#context = context;
    this.#operations = operations;
    this.id = parseSessionId(id);
  }

  /** The phase that the session is in. */
  currentPhase(): Promise<PhaseView> {
    return this.#phase(undefined);
  }

  /** The current phase, or one that is done. */
  phase(number: Phase): Promise<PhaseView> {
    return this.#phase(number);
  }

  /** A task of the current phase, or of one that is done. */
  task(phase: Phase, task: number): Promise<TaskView> {
    return this.#operations.run("getTask", async () =>
      viewTask(this.#context, await loadSession(this.#context, this.id), phase, task),
    );
  }

  /** Takes evidence to the gate of the current phase: exactly what that phase's schema takes. */
  completePhase<N extends Phase>(phase: N, evidence: Evidence[N], request: Keyed = {}): Promise<CompleteResult> {
    return this.#operations.run(
      "completePhase",
      () => completePhase(this.#context, this.id, { phase, evidence, ...request }),
      ({ passed }) => passed,
    );
  }

  /** Where the session stands, from its head alone. */
  state(): Promise<StateView> {
    return this.#operations.run("getState", async () =>
      viewState(this.#context, await loadSession(this.#context, this.id)),
    );
  }

  /** Where the session stands, with its artifacts and options; reads the whole log. */
  fullState(): Promise<FullStateView> {
    return this.#operations.run("getFullState", async () =>
      viewFullState(this.#context, await loadSession(this.#context, this.id)),
    );
  }

  /** The options that the session was started with. */
  options(): Promise<JsonObject> {
    return this.#operations.run("getOptions", async () => {
      const { session } = await loadSession(this.#context, this.id);
      return startOptions(this.#context, session.sessionId);
    });
  }

  /** Every try at every phase, oldest first. */
  history(): Promise<readonly PhaseAttempt[]> {
    return this.#operations.run("history", async () => phaseHistory(await this.#events()));
  }

  /** Every refusal at a gate, oldest first. */
  errors(): Promise<readonly GateFailure[]> {
    return this.#operations.run("errors", async () => gateFailures(await this.#events()));
  }

  /** Sets an active session aside. */
  pause(request: Keyed & { readonly note?: string } = {}): Promise<PauseResult> {
    return this.#operations.run("pause", () => pause(this.#context, this.id, request));
  }

  /** Takes a paused session up again. */
  resume(request: Keyed = {}): Promise<ResumeResult> {
    return this.#operations.run("resume", () => resume(this.#context, this.id, request));
  }

  /** Gives the current phase its attempts back. `by` is `host` if not given; an agent's retries are bounded. */
  retryPhase(
    phase: Phase,
    request: Keyed & { readonly resetEvidence?: boolean; readonly by?: Actor } = {},
  ): Promise<RetryResult> {
    return this.#operations.run("retryPhase", () => retryPhase(this.#context, this.id, { phase, ...request }));
  }

  /** Goes back to an earlier phase; it and all after it must be done again. */
  rollback(to: Phase, request: Keyed & { readonly by?: Actor } = {}): Promise<RollbackResult> {
    return this.#operations.run("rollback", () => rollback(this.#context, this.id, { to, ...request }));
  }

  /** Lets the current phase pass without evidence, where its gate allows it. For the host alone. */
  overrideGate(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#operations.run("overrideGate", () =>
      movePast(this.#context, this.id, "overrideGate", { phase, ...request }),
    );
  }

  /** Skips the current phase, where the definition allows it. For the host alone. */
  skipPhase(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#operations.run("skipPhase", () =>
      movePast(this.#context, this.id, "skipPhase", { phase, ...request }),
    );
  }

  /** Moves the session to the newest definition of its workflow, which is recorded. For the host alone. */
  migrate(request: Keyed & { readonly by: string }): Promise<StateView> {
    return this.#operations.run("migrate", () => migrate(this.#context, this.id, request));
  }

  /**
   * Lays the session's plan, as it is now, beside the pinned one; unless it is a preview, the session goes
   * on with it: what was completed stays, the current phase and those ahead are the plan's.
   */
  syncPlan(request: SyncRequest = {}): Promise<SyncResult> {
    return this.#operations.run("syncPlan", async () => {
      const { syncPlan } = await import("./plan/sync-plan.js");
      return syncPlan(this.#context, this.id, request);
    });
  }

  /** Deletes the session, with a tombstone that says why; its id is never used again. */
  delete(request: { readonly reason?: string } = {}): Promise<DeleteResult> {
    return this.#operations.run("deleteSession", () => deleteSession(this.#context, this.id, request));
  }

  /** Checks the session's log, against a receipt kept elsewhere if there is one. */
  audit(receipt?: Receipt): Promise<AuditReport> {
    return this.#operations.run("audit", async () => {
      const report = await this.#context.kernel.audit(this.id, receipt);
      if (report.versions === 0 && report.intact) throw await sessionNotFound(this.#context, this.id);
      return report;
    });
  }

  #phase(number: number | undefined): Promise<PhaseView> {
    return this.#operations.run("getPhase", async () => {
      const loaded = await loadSession(this.#context, this.id);
      return viewPhase(this.#context, loaded, number ?? loaded.session.head.phase);
    });
  }

  async #events() {
    const { session } = await loadSession(this.#context, this.id);
    return readEvents(this.#context, session.sessionId);
  }
}
