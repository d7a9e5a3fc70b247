import type { JsonObject } from "../definition/json.js";
import type { SessionId } from "../definition/names.js";
import type { GateFailure, PhaseAttempt } from "../session/history.js";
import type { CompleteRequest, CompleteResult } from "./complete-phase.js";
import type { Engine } from "./engine.js";
import type { PhaseView, TaskView } from "./phase-view.js";
import type { DeleteResult, Keyed, PauseResult, ResumeResult, RetryResult, RollbackResult } from "./session-commands.js";
import type { FullStateView, StateView } from "./state-view.js";

/**
 * One session of an engine, with no id to pass on: what a host holds while it works with one agent.
 * It keeps nothing itself, so it may be thrown away and made again at any time.
 */
export class Session<Phase extends number = number, Evidence extends Record<Phase, unknown> = Record<Phase, JsonObject>> {
  readonly id: SessionId;
  readonly #engine: Engine;

  constructor(engine: Engine, id: SessionId) {
    this.#engine = engine;
    this.id = id;
  }

  /** The phase that the session is in. */
  currentPhase(): Promise<PhaseView> {
    return this.#engine.getPhase(this.id);
  }

  /** The current phase, or one that is done. */
  phase(number: Phase): Promise<PhaseView> {
    return this.#engine.getPhase(this.id, number);
  }

  /** A task of the current phase, or of one that is done. */
  task(phase: Phase, task: number): Promise<TaskView> {
    return this.#engine.getTask(this.id, phase, task);
  }

  /** Takes evidence to the gate of the current phase: exactly what that phase's schema takes. */
  completePhase<N extends Phase>(phase: N, evidence: Evidence[N], request: Keyed = {}): Promise<CompleteResult> {
    const complete: CompleteRequest<N, unknown> = { phase, evidence, ...request };
    return this.#engine.completePhase(this.id, complete);
  }

  /** Where the session stands. */
  state(): Promise<StateView> {
    return this.#engine.getState(this.id);
  }

  /** Where the session stands, with its artifacts and options. */
  fullState(): Promise<FullStateView> {
    return this.#engine.getFullState(this.id);
  }

  /** Every try at every phase, oldest first. */
  history(): Promise<readonly PhaseAttempt[]> {
    return this.#engine.history(this.id);
  }

  /** Every refusal at a gate, oldest first. */
  errors(): Promise<readonly GateFailure[]> {
    return this.#engine.errors(this.id);
  }

  pause(request: Keyed & { readonly note?: string } = {}): Promise<PauseResult> {
    return this.#engine.pause(this.id, request);
  }

  resume(request: Keyed = {}): Promise<ResumeResult> {
    return this.#engine.resume(this.id, request);
  }

  /** Gives the current phase its attempts back, as the host. */
  retryPhase(phase: Phase, request: Keyed & { readonly resetEvidence?: boolean } = {}): Promise<RetryResult> {
    return this.#engine.retryPhase(this.id, { phase, ...request });
  }

  /** Goes back to an earlier phase, as the host. */
  rollback(to: Phase, request: Keyed = {}): Promise<RollbackResult> {
    return this.#engine.rollback(this.id, { to, ...request });
  }

  delete(request: { readonly reason?: string } = {}): Promise<DeleteResult> {
    return this.#engine.deleteSession(this.id, request);
  }
}
