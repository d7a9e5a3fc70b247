/** The public types of approvals that sessions wait for. */

import type { ApprovalQuestion } from "../../approval/message.js";
import type { Problem } from "../../gate/verdict.js";
import type { JsonObject } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { PhasedCommit } from "../pinned.js";
import type { EventOf, Verification } from "../state/events.js";

/** An approval that a session waits for: its evidence is complete. */
export interface AwaitedApproval extends ApprovalQuestion {
  readonly sessionId: SessionId;
  /** The number of the attempt at the phase. */
  readonly attempt: number;
  /** The question to the person. */
  readonly prompt: string;
  /** The names of those who may answer, as the host knows them; any approver if missing. */
  readonly approvers?: readonly string[];
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** An awaited approval with everything that the person has to review. */
export interface ApprovalRequest extends AwaitedApproval {
  /** The target of the session. */
  readonly target: string;
  /** The evidence to approve. */
  readonly evidence: JsonObject;
  /** The results of the gate's verifiers. */
  readonly verification: readonly Verification[];
  /** The gate's warnings. */
  readonly warnings: readonly Problem[];
  /** True if this engine accepts an unsigned answer. */
  readonly unsignedAllowed: boolean;
}

/** A person's denial. */
export interface Denial {
  /** The name of the person. */
  readonly by: string;
  /** What to fix. */
  readonly note: string;
  /** True if the denial was signed with the key that the host has for that name. */
  readonly authenticated: boolean;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** Returns the question that a commit asks. */
export function awaitedBy(
  { sessionId, hash, at, head }: PhasedCommit,
  { phase, attempt, evidenceHash, prompt, approvers }: EventOf<"approval_requested">,
): AwaitedApproval {
  const { workflowType, revision } = head;
  const question = { sessionId, workflowType, revision, phase, evidenceHash, request: hash };
  return { ...question, attempt, prompt, ...(approvers === undefined ? {} : { approvers }), askedAt: at };
}
