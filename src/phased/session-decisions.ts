/** The part of a session in which an agent asks a person, and a person decides: approvals and waivers. */
import type { SessionId } from "../workflow/names.js";
import type { ApprovalRequest } from "./approval/ledger.js";
import type { ApprovalResult, ApproveRequest, DenyRequest } from "./approval/requests.js";
import type {
  DenyWaiverRequest,
  RequestWaiver,
  WaiveRequest,
  WaiverRequest,
  WaiverRequested,
  WaiverResult,
} from "./approval/waivers.js";
import type { EngineContext } from "./engine-context.js";
import type { Phased } from "./phased.js";

/** The operations once they are loaded, and what they share. */
export interface LoadedPhased {
  readonly phased: Phased;
  readonly context: EngineContext;
}

/** What persons decide in a session. */
export abstract class SessionDecisions<Phase extends number = number> {
  /** The session's id. */
  abstract readonly id: SessionId;

  /** @internal Runs an operation on this session. */
  protected abstract run<T>(operation: string, work: (loaded: LoadedPhased) => Promise<T>): Promise<T>;

  /** Returns the approval that the session waits for, with its evidence; undefined if it waits for none. */
  approval(): Promise<ApprovalRequest | undefined> {
    return this.run("getApproval", async ({ phased, context }) =>
      phased.viewRequest(context, await phased.loadSession(context, this.id)),
    );
  }

  /**
   * Approves what the session waits for: its phase passes. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the approval does not count;
   *   `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` is empty or too long.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   */
  approve(request: ApproveRequest): Promise<ApprovalResult> {
    return this.run("approve", ({ phased, context }) => phased.decide(context, this.id, "approve", request));
  }

  /**
   * Denies what the session waits for: a failed attempt with the note as its problem. For the host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count;
   *   `details.reason` says why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` or `note` is empty or too long.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is not active.
   */
  deny(request: DenyRequest): Promise<ApprovalResult> {
    return this.run("deny", ({ phased, context }) => phased.decide(context, this.id, "deny", request));
  }

  /**
   * Asks a person to waive what the agent can't meet at the current phase. It counts as no attempt, and the session
   * waits.
   * @throws {PhasegateError} `INVALID_INPUT` when `fields` names nothing that the gate requires, or a text is empty or
   *   too long.
   * @throws {PhasegateError} `NOT_ALLOWED` when the definition excludes a field from waivers, or the gate hides what it
   *   asks for.
   * @throws {PhasegateError} `INVALID_TRANSITION` when the session is neither active nor failed, or waits for an
   *   approval.
   * @throws {PhasegateError} `PHASE_LOCKED`, `PHASE_ALREADY_COMPLETED` or `PHASE_OUT_OF_RANGE` when `phase`
   *   is not the current one.
   */
  requestWaiver(phase: Phase, request: Omit<RequestWaiver, "phase">): Promise<WaiverRequested> {
    return this.run("requestWaiver", ({ phased, context }) =>
      phased.requestWaiver(context, this.id, { phase, ...request }),
    );
  }

  /** Returns the request for a waiver that waits for a person; undefined if there is none. */
  waiver(): Promise<WaiverRequest | undefined> {
    return this.run("getWaiver", async ({ phased, context }) =>
      phased.viewWaiverRequest(context, await phased.loadSession(context, this.id)),
    );
  }

  /**
   * Grants the waiver that the session waits for: for exactly its fields, until the session leaves the phase. For the
   * host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the waiver does not count; `details.reason` says
   *   why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` is empty or too long.
   */
  waive(request: WaiveRequest): Promise<WaiverResult> {
    return this.run("waive", ({ phased, context }) => phased.decideWaiver(context, this.id, "approve", request));
  }

  /**
   * Denies the waiver that the session waits for; the note says what to do instead. It counts as no attempt. For the
   * host only.
   * @throws {PhasegateError} `APPROVAL_REFUSED` when nothing waits, or the denial does not count; `details.reason` says
   *   why.
   * @throws {PhasegateError} `INVALID_INPUT` when `by` or `note` is empty or too long.
   */
  denyWaiver(request: DenyWaiverRequest): Promise<WaiverResult> {
    return this.run("denyWaiver", ({ phased, context }) => phased.decideWaiver(context, this.id, "deny", request));
  }
}
