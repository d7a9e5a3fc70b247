/** What a person is asked, and what a person has answered, as it looks on the wire: approvals and waivers. */
import { waivedText } from "../../gate/waivers.js";
import type { AwaitedApproval, Denial, UnapprovedPass } from "../../phased/approval/ledger.js";
import type { WaiversView } from "../../phased/approval/requests.js";
import type { Waived } from "../../phased/state/events.js";
import type { PhaseTask } from "../../phased/state/task-notes.js";
import { brief, type WireObject } from "../wire.js";
import { isOpen } from "./next-call.js";

/** Limits the approvers that are named. */
const NAMES_MAX = 20;
/** Limits a person's name, in characters. */
export const NAME_MAX = 80;
/** Limits what a person is asked, or has answered, in characters. */
export const DENIAL_MAX = 600;
/** Limits the reason for a waiver, its fields and its note, each for itself. */
const TEXT_MAX = 300;

/** Returns the question that a session waits for, and whom to ask. */
export function approvalNotice(awaiting: AwaitedApproval | undefined): WireObject {
  if (awaiting === undefined) return {};
  const { approvers, prompt, askedAt, phase, sessionId } = awaiting;
  const whom = whoMay(approvers, "an approver");
  return {
    awaiting_approval: true,
    approval: {
      phase,
      prompt: brief(prompt, DENIAL_MAX),
      approvers: approvers?.slice(0, NAMES_MAX).map((name) => brief(name, NAME_MAX)),
      asked_at: askedAt,
      how: `Tell the person you work for that ${whom} must approve session ${sessionId}, and end your turn: you can't approve it yourself. Do not submit the same evidence again.`,
    },
  };
}

/** Returns a person's objection to the last evidence. */
export function denialNotice(denied: Denial | undefined): WireObject {
  if (denied === undefined) return {};
  const { by, note, at, authenticated } = denied;
  const objection = { by: brief(by, NAME_MAX), note: brief(note, DENIAL_MAX), at };
  return { approval_denied: { ...objection, authenticated: authenticated ? undefined : false } };
}

/** Returns what a session waits for in order to go on without, what a person has denied, and what is waived. */
export function waiverNotice(
  {
    awaitingWaiver: open,
    waiverDenied: denied,
    waived,
    waivedInVain: inVain,
    tasks,
  }: WaiversView & { readonly tasks?: readonly PhaseTask[] },
  { isBrief = false, isShort = false } = {},
): WireObject {
  const isLeft = tasks === undefined || tasks.some(isOpen);
  return {
    awaiting_waiver: open && true,
    waiver: open && {
      fields: open.fields,
      reason: isBrief ? brief(open.reason, TEXT_MAX) : open.reason,
      asked_at: open.askedAt,
      how: `Tell the person you work for that ${whoMay(open.approvers, "someone")} must decide on this waiver (phasegate show ${open.sessionId} shows it): you can't grant it yourself. ${isLeft ? "Do the rest of the phase, then end" : "End"} your turn; get_state shows the decision later, also while the session is paused. Leave out of the evidence what is waived.`,
    },
    waiver_denied: denied && {
      fields: denied.fields,
      by: brief(denied.by, NAME_MAX),
      do_instead: brief(denied.note, DENIAL_MAX),
      at: denied.at,
    },
    waiver_not_believed: inVain?.map(({ fields, by, distrust, at }) => ({
      fields,
      by: brief(by, NAME_MAX),
      reason: distrust,
      at,
      how: "Tell the person you work for that this server does not accept this waiver. Ask for it again.",
    })),
    ...waivedNotice(waived, isShort),
  };
}

/** Returns what is waived and by whom; unless `isShort`, also why. `get_state` has the reasons. */
export function waivedNotice(waived: readonly Waived[] | undefined, isShort = false): WireObject {
  const short = ({ fields, by }: Waived) => `${brief(fields.join(", "), TEXT_MAX)} waived by ${brief(by, NAME_MAX)}`;
  return { waived: waived?.map(isShort ? short : waivedLine) };
}

/** Returns a waiver in one line, with each part shortened by itself: a list of many names must not hide who and why. */
export function waivedLine({ fields, by, reason, note }: Waived): string {
  const short = {
    fields: [brief(fields.join(", "), TEXT_MAX)],
    by: brief(by, NAME_MAX),
    reason: brief(reason, TEXT_MAX),
  };
  return waivedText({ ...short, note: note && brief(note, TEXT_MAX) });
}

/** Names those who may answer. */
function whoMay(approvers: readonly string[] | undefined, anyone: string): string {
  return approvers === undefined ? anyone : brief(approvers.slice(0, NAMES_MAX).join(" or "), DENIAL_MAX);
}

/** Returns the note that the session passed a gate with an approval that this host does not accept. */
export function unapprovedNotice(unapproved: UnapprovedPass | undefined): WireObject {
  if (unapproved === undefined) return {};
  const { phase, by, distrust, at } = unapproved;
  return { approval_not_believed: { phase, by: by && brief(by, NAME_MAX), reason: distrust, at } };
}
