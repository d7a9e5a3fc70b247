/**
 * The approvals and waivers in the log of a phased session: what it asks a person, and which gates have passed with an
 * answer. Another process may have written the log, with other keys or without, so each answer is checked again with the
 * keys of this host.
 */
import type { ApprovalOptions } from "../../approval/decision.js";
import {
  type ApprovalAudit,
  type ApprovalGuard,
  type ApprovalPass,
  type ApprovalReading,
  type CheckedApproval,
  checkApproval,
  type KeyUse,
  passOf,
  type Unapproved,
} from "../../approval/guard.js";
import { type ApprovalRequested, approvalRefused, type WaiverQuestion } from "../../approval/message.js";
import type { PhasegateError } from "../../errors.js";
import type { Problem } from "../../gate/verdict.js";
import type { AuditReport } from "../../log/commit.js";
import { linkTo } from "../../runtime/notifier.js";
import { canonicalJson, type JsonObject } from "../../workflow/json.js";
import type { SessionId } from "../../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { pairPhases } from "../state/compare-phases.js";
import { approvalOf } from "../state/decide-gate.js";
import type { AcceptedDifference, EventOf, SessionEvent, Verification, Waived } from "../state/events.js";
import type { SessionHead } from "../state/head.js";
import { isPinning, type SessionCommit } from "../state/machine.js";

