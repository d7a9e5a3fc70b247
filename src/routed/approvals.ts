/**
 * The approvals in the log of a routed session: what a step's gate asks a person, and which steps were left with an
 * answer. Each is checked with the keys of this host, since another process may have written the log with other keys.
 */
import type { ApprovalOptions } from "../approval/decision.js";
import {
  type ApprovalAudit,
  type ApprovalGuard,
  type ApprovalReading,
  type CheckedApproval,
  checkApproval,
  type KeyUse,
  passOf,
} from "../approval/guard.js";
import { approvalRefused, hashEvidence } from "../approval/message.js";
import type { PhasegateError } from "../errors.js";
import type { AuditReport } from "../log/commit.js";
import { isJsonObject, type JsonObject } from "../workflow/json.js";
import {
  eventIn,
  type RoutedEvent,
  type RoutedEventOf,
  type RoutedHead,
  type RoutedStructure,
  stepOf,
} from "./state/events.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import type { RoutedPass, RoutedQuestion, UnapprovedStep } from "./types.js";

/**
 * The result of an audit: whether the log is intact, and which approvals this host accepts. `approvals` has every step
 * that was left, or may be left, with an approval.
 */
export type RoutedAudit = AuditReport & ApprovalAudit<RoutedPass>;

/** The approvals in a log up to a commit. */
interface RoutedLedger {
  readonly structure?: RoutedStructure;
  /** The last report that a person was asked about. */
  readonly asked?: RoutedCommit;
  /** Its approval, if it was approved. */
  readonly approval?: RoutedPass;
  /** The step that was left last. */
  readonly left?: RoutedPass;
  /** The first step that was left with an approval that this host does not accept. */
  readonly unapproved?: RoutedPass;
  /** The signatures in the last commit that count. */
  readonly used?: readonly KeyUse[];
}

export const ROUTED_APPROVALS: ApprovalReading<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass> = {
  beginning: {},
  add: withApprovals,
  asks: ({ steps }) => steps.some(({ gate }) => gate?.approval !== undefined),
  isNew: ({ answered, pending }) => answered === undefined && pending === undefined,
  audited: ({ left }) => (left === undefined ? [] : [left]),
  used: ({ used = [] }) => used,
  open: ({ approval }) => approval,
  passes: passesOf,
  keptIn: ({ structure, asked }) => [structure, asked].filter((part) => part !== undefined),
  refusal: notAccepted,
};

export type RoutedGuard = ApprovalGuard<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass>;

/** Returns the question that a commit asks, for the step at that position. */
export function questionIn(commit: RoutedCommit, phase: number): Omit<RoutedQuestion, "unsignedAllowed"> | undefined {
  const { sessionId, hash, at, head } = commit;
  const asked = eventIn(commit, "approval_requested");
  const reported = eventIn(commit, "reported");
  if (asked === undefined || reported === undefined) return undefined;
  const { step, prompt, approvers, evidenceHash } = asked;
  const { report, verification = [] } = reported;
  return {
    ...{ sessionId, workflowType: head.workflow, revision: head.revision, phase, evidenceHash, request: hash },
    ...{ step, prompt, approvers, verification, attempt: head.attempts + 1, askedAt: at },
    evidence: detailsOf(report),
  };
}

/** Returns what a report shows at its step's gate. */
export function detailsOf({ details }: JsonObject): JsonObject {
  return isJsonObject(details) ? details : {};
}

/** Returns the error for showing or doing anything behind a step whose approval this host does not accept. */
export function notAccepted(
  { step, by, distrust: reason }: UnapprovedStep,
  { steps }: RoutedStructure,
): PhasegateError<"APPROVAL_REFUSED"> {
  const approval =
    by === undefined
      ? "without an approval that this host accepts"
      : `on an approval by ${by} that this host does not accept`;
  const message = `the gate of ${step} was passed ${approval} (${reason})`;
  const remedy = `Ask the person who runs this: the host must know the approver's key. To have a person asked again, resume with the details that ${step} asks for; if the work has gone on since, start a new instance.`;
  return approvalRefused(message, remedy, { phase: steps.findIndex(({ name }) => name === step) + 1, reason });
}

/** Returns the ledger after one more commit, with each approval checked by this host's keys. */
async function withApprovals(
  ledger: RoutedLedger,
  commit: RoutedCommit,
  options: ApprovalOptions,
): Promise<RoutedLedger> {
  let after: RoutedLedger = { ...ledger, used: undefined };
  for (const event of commit.events) after = await withEvent(after, commit, event, options);
  return after;
}

async function withEvent(
  ledger: RoutedLedger,
  commit: RoutedCommit,
  event: RoutedCommit["events"][number],
  options: ApprovalOptions,
): Promise<RoutedLedger> {
  const { approval, asked: _, ...kept } = ledger;
  switch (event.type) {
    case "started":
      return { ...ledger, structure: event.structure };
    case "approval_requested":
      return { ...kept, asked: commit };
    case "approved": {
      const checked = await checkApproved(ledger, event, options);
      const used = checked.key && [{ version: commit.version, by: event.by, key: checked.key }];
      return { ...ledger, used, approval: { step: event.step, ...passOf(commit, event, checked) } };
    }
    case "denied":
      return kept;
    case "decided": {
      // An answer holds until the step is left, or until a decision keeps the client on it.
      const pass = passed(ledger, event.from, commit);
      if (pass === undefined) return kept;
      return { ...kept, left: pass, unapproved: kept.unapproved ?? (pass.distrust === undefined ? undefined : pass) };
    }
    default:
      return ledger;
  }
}

async function checkApproved(
  { structure, asked }: RoutedLedger,
  approved: RoutedEventOf<"approved">,
  options: ApprovalOptions,
): Promise<CheckedApproval> {
  if (structure === undefined || asked === undefined) return { distrust: "unsigned" };
  const { step, evidenceHash, asked: version } = approved;
  const place = structure.steps.findIndex(({ name }) => name === step) + 1;
  const question = questionIn(asked, place);
  const isAnswer = version === asked.version && question?.step === step && evidenceHash === question.evidenceHash;
  if (!isAnswer || hashEvidence(question.evidence) !== evidenceHash) return { distrust: "other_evidence" };
  // The pinned structure says who may answer, not the question.
  return checkApproval(options, { ...question, approvers: approvalOf(structure, step)?.approvers }, approved);
}

function approvalOf(structure: RoutedStructure, step: string) {
  return stepOf(structure, step)?.gate?.approval;
}

/** Returns the approval that a step is left with; one that is not accepted, if the log has none. */
function passed(
  { structure, approval }: RoutedLedger,
  step: string | undefined,
  commit: Pick<RoutedCommit, "version" | "at">,
): RoutedPass | undefined {
  if (structure === undefined || step === undefined || approvalOf(structure, step) === undefined) return undefined;
  if (approval?.step === step) return approval;
  return { step, ...passOf(commit, undefined, { distrust: "unsigned" }) };
}

/** Returns the first step that was left wrongly, and the step that a pending report would leave. */
function passesOf(ledger: RoutedLedger, { version, at, head }: RoutedSession): readonly RoutedPass[] {
  const isPassed = head.pending !== undefined && head.pending.awaiting === undefined;
  const next = isPassed ? passed(ledger, head.step, { version, at }) : undefined;
  return [ledger.unapproved, next].filter((pass) => pass !== undefined);
}
