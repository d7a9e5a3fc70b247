/**
 * The approvals in the log of a phased session: what it asks a person, and which gates have passed with an answer.
 * Another process may have written the log, with other keys or without, so each approval is checked again with
 * the keys of this host.
 */

import type { ApprovalOptions, Distrust } from "../../approval/decision.js";
import {
  type ApprovalGuard,
  type ApprovalPass,
  type ApprovalReading,
  distrustOf,
  passOf,
  type Unapproved,
} from "../../approval/guard.js";
import { type ApprovalRequested, approvalRefused } from "../../approval/message.js";
import type { PhasegateError } from "../../errors.js";
import type { Problem } from "../../gate/verdict.js";
import type { AuditReport } from "../../log/commit.js";
import { canonicalJson, type JsonObject } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import { isPinning, type PhasedCommit } from "../pinned.js";
import { approvalOf } from "../state/decide-gate.js";
import type { EventOf, SessionEvent, Verification } from "../state/events.js";
import type { SessionHead } from "../state/head.js";

/** An approval that a session waits for: its evidence is complete. */
export interface AwaitedApproval extends ApprovalRequested {
  /** The session that waits. */
  readonly sessionId: SessionId;
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

/** A phase's gate that passed with a person's approval, and whether this host accepts it. */
export interface ApprovedPass extends ApprovalPass {
  /** The phase's number. */
  readonly phase: number;
  /** The phase's position, from 0. */
  readonly position: number;
}

/** A gate that passed with an approval that this host does not accept: what follows it does not count here. */
export type UnapprovedPass = Unapproved<ApprovedPass>;

/** The result of an audit: whether the log is intact, and which approvals this host accepts. */
export type SessionAudit = AuditReport & {
  /** Every gate that passed with an approval, including those rolled back since; empty if the log is not intact. */
  readonly approvals: readonly ApprovedPass[];
};

/** The approvals in a log up to a commit. */
interface Ledger {
  readonly structure?: WorkflowStructure;
  readonly asked?: { readonly commit: PhasedCommit; readonly event: EventOf<"approval_requested"> };
  /** The phases that count as passed with an approval, by position. */
  readonly passes: ReadonlyMap<number, ApprovedPass>;
}

/** Returns the ledger after one more commit, with each approval checked by this host's keys. */
async function addToLedger(ledger: Ledger, commit: PhasedCommit, options: ApprovalOptions): Promise<Ledger> {
  let { structure, asked } = ledger;
  const passes = new Map(ledger.passes);
  for (const event of commit.events) {
    if (isPinning(event)) structure = event.structure;
    else if (event.type === "approval_requested") asked = { commit, event };
    else if (event.type === "gate_passed") {
      const approval = approvalOf(structure?.phases[event.position]?.gate);
      if (approval === undefined) continue;
      const approved = commit.events.find((other) => other.type === "approved");
      const distrust = await distrustIn(approved, event, asked, approval.approvers, options);
      const { phase, position } = event;
      passes.set(position, { phase, position, ...passOf(commit, approved, distrust) });
    } else if (event.type === "rolled_back") {
      for (const position of passes.keys()) if (position >= event.position) passes.delete(position);
    }
  }
  return { ...(structure === undefined ? {} : { structure }), ...(asked === undefined ? {} : { asked }), passes };
}

/** Reads the approvals of phased sessions. */
export const PHASED_APPROVALS: ApprovalReading<SessionEvent, SessionHead, WorkflowStructure, Ledger, ApprovedPass> = {
  beginning: { passes: new Map() },
  add: addToLedger,
  asks: ({ phases }) => phases.some(({ gate }) => approvalOf(gate) !== undefined),
  isNew: ({ completed }) => completed.length === 0,
  audited: ({ passes }) => passes.values(),
  passes: ({ passes }) => passes.values(),
  refusal: notAccepted,
};

/** The guard of phased sessions. */
export type PhasedGuard = ApprovalGuard<SessionEvent, SessionHead, WorkflowStructure, Ledger, ApprovedPass>;

/** Returns the error for showing or doing anything behind a gate whose approval this host does not accept. */
export function notAccepted({ phase, by, distrust: reason }: UnapprovedPass): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  return approvalRefused(
    `phase ${phase} was passed ${whose} that this host does not accept (${reason})`,
    `Ask the person who runs this: the host must know the approver's key, or phase ${phase} must be done again.`,
    { phase, reason },
  );
}

async function distrustIn(
  approved: EventOf<"approved"> | undefined,
  passed: EventOf<"gate_passed">,
  asked: Ledger["asked"],
  approvers: readonly string[] | undefined,
  options: ApprovalOptions,
): Promise<Distrust | undefined> {
  if (approved === undefined || asked === undefined) return "unsigned";
  const { commit, event } = asked;
  const isAnswer = approved.asked === commit.version && approved.evidenceHash === event.evidenceHash;
  const handedOn = ({ phase, evidence, output }: typeof event | typeof passed) =>
    canonicalJson([phase, evidence, output]);
  const isSame = handedOn(event) === handedOn(passed);
  if (!isAnswer || !isSame) return "other_evidence";
  const { approvers: _, ...awaited } = awaitedBy(commit, event);
  const question = { ...awaited, ...(approvers === undefined ? {} : { approvers }) };
  return distrustOf(options, question, approved);
}
