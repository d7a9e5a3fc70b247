import type { AwaitedApproval, Denial } from "../engine/approval/awaited.js";
import type { UnapprovedPass } from "../engine/approval/ledger.js";
import { brief, compact, type WireObject } from "./wire-object.js";

/** As much of what a person is asked, or has said, as an agent needs to know. */
const TEXT_MAX = 600;
/** As many approvers as an answer names. */
const NAMES_MAX = 20;

/** What an agent is told while its session waits for a person: what is asked, and whom to ask. */
export function approvalNews(awaiting: AwaitedApproval | undefined): WireObject {
  if (awaiting === undefined) return {};
  const { approvers, prompt, askedAt, phase, sessionId } = awaiting;
  const whom = approvers === undefined ? "an approver" : brief(approvers.slice(0, NAMES_MAX).join(" or "), TEXT_MAX);
  return {
    awaiting_approval: true,
    approval: compact({
      phase,
      prompt: brief(prompt, TEXT_MAX),
      approvers: approvers?.slice(0, NAMES_MAX).map((name) => brief(name, 80)),
      asked_at: askedAt,
      how: `Tell the person you work for that ${whom} must approve session ${sessionId}, then wait: you can't approve it yourself. Do not submit the same evidence again.`,
    }),
  };
}

/** What a person had against the last evidence. */
export function denialNews(denied: Denial | undefined): WireObject {
  if (denied === undefined) return {};
  const { by, note, at, authenticated } = denied;
  return {
    approval_denied: compact({
      by: brief(by, 80),
      note: brief(note, TEXT_MAX),
      at,
      authenticated: authenticated ? undefined : false,
    }),
  };
}

/** That the session got further on an approval that this host does not believe. */
export function unapprovedNews(unapproved: UnapprovedPass | undefined): WireObject {
  if (unapproved === undefined) return {};
  const { phase, by, distrust, at } = unapproved;
  const whose = by === undefined ? undefined : brief(by, 80);
  return { approval_not_believed: compact({ phase, by: whose, reason: distrust, at }) };
}
