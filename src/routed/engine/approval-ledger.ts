import { isJsonObject } from "../../definition/json.js";
import { authenticate } from "../../engine/approval/authenticate.js";
import type { ApprovalOptions } from "../../engine/options.js";
import { isPhasegateError } from "../../errors.js";
import { hashEvidence } from "../../session/approval-message.js";
import type { RoutedEventOf } from "../session/events.js";
import { type RoutedStructure, stepOf } from "../session/structure.js";
import { questionIn } from "./question-in.js";
import type { RoutedCommit } from "./routed-session.js";
import type { RoutedPass } from "./types.js";

/** What a log says of approvals up to a commit. */
export interface RoutedLedger {
  readonly structure?: RoutedStructure;
  /** The last report that a person was asked about. */
  readonly asked?: RoutedCommit;
  /** What was said to it, if that was a yes. */
  readonly yes?: RoutedPass;
  /** The step that was left last. */
  readonly left?: RoutedPass;
  /** The first step that was left on an approval that this host does not believe. */
  readonly unapproved?: RoutedPass;
}

/** Nothing was read yet. */
export const NO_LEDGER: RoutedLedger = {};

/**
 * The ledger after one more commit. Another process may have written it, with other keys or with none: so each yes is
 * checked again, by the keys of the host that reads it.
 */
export async function withApprovals(
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
      // What was said of a step holds until it is left, or until a client is left on it.
      const pass = passed(ledger, event.from, commit);
      if (pass === undefined) return kept;
      const isFirst = kept.unapproved === undefined && pass.distrust !== undefined;
      return { ...kept, left: pass, ...(isFirst ? { unapproved: pass } : {}) };
    }
    default:
      return ledger;
  }
}

/** The yes that a step is left on; one that this host can't believe, where the log has none. */
export function passed(
  { structure, yes }: RoutedLedger,
  step: string | undefined,
  { version, at }: Pick<RoutedCommit, "version" | "at">,
): RoutedPass | undefined {
  if (structure === undefined || step === undefined || approvalOf(structure, step) === undefined) return undefined;
  if (yes?.step === step) return yes;
  return { step, version, at, authenticated: false, distrust: "unsigned" };
}

function approvalOf(structure: RoutedStructure, step: string) {
  return stepOf(structure, step)?.gate?.approval;
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
  // Who may answer is what was pinned, not what the question says.
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
