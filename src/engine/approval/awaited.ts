import type { JsonObject } from "../../definition/json.js";
import type { SessionId } from "../../definition/names.js";
import type { Problem } from "../../gate/verdict.js";
import type { ApprovalQuestion } from "../../session/approval-message.js";
import type { EventOf } from "../../session/events.js";
import type { Verification } from "../../session/verification.js";
import { loadEvidence } from "../artifacts.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedCommit, PhasedSession } from "../pinned.js";

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

/** The commit that asked, and its question. */
export interface Asked {
  readonly commit: PhasedCommit;
  readonly event: EventOf<"approval_requested">;
}

/** The question that a session waits on, out of its log; undefined if it waits on none. */
export async function loadAsked({ kernel }: EngineContext, session: PhasedSession): Promise<Asked | undefined> {
  const { awaiting, status } = session.head;
  if (awaiting === undefined || status !== "active") return undefined;
  const commit = await kernel.at(session.sessionId, awaiting.version);
  const event = commit.events.find((candidate) => candidate.type === "approval_requested");
  return event === undefined ? undefined : { commit, event };
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

/** What a session waits for; undefined if it doesn't wait. */
export async function viewAwaited(
  context: EngineContext,
  session: PhasedSession,
): Promise<AwaitedApproval | undefined> {
  const asked = await loadAsked(context, session);
  return asked === undefined ? undefined : awaitedBy(asked.commit, asked.event);
}

/** The same with its evidence. */
export async function viewRequest(
  context: EngineContext,
  session: PhasedSession,
): Promise<ApprovalRequest | undefined> {
  const asked = await loadAsked(context, session);
  if (asked === undefined) return undefined;
  const { commit, event } = asked;
  return {
    ...awaitedBy(commit, event),
    target: commit.head.target,
    evidence: await loadEvidence(context, commit, event.evidence),
    verification: event.verification ?? [],
    warnings: event.warnings ?? [],
    unsignedAllowed: context.options.approvals.unsigned,
  };
}

/** The no that the last submission at the current phase ended with; undefined if it ended otherwise. */
export async function viewDenial({ kernel }: EngineContext, session: PhasedSession): Promise<Denial | undefined> {
  const { submission, awaiting } = session.head;
  if (submission === undefined || awaiting !== undefined) return undefined;
  const { events, at } = await kernel.at(session.sessionId, submission.version);
  const denied = events.find((event) => event.type === "denied");
  return denied && { by: denied.by, note: denied.note, authenticated: denied.authenticated, at };
}