/** An approval that a session waits for: its evidence is complete. */
export interface AwaitedApproval extends ApprovalRequested {
  /** The session that waits. */
  readonly sessionId: SessionId;
  /** Where the person answers, if the engine has an `inspectorUrl`. */
  readonly link?: string;
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

/** A question to a person, and its commit. */
export interface Asked<T extends "approval_requested" | "waiver_requested"> {
  readonly commit: SessionCommit;
  readonly event: EventOf<T>;
}

/** Returns the approval that a commit asks for; for a person, with the link to it on the page at `inspectorUrl`. */
export function awaitedBy({ commit, event }: Asked<"approval_requested">, inspectorUrl?: string): AwaitedApproval {
  const { phase, attempt, evidenceHash, prompt, approvers } = event;
  return { ...askedBy(commit), phase, evidenceHash, attempt, prompt, approvers, ...linkTo(inspectorUrl, commit) };
}

function askedBy({ sessionId, hash: request, at: askedAt, head: { workflowType, revision } }: SessionCommit) {
  return { sessionId, workflowType, revision, request, askedAt };
}

/** A request for a waiver that a session waits for. */
export interface AwaitedWaiver extends WaiverQuestion {
  /** The session that waits. */
  readonly sessionId: SessionId;
  /** Why the agent can't meet it. */
  readonly reason: string;
  /** The names of those who may answer; anyone that the host accepts if missing. */
  readonly approvers?: readonly string[];
  /** ISO 8601, UTC. */
  readonly askedAt: string;
  /** Where the person answers, if the engine has an `inspectorUrl`. */
  readonly link?: string;
}

/** Returns the request for a waiver that a commit makes, with the link as {@link awaitedBy} has it. */
export function awaitedWaiverBy({ commit, event }: Asked<"waiver_requested">, inspectorUrl?: string): AwaitedWaiver {
  const { phase, fields, reason, approvers } = event;
  return { ...askedBy(commit), phase, fields, reason, approvers, ...linkTo(inspectorUrl, commit) };
}

/** A phase's gate that passed with a person's approval or waiver, and whether this host accepts it. */
export interface ApprovedPass extends ApprovalPass {
  /** What `by`, `authenticated` and `distrust` are about: the approval that the gate requires, or a waiver. */
  readonly on: "approval" | "waiver";
  /** What persons have waived at the gate, if anything. */
  readonly waived?: readonly Waived[];
  /** The phase's number. */
  readonly phase: number;
  /** The phase's position, from 0. */
  readonly position: number;
}

/** A gate that passed with an approval that this host does not accept: what follows it does not count here. */
export type UnapprovedPass = Unapproved<ApprovedPass>;

/** A difference that a host has accepted when it moved the session to another definition. */
export interface AcceptedInMigration extends AcceptedDifference {
  /** The name of the person or program that has moved the session. */
  readonly by: string;
  /** The revision that it was moved to. */
  readonly revision: string;
  /** The version of the commit. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** A child that a phase has passed with, checked against what its parent's log says of it. */
export interface AuditedChild {
  /** The phase of its parent. */
  readonly phase: number;
  readonly sessionId: string;
  /** The version that it was completed with. */
  readonly version: number;
  /** True if its log is intact and has that version as the parent has seen it. Missing if it is gone. */
  readonly intact?: boolean;
  /** What is wrong, if it is not. */
  readonly reason?: string;
  /** True if this storage has it no more: it was deleted, or not copied with its parent. */
  readonly gone?: true;
}

/**
 * The result of an audit: whether the log is intact, and which approvals this host accepts. `approvals` has every gate
 * that passed with an approval or a waiver, including those rolled back since. `accepted` is for information: missing if a
 * migration has accepted nothing. `children` has the sessions that phases have passed with which are workflows of their own, and their own ones.
 */
export type SessionAudit = AuditReport &
  ApprovalAudit<ApprovedPass> & {
    readonly accepted?: readonly AcceptedInMigration[];
    readonly children?: readonly AuditedChild[];
  };

/** The approvals in a log up to a commit. */
interface Ledger {
  readonly structure?: WorkflowStructure;
  readonly asked?: Asked<"approval_requested">;
  /** The waivers of the current phase by the versions of the commits that grant them. */
  readonly waivers: ReadonlyMap<number, CheckedApproval>;
  /** The requests for waivers at the current phase, by version. */
  readonly requests: ReadonlyMap<number, Asked<"waiver_requested">>;
  /** The phases that count as passed with an approval, by position. */
  readonly passes: ReadonlyMap<number, ApprovedPass>;
  /** The signatures in the last commit that count. */
  readonly used: readonly KeyUse[];
}

/** Returns the ledger after one more commit, with each approval and waiver checked by this host's keys. */
async function addToLedger(ledger: Ledger, commit: SessionCommit, options: ApprovalOptions): Promise<Ledger> {
  let { structure, asked, waivers, requests } = ledger;
  let passes = new Map(ledger.passes);
  const used: KeyUse[] = [];
  const use = (by: string, { key }: CheckedApproval) => {
    if (key !== undefined) used.push({ version: commit.version, by, key });
  };
  for (const event of commit.events) {
    if (isPinning(event)) {
      if (event.type === "migrated" && event.places !== undefined) passes = movedPasses(passes, structure, event);
      structure = event.structure;
    } else if (event.type === "approval_requested") asked = { commit, event };
    else if (event.type === "waiver_requested") requests = new Map(requests).set(commit.version, { commit, event });
    else if (event.type === "waiver_granted") {
      const approvers = approvalOf(phaseIn(structure, event.phase)?.gate)?.approvers;
      const checked = await checkWaiver(event, requests.get(event.asked), approvers, options);
      use(event.by, checked);
      waivers = new Map(waivers).set(commit.version, checked);
    } else if (event.type === "gate_passed") {
      const { phase, position, waived = [] } = event;
      const approval = approvalOf(structure?.phases[position]?.gate);
      const checkOf = ({ version }: Waived): CheckedApproval => waivers.get(version) ?? { distrust: "unsigned" };
      const doubtful = waived.find((one) => checkOf(one).distrust !== undefined);
      const place = { phase, position, waived: event.waived };
      if (approval !== undefined && doubtful === undefined) {
        const approved = commit.events.find((other) => other.type === "approved");
        const checked = await checkApproved(approved, event, asked, approval.approvers, options);
        if (approved !== undefined) use(approved.by, checked);
        passes.set(position, { on: "approval", ...place, ...passOf(commit, approved, checked) });
      } else {
        const shown = doubtful ?? waived[0];
        if (shown !== undefined)
          passes.set(position, { on: "waiver", ...place, ...passOf(commit, shown, checkOf(shown)) });
      }
    } else if (event.type === "phase_entered") {
      [waivers, requests] = [new Map(), new Map()];
    } else if (event.type === "rolled_back") {
      for (const [key, { position }] of passes) if (position >= event.position) passes.delete(key);
    }
  }
  return { structure, asked, waivers, requests, passes, used };
}

/**
 * Returns the passes that a migration keeps, under the new numbers. Phases that are to be done again are not passed any more. One
 * that is gone still is, if this host does not accept how: a host with other keys must not hide that by a migration. Only a
 * rollback to the first phase undoes it. Its key is below those of the positions.
 */
function movedPasses(
  passes: ReadonlyMap<number, ApprovedPass>,
  before: WorkflowStructure | undefined,
  { places = [], structure: after }: EventOf<"migrated">,
): Map<number, ApprovedPass> {
  const kept = new Map(places);
  const there = new Set(before && pairPhases(before, after).map(({ from }) => from));
  const moved = [...passes].flatMap(([key, pass]): [number, ApprovedPass][] => {
    const position = kept.get(key);
    const phase = position === undefined ? undefined : after.phases[position]?.number;
    if (position !== undefined && phase !== undefined) return [[position, { ...pass, phase, position }]];
    if (pass.distrust === undefined || there.has(key)) return [];
    return [[-pass.version, { ...pass, position: 0 }]];
  });
  return new Map(moved);
}

function phaseIn(structure: WorkflowStructure | undefined, phase: number): PhaseDefinition | undefined {
  return structure?.phases.find(({ number }) => number === phase);
}

/** Reads the approvals of phased sessions. */
export const PHASED_APPROVALS: ApprovalReading<SessionEvent, SessionHead, WorkflowStructure, Ledger, ApprovedPass> = {
  beginning: { passes: new Map(), waivers: new Map(), requests: new Map(), used: [] },
  add: addToLedger,
  asks: ({ phases }) => phases.some(({ gate }) => approvalOf(gate) !== undefined),
  hasOthers: ({ withWaivers = [], structureVersion }) => withWaivers.length > 0 || structureVersion > 1,
  isNew: hasPassedNothing,
  audited: ({ passes }) => passes.values(),
  used: ({ used }) => used,
  passes: ({ passes }) => passes.values(),
  keptIn: ({ structure, asked, requests }) =>
    [structure, asked?.commit, ...[...requests.values()].map(({ commit }) => commit)].filter(
      (part) => part !== undefined,
    ),
  refusal: notAccepted,
};

/** Returns true if a session has passed no gate, also none that its definition has no more. */
export function hasPassedNothing({ completed, structureVersion }: SessionHead): boolean {
  return completed.length === 0 && structureVersion === 1;
}

/** The guard of phased sessions. */
export type PhasedGuard = ApprovalGuard<SessionEvent, SessionHead, WorkflowStructure, Ledger, ApprovedPass>;

/** Returns the error for showing or doing anything behind a gate whose approval this host does not accept. */
export function notAccepted({ phase, by, on, distrust: reason }: UnapprovedPass): PhasegateError<"APPROVAL_REFUSED"> {
  const what = on === "waiver" ? "a waiver" : "an approval";
  const passed =
    by === undefined
      ? `without ${what} that this host accepts`
      : `${on === "waiver" ? "with" : "on"} ${what} by ${by} that this host does not accept`;
  return approvalRefused(
    `phase ${phase} was passed ${passed} (${reason})`,
    `Ask the person who runs this: the host must know the approver's key, or phase ${phase} must be done again.`,
    { phase, reason },
  );
}

/** Checks a waiver in the log. */
export async function checkWaiver(
  granted: EventOf<"waiver_granted">,
  asked: Asked<"waiver_requested"> | undefined,
  approvers: readonly string[] | undefined,
  options: ApprovalOptions,
): Promise<CheckedApproval> {
  if (asked === undefined) return { distrust: "unsigned" };
  if (canonicalJson(asked.event.fields) !== canonicalJson(granted.fields)) return { distrust: "other_request" };
  return checkApproval(options, { ...awaitedWaiverBy(asked), approvers }, granted);
}

async function checkApproved(
  approved: EventOf<"approved"> | undefined,
  passed: EventOf<"gate_passed">,
  asked: Ledger["asked"],
  approvers: readonly string[] | undefined,
  options: ApprovalOptions,
): Promise<CheckedApproval> {
  if (approved === undefined || asked === undefined) return { distrust: "unsigned" };
  const { commit, event } = asked;
  const isAnswer = approved.asked === commit.version && approved.evidenceHash === event.evidenceHash;
  const handedOn = ({ phase, evidence, output, waived }: typeof event | typeof passed) =>
    canonicalJson([phase, evidence, output, waived]);
  if (!isAnswer || handedOn(event) !== handedOn(passed)) return { distrust: "other_evidence" };
  return checkApproval(options, { ...awaitedBy(asked), approvers }, approved);
}
