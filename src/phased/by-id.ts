/** The methods of an engine for hosts that take a session's id: each is the one of that session. */
import type { Receipt } from "../log/commit.js";
import type { Owner } from "../ports/actor.js";
import type { JsonObject } from "../workflow/json.js";
import type { ApprovalRequest, SessionAudit } from "./approval/ledger.js";
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
  AssignRequest,
  DeleteResult,
  Keyed,
  MoveRequest,
  MoveResult,
  PauseResult,
  ResumeResult,
  RetryResult,
  RollbackResult,
} from "./commands.js";
import type { RefusedStep } from "./phased.js";
import type { SyncRequest, SyncResult } from "./plan/sync.js";
import type { HistoryRequest, Session } from "./session.js";
import type { OperatorNote } from "./state/commands.js";
import type { GateFailure, PhaseAttempt } from "./state/history.js";
import type { FullStateView, StateView } from "./views.js";
import type { SessionCommit } from "./watch.js";

/** What a host asks of one session, and does with it, by its id. */
export abstract class SessionsById {
  /** Returns one session. */
  abstract session(sessionId: string): Session;

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

  /**
   * Hands a session over to another owner, which is recorded. For the host only.
   * @throws {PhasegateError} as {@link Session.assign} does.
   */
  async assign(sessionId: string, owner: Owner, request: AssignRequest): Promise<StateView> {
    return this.session(sessionId).assign(owner, request);
  }
}
