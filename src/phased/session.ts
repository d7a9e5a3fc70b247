import { checkEvidenceSafety } from "../gate/evidence.js";
import type { Receipt } from "../log/commit.js";
import type { JsonObject } from "../workflow/json.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import type { SessionAudit } from "./approval/audit.js";
import type { ApprovalRequest } from "./approval/awaited.js";
import type { ApprovalResult, ApproveRequest, DenyRequest } from "./approval/decide.js";
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
import type { EngineContext } from "./engine-context.js";
import type { CompleteResult } from "./gate-answer.js";
import type { Operations } from "./operations.js";
import type { Phased } from "./phased.js";
import type { SyncRequest, SyncResult } from "./plan/sync.js";
import type { Actor } from "./state/commands.js";
import type { GateFailure, PhaseAttempt } from "./state/history.js";
import type { FullStateView, PhaseView, StateView, TaskView } from "./views.js";
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
  readonly #operations: Operations;
  readonly #workflowType: string | undefined;

  /** @internal Sessions are made by {@link Engine.session}. */
  constructor(operations: Operations, id: string, workflowType?: string) {
    this.#operations = operations;
    this.#workflowType = workflowType;
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
    return this.#run("getTask", async (phased, context) =>
      phased.viewTask(context, await phased.loadSession(context, this.id), phase, task),
    );
  }

  /** Takes evidence to the gate of the current phase: exactly what that phase's schema takes. */
  completePhase<N extends Phase>(phase: N, evidence: Evidence[N], request: Keyed = {}): Promise<CompleteResult> {
    // Copied at once: what the caller changes while the call is under way is no evidence.
    const takeEvidence = settled(() => checkEvidenceSafety(evidence, this.#operations.evidenceLimits));
    return this.#run(
      "completePhase",
      (phased, context) => phased.completePhase(context, this.id, { phase, takeEvidence, ...request }),
      (answer) => answer.passed || answer.awaiting !== undefined,
    );
  }

  /** What a person is asked, with the evidence that it is about; undefined while nothing waits for one. */
  approval(): Promise<ApprovalRequest | undefined> {
    return this.#run("getApproval", async (phased, context) =>
      phased.viewRequest(context, await phased.loadSession(context, this.id)),
    );
  }

  /** A person's yes to what the session waits for: its phase passes. For the host alone. Throws `APPROVAL_REFUSED`. */
  approve(request: ApproveRequest): Promise<ApprovalResult> {
    return this.#run("approve", (phased, context) => phased.decide(context, this.id, "approve", request));
  }

  /** A person's no: a failed attempt, with their note as what is to be mended. For the host alone. Throws `APPROVAL_REFUSED`. */
  deny(request: DenyRequest): Promise<ApprovalResult> {
    return this.#run("deny", (phased, context) => phased.decide(context, this.id, "deny", request));
  }

  /** Where the session stands, from its head alone. */
  state(): Promise<StateView> {
    return this.#run("getState", async (phased, context) =>
      phased.viewState(context, await phased.loadSession(context, this.id)),
    );
  }

  /** Where the session stands, with its artifacts and options; reads the whole log. */
  fullState(): Promise<FullStateView> {
    return this.#run("getFullState", async (phased, context) =>
      phased.viewFullState(context, await phased.loadSession(context, this.id)),
    );
  }

  /** The options that the session was started with. */
  options(): Promise<JsonObject> {
    return this.#run("getOptions", async (phased, context) => {
      const { session } = await phased.loadSession(context, this.id);
      return phased.startOptions(context, session.sessionId);
    });
  }

  /** Every try at every phase, oldest first. */
  history(): Promise<readonly PhaseAttempt[]> {
    return this.#run("history", async (phased, context) => phased.phaseHistory(await this.#events(phased, context)));
  }

  /** Every refusal at a gate, oldest first. */
  errors(): Promise<readonly GateFailure[]> {
    return this.#run("errors", async (phased, context) => phased.gateFailures(await this.#events(phased, context)));
  }

  /** Sets an active session aside. */
  pause(request: Keyed & { readonly note?: string } = {}): Promise<PauseResult> {
    return this.#run("pause", (phased, context) => phased.pause(context, this.id, request));
  }

  /** Takes a paused session up again. */
  resume(request: Keyed = {}): Promise<ResumeResult> {
    return this.#run("resume", (phased, context) => phased.resume(context, this.id, request));
  }

  /** Gives the current phase its attempts back. `by` is `host` if not given; an agent's retries are bounded. */
  retryPhase(
    phase: Phase,
    request: Keyed & { readonly resetEvidence?: boolean; readonly by?: Actor } = {},
  ): Promise<RetryResult> {
    return this.#run("retryPhase", (phased, context) => phased.retryPhase(context, this.id, { phase, ...request }));
  }

  /** Goes back to an earlier phase; it and all after it must be done again. */
  rollback(to: Phase, request: Keyed & { readonly by?: Actor } = {}): Promise<RollbackResult> {
    return this.#run("rollback", (phased, context) => phased.rollback(context, this.id, { to, ...request }));
  }

  /** Lets the current phase pass without evidence, where its gate allows it. For the host alone. */
  overrideGate(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#run("overrideGate", (phased, context) =>
      phased.movePast(context, this.id, "overrideGate", { phase, ...request }),
    );
  }

  /** Skips the current phase, where the definition allows it. For the host alone. */
  skipPhase(phase: Phase, request: MoveRequest): Promise<MoveResult> {
    return this.#run("skipPhase", (phased, context) =>
      phased.movePast(context, this.id, "skipPhase", { phase, ...request }),
    );
  }

  /** Moves the session to the newest definition of its workflow, which is recorded. For the host alone. */
  migrate(request: Keyed & { readonly by: string }): Promise<StateView> {
    return this.#run("migrate", (phased, context) => phased.migrate(context, this.id, request));
  }

  /**
   * Lays the session's plan, as it is now, beside the pinned one; unless it is a preview, the session goes
   * on with it: what was completed stays, the current phase and those ahead are the plan's.
   */
  syncPlan(request: SyncRequest = {}): Promise<SyncResult> {
    return this.#run("syncPlan", async (_phased, context) => {
      const { syncPlan } = await import("./plan/sync.js");
      return syncPlan(context, this.id, request);
    });
  }

  /** Deletes the session, with a tombstone that says why; its id is never used again. */
  delete(request: { readonly reason?: string } = {}): Promise<DeleteResult> {
    return this.#run("deleteSession", (phased, context) => phased.deleteSession(context, this.id, request));
  }

  /** Checks the session's log, against a receipt kept elsewhere if there is one. */
  audit(receipt?: Receipt): Promise<SessionAudit> {
    return this.#run("audit", async (phased, context) => {
      const report = await phased.auditSession(context, this.id, receipt);
      if (report.versions === 0 && report.intact) throw await phased.sessionNotFound(context, this.id);
      return report;
    });
  }

  #phase(number: number | undefined): Promise<PhaseView> {
    return this.#run("getPhase", async (phased, context) => {
      const loaded = await phased.loadSession(context, this.id);
      return phased.viewPhase(context, loaded, number ?? loaded.session.head.phase);
    });
  }

  async #events(phased: Phased, context: EngineContext) {
    const { session } = await phased.loadSession(context, this.id);
    return phased.readEvents(context, session);
  }

  /** An operation on this session, which must be on the workflow that the host has said. */
  #run<T>(
    operation: string,
    work: (phased: Phased, context: EngineContext) => Promise<T>,
    succeeded?: (outcome: T) => boolean,
  ): Promise<T> {
    const workflowType = this.#workflowType;
    const own = (context: EngineContext) => (workflowType === undefined ? context : { ...context, workflowType });
    return this.#operations.run(operation, (phased, context) => work(phased, own(context)), succeeded);
  }
}

/** Does something now; what it gives, or throws, comes when it is asked for. */
function settled<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
