/**
 * The approvals in the log of a routed session, checked with the keys of this host: another process may
 * have written the log with other keys.
 */

import { hashEvidence } from "../approval/message.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { AuditReport, Receipt } from "../log/commit.js";
import { authenticate } from "../phased/approval/authenticate.js";
import { ApprovalGuard, type ApprovalReading } from "../phased/approval/guard.js";
import type { ApprovalOptions } from "../phased/options.js";
import { isJsonObject } from "../workflow/json.js";
import type { RoutedCommit, RoutedKernel, RoutedSession } from "./session.js";
import { type RoutedEvent, type RoutedEventOf, type RoutedHead, type RoutedStructure, stepOf } from "./state/events.js";
import type { RoutedPass, RoutedQuestion, UnapprovedStep } from "./types.js";

/** The result of an audit: whether the log is intact, and which approvals this host accepts. */
export type RoutedAudit = AuditReport & {
  /** Every step that was left, or may be left, with an approval; empty if the log is not intact. */
  readonly approvals: readonly RoutedPass[];
};

/** The approvals in a log up to a commit. */
interface RoutedLedger {
  readonly structure?: RoutedStructure;
  /** The last report that a person was asked about. */
  readonly asked?: RoutedCommit;
  /** Its approval, if it was approved. */
  readonly yes?: RoutedPass;
  /** The step that was left last. */
  readonly left?: RoutedPass;
  /** The first step that was left with an approval that this host does not accept. */
  readonly unapproved?: RoutedPass;
}

/** The ledger before the first commit. */
const NO_LEDGER: RoutedLedger = {};

const READING: ApprovalReading<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass> = {
  beginning: NO_LEDGER,
  add: withApprovals,
  asks: ({ steps }) => steps.some(({ gate }) => gate?.approval !== undefined),
  isNew: ({ answered, pending }) => answered === undefined && pending === undefined,
  passes: passesOf,
  refusal: notBelieved,
};

/** The guard of routed sessions. */
export class RoutedApprovals extends ApprovalGuard<RoutedEvent, RoutedHead, RoutedStructure, RoutedLedger, RoutedPass> {
  readonly #kernel: RoutedKernel;
  readonly #options: ApprovalOptions;

  constructor(kernel: RoutedKernel, options: ApprovalOptions) {
    super(kernel, options, READING);
    this.#kernel = kernel;
    this.#options = options;
  }

