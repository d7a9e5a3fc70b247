/**
 * The approvals in the log of a phased session. Another process may have written the log, with other keys
 * or without, so each approval is checked again with the keys of this host.
 */

import { type ErrorDetails, isPhasegateError, type PhasegateError } from "../../errors.js";
import { canonicalJson } from "../../workflow/json.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import type { ApprovalOptions } from "../options.js";
import { isPinning, type PhasedCommit } from "../pinned.js";
import { approvalOf, approvalRefused } from "../state/decide-gate.js";
import type { EventOf, SessionEvent } from "../state/events.js";
import type { SessionHead } from "../state/head.js";
import { authenticate } from "./authenticate.js";
import { awaitedBy } from "./awaited.js";
import type { ApprovalGuard, ApprovalReading } from "./guard.js";

/** A gate that passed with a person's approval, and whether this host accepts it. */
export interface ApprovedPass {
  /** The phase's number. */
  readonly phase: number;
  /** The phase's position, from 0. */
  readonly position: number;
  /** The version of the commit that passed it. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The name of the approver; missing if the log has no approval. */
  readonly by?: string;
  /** True if the log says that it was signed. */
  readonly authenticated: boolean;
  /** Why this host does not accept it; missing if it does. */
  readonly distrust?: ErrorDetails["APPROVAL_REFUSED"]["reason"];
}

/** A gate that passed with an approval that this host does not accept: what follows it does not count here. */
export interface UnapprovedPass extends ApprovedPass {
  /** Why it is not accepted. */
  readonly distrust: NonNullable<ApprovedPass["distrust"]>;
}

/** The approvals in a log up to a commit. */
export interface Ledger {
  readonly structure?: WorkflowStructure;
  readonly asked?: { readonly commit: PhasedCommit; readonly event: EventOf<"approval_requested"> };
  /** The phases that count as passed with an approval, by position. */
  readonly passes: ReadonlyMap<number, ApprovedPass>;
}

/** Returns the ledger after one more commit, with each approval checked by this host's keys. */
export async function addToLedger(ledger: Ledger, commit: PhasedCommit, options: ApprovalOptions): Promise<Ledger> {
  let { structure, asked } = ledger;
  const passes = new Map(ledger.passes);
  for (const event of commit.events) {
    if (isPinning(event)) structure = event.structure;
    else if (event.type === "approval_requested") asked = { commit, event };
    else if (event.type === "gate_passed") {
      const approval = approvalOf(structure?.phases[event.position]?.gate);
      if (approval === undefined) continue;
      const approved = commit.events.find((other) => other.type === "approved");
      const distrust = await distrustOf(approved, event, asked, approval.approvers, options);
      passes.set(event.position, passOf(commit, event, approved, distrust));
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
  passes: ({ passes }) => passes.values(),
  refusal: notBelieved,
};

/** The guard of phased sessions. */
export type PhasedGuard = ApprovalGuard<SessionEvent, SessionHead, WorkflowStructure, Ledger, ApprovedPass>;

/** Returns the error for showing or doing anything behind a gate whose approval this host does not accept. */
export function notBelieved({ phase, by, distrust: reason }: UnapprovedPass): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  return approvalRefused(
    `phase ${phase} was passed ${whose} that this host does not believe (${reason})`,
    `Ask the person who runs this: the host must know the approver's key, or phase ${phase} must be done again.`,
    { phase, reason },
  );
}

async function distrustOf(
  approved: EventOf<"approved"> | undefined,
  passed: EventOf<"gate_passed">,
  asked: Ledger["asked"],
  approvers: readonly string[] | undefined,
  options: ApprovalOptions,
): Promise<ApprovedPass["distrust"]> {
  if (approved === undefined || asked === undefined) return "unsigned";
  const { commit, event } = asked;
  const isAnswer = approved.asked === commit.version && approved.evidenceHash === event.evidenceHash;
  const handedOn = ({ phase, evidence, output }: typeof event | typeof passed) =>
    canonicalJson([phase, evidence, output]);
  const isSame = handedOn(event) === handedOn(passed);
  if (!isAnswer || !isSame) return "other_evidence";
  const { approvers: _, ...awaited } = awaitedBy(commit, event);
  const question = { ...awaited, ...(approvers === undefined ? {} : { approvers }) };
  try {
    const { by, note, signature } = approved;
    await authenticate(options, question, { decision: "approve", by, note, signature });
    return undefined;
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) return error.details.reason;
    throw error;
  }
}

function passOf(
  { version, at }: PhasedCommit,
  { phase, position }: EventOf<"gate_passed">,
  approved: EventOf<"approved"> | undefined,
  distrust: ApprovedPass["distrust"],
): ApprovedPass {
  const by = approved === undefined ? {} : { by: approved.by };
  const pass = { phase, position, version, at, ...by, authenticated: approved?.authenticated === true };
  return distrust === undefined ? pass : { ...pass, distrust };
}
