import type { ApprovalQuestion } from "../../approval/message.js";
import type { Problem } from "../../gate/verdict.js";
import type { JsonObject } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { PhasedCommit } from "../pinned.js";
import type { EventOf, Verification } from "../state/events.js";
/** What a session waits for: a person's yes to evidence that is complete. */
export interface AwaitedApproval extends ApprovalQuestion {
  readonly sessionId: SessionId;
  readonly attempt: number;
  /** What the person is asked. */
  readonly prompt: string;
  /** Who may answer, by the names that the host knows them by; any approver if not given. */
  readonly approvers?: readonly string[];
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** The same, with what the person is to look at. */
export interface ApprovalRequest extends AwaitedApproval {
  readonly target: string;
  readonly evidence: JsonObject;
  /** What the gate's verifiers have found. */
  readonly verification: readonly Verification[];
  /** What the gate only warned of. */
  readonly warnings: readonly Problem[];
  /** Whether this engine would take an answer that nobody has signed. */
  readonly unsignedAllowed: boolean;
}

/** A person's no. */
export interface Denial {
  readonly by: string;
  /** What is to be mended. */
  readonly note: string;
  readonly authenticated: boolean;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** What a commit asks, for whoever is to wait or to answer. */
export function awaitedBy(
  { sessionId, hash, at, head }: PhasedCommit,
  { phase, attempt, evidenceHash, prompt, approvers }: EventOf<"approval_requested">,
): AwaitedApproval {
  const { workflowType, revision } = head;
  const question = { sessionId, workflowType, revision, phase, evidenceHash, request: hash };
  return { ...question, attempt, prompt, ...(approvers === undefined ? {} : { approvers }), askedAt: at };
}