  /** Checks a whole log, against a receipt if one is given, and each approval in it. */
  async audit(sessionId: RoutedSession["sessionId"], receipt?: Receipt): Promise<RoutedAudit> {
    const report = await this.#kernel.audit(sessionId, receipt);
    if (!report.intact) return { ...report, approvals: [] };
    const approvals: RoutedPass[] = [];
    let ledger = NO_LEDGER;
    for await (const commit of this.#kernel.log(sessionId)) {
      const { left } = ledger;
      ledger = await withApprovals(ledger, commit, this.#options);
      if (ledger.left !== undefined && ledger.left !== left) approvals.push(ledger.left);
    }
    return { ...report, approvals: ledger.yes === undefined ? approvals : [...approvals, ledger.yes] };
  }
}

/** Returns the question that a commit asks, for the step at that position. */
export function questionIn(
  { sessionId, hash, at, events, head }: RoutedCommit,
  phase: number,
): Omit<RoutedQuestion, "unsignedAllowed"> | undefined {
  const asked = events.find(({ type }) => type === "approval_requested");
  const reported = events.find(({ type }) => type === "reported");
  if (asked?.type !== "approval_requested" || reported?.type !== "reported") return undefined;
  const { step, prompt, approvers, evidenceHash } = asked;
  const { report, verification = [] } = reported;
  return {
    ...{ sessionId, workflowType: head.workflow, revision: head.revision, phase, evidenceHash, request: hash },
    ...{ step, prompt, verification, attempt: head.attempts + 1, askedAt: at },
    evidence: isJsonObject(report.details) ? report.details : {},
    ...(approvers === undefined ? {} : { approvers }),
  };
}

/** Returns the error for showing or doing anything behind a step whose approval this host does not accept. */
export function notBelieved(
  { step, by, distrust: reason }: UnapprovedStep,
  { steps }: RoutedStructure,
): PhasegateError<"APPROVAL_REFUSED"> {
  const whose = by === undefined ? "without any approval" : `on an approval by ${by}`;
  const message = `the gate of ${step} was passed ${whose} that this host does not believe (${reason})`;
  return new PhasegateError("APPROVAL_REFUSED", message, {
    remedy: `Ask the person who runs this: the host must know the approver's key. To have a person asked again, resume with the details that ${step} asks for; if the work has gone on since, start a new instance.`,
    details: { phase: steps.findIndex(({ name }) => name === step) + 1, reason },
  });
}

/** Returns the ledger after one more commit, with each approval checked by this host's keys. */
async function withApprovals(
  ledger: RoutedLedger,
  commit: RoutedCommit,
  options: ApprovalOptions,
): Promise<RoutedLedger> {
  let after = ledger;
  for (const event of commit.events) after = await withEvent(after, commit, event, options);
  return after;
}

async function withEvent(
  ledger: RoutedLedger,
  commit: RoutedCommit,
  event: RoutedCommit["events"][number],
  options: ApprovalOptions,
): Promise<RoutedLedger> {
  const { yes, asked: _, ...kept } = ledger;
  switch (event.type) {
    case "started":
      return { ...ledger, structure: event.structure };
    case "approval_requested":
      return { ...kept, asked: commit };
    case "approved":
      return { ...ledger, yes: await passOf(ledger, commit, event, options) };
    case "denied":
      return kept;
    case "decided": {
      // An answer holds until the step is left, or until a decision keeps the client on it.
      const pass = passed(ledger, event.from, commit);
      if (pass === undefined) return kept;
      const isFirst = kept.unapproved === undefined && pass.distrust !== undefined;
      return { ...kept, left: pass, ...(isFirst ? { unapproved: pass } : {}) };
    }
    default:
      return ledger;
  }
}

async function passOf(
  ledger: RoutedLedger,
  { version, at }: RoutedCommit,
  approved: RoutedEventOf<"approved">,
  options: ApprovalOptions,
): Promise<RoutedPass> {
  const { step, by, authenticated } = approved;
  const distrust = await distrustOf(ledger, approved, options);
  return { step, version, at, by, authenticated, ...(distrust === undefined ? {} : { distrust }) };
}

async function distrustOf(
  { structure, asked }: RoutedLedger,
  { step, by, note, signature, evidenceHash, asked: version }: RoutedEventOf<"approved">,
  options: ApprovalOptions,
): Promise<RoutedPass["distrust"]> {
  if (structure === undefined || asked === undefined) return "unsigned";
  const place = structure.steps.findIndex(({ name }) => name === step) + 1;
  const question = questionIn(asked, place);
  const reported = asked.events.find(({ type }) => type === "reported");
  if (question === undefined || reported?.type !== "reported" || question.step !== step) return "other_evidence";
  const { details } = reported.report;
  const isAnswer = version === asked.version && evidenceHash === question.evidenceHash;
  if (!isAnswer || hashEvidence(isJsonObject(details) ? details : {}) !== evidenceHash) return "other_evidence";
  // The pinned structure says who may answer, not the question.
  const { approvers: _, ...awaited } = question;
  const approvers = approvalOf(structure, step)?.approvers;
  const pinned = { ...awaited, sessionId: asked.sessionId, ...(approvers === undefined ? {} : { approvers }) };
  try {
    await authenticate(options, pinned, { decision: "approve", by, note, signature });
    return undefined;
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) return error.details.reason;
    throw error;
  }
}

function approvalOf(structure: RoutedStructure, step: string) {
  return stepOf(structure, step)?.gate?.approval;
}

/** Returns the approval that a step is left with; one that is not accepted, if the log has none. */
function passed(
  { structure, yes }: RoutedLedger,
  step: string | undefined,
  { version, at }: Pick<RoutedCommit, "version" | "at">,
): RoutedPass | undefined {
  if (structure === undefined || step === undefined || approvalOf(structure, step) === undefined) return undefined;
  if (yes?.step === step) return yes;
  return { step, version, at, authenticated: false, distrust: "unsigned" };
}

/** Returns the first step that was left wrongly, and the step that a pending report would leave. */
function passesOf(ledger: RoutedLedger, { version, at, head }: RoutedSession): readonly RoutedPass[] {
  const isPassed = head.pending !== undefined && head.pending.awaiting === undefined;
  const next = isPassed ? passed(ledger, head.step, { version, at }) : undefined;
  return [ledger.unapproved, next].filter((pass) => pass !== undefined);
}
