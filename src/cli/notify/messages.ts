/** What people are told: a message for each notification of an engine that a person has to know of. */
import { createHash } from "node:crypto";
import type { EngineNotifications, SessionNotification } from "../../phased/notifications.js";
import type { InstanceNotification, RoutedNotificationMap } from "../../routed/notifications.js";
import { linkTo } from "../../runtime/notifier.js";
import { singleLine } from "../../workflow/hidden.js";

/** The type, the time and the data are members of a payload of Standard Webhooks. */
export interface Message {
  readonly type: "approval.requested" | "waiver.requested" | "session.failed" | "log.damaged";
  /** The same for the same event: in every try, and from every server that tells of it. */
  readonly id: string;
  /** The time of the event, and of a damaged log the time at which it was read: ISO 8601, UTC. */
  readonly timestamp: string;
  /** One line for a person, without the link. Parts of it may be an agent's words. */
  readonly text: string;
  readonly data: MessageData;
}

export interface MessageData {
  readonly kind: "phased" | "routed" | "recorded";
  readonly sessionId: string;
  readonly workflow?: string;
  readonly target?: string;
  readonly owner?: string;
  readonly team?: string;
  readonly phase?: number;
  /** The name of the phase or of the routed step. */
  readonly phaseName?: string;
  /** What a person is asked to approve. */
  readonly question?: string;
  /** Why an agent asks for a waiver, why a session has failed, or what is wrong with a log. */
  readonly reason?: string;
  /** What is to be waived. */
  readonly fields?: readonly string[];
  /** Who may answer; any approver if missing. */
  readonly approvers?: readonly string[];
  /** Where the person answers, or sees the session; missing without `--inspector-url`. */
  readonly link?: string;
}

/** The longest question or reason, and the longest of all other texts, in characters. */
const LONG = 2000;
const SHORT = 200;
const TEXT_MAX = 800;

export function phasedApproval(asked: EngineNotifications["approvalRequested"], phaseName?: string): Message {
  const { phase, prompt, approvers, link } = asked;
  const data = { ...phasedData(asked, phase, phaseName), question: cut(prompt, LONG), approvers, link };
  return newMessage("approval.requested", asked.at, data, `Approval asked of ${whom(approvers)}: ${line(prompt, 300)}`);
}

export function phasedWaiver(asked: EngineNotifications["waiverRequested"], phaseName?: string): Message {
  const { phase, fields, reason, approvers, link } = asked;
  const data = { ...phasedData(asked, phase, phaseName), fields, reason: cut(reason, LONG), approvers, link };
  const what = `Waiver of ${line(fields.join(", "), SHORT)} asked of ${whom(approvers)}: ${line(reason, 300)}`;
  return newMessage("waiver.requested", asked.at, data, what);
}

export function phasedFailure(failed: EngineNotifications["failed"], page: Page, phaseName?: string): Message {
  const { phase, attempts, sessionId, at } = failed;
  const reason = `its attempts at the phase are used up: ${attempts}`;
  const data = { ...phasedData(failed, phase, phaseName), reason, ...linkTo(page, { sessionId }) };
  return newMessage("session.failed", at, data, `Session failed, ${reason}`);
}

export function routedApproval(asked: RoutedNotificationMap["approvalRequested"]): Message {
  const { step, prompt, approvers, link } = asked;
  const data = { ...routedData(asked), phaseName: step, question: cut(prompt, LONG), approvers, link };
  return newMessage("approval.requested", asked.at, data, `Approval asked of ${whom(approvers)}: ${line(prompt, 300)}`);
}

export function routedFailure(failed: RoutedNotificationMap["failed"], page: Page): Message {
  const { sessionId, at } = failed;
  const reason = cut(failed.reason, LONG);
  const data = { ...routedData(failed), reason, ...linkTo(page, { sessionId }) };
  return newMessage("session.failed", at, data, `Session failed: ${line(reason, 300)}`);
}

/** `reason` names the commit. Every server that finds it so gives it the same id. */
export function damagedLog(
  kind: MessageData["kind"],
  { sessionId, reason }: { readonly sessionId: string; readonly reason: string },
  at: string,
  page: Page,
): Message {
  const data = { kind, sessionId, reason: cut(reason, LONG), ...linkTo(page, { sessionId }) };
  // Each server finds it at another time.
  const same = { sessionId, reason };
  return newMessage("log.damaged", at, data, `Log damaged or edited: ${line(reason, 300)}`, same);
}

/** The address of the page for people, as engines check it. */
type Page = string | undefined;

/** `same` is what tells the event from others of its type. */
function newMessage(
  type: Message["type"],
  timestamp: string,
  data: MessageData,
  what: string,
  same: object = { sessionId: data.sessionId, timestamp },
): Message {
  const { kind, sessionId, workflow, target, phase, phaseName } = data;
  const work = [workflow, target].filter((part) => part !== undefined).join(" on ");
  const step = kind === "routed" && phaseName !== undefined ? `step ${phaseName}` : "";
  const place =
    phase === undefined ? step : phaseName === undefined ? `phase ${phase}` : `phase ${phase}: ${phaseName}`;
  const where = [work, place, `session ${sessionId}`].filter((part) => part !== "");
  const text = `${what} (${where.map((part) => line(part, SHORT)).join(", ")})`;
  return { type, id: idOf({ type, ...same }), timestamp, text: line(text, TEXT_MAX), data };
}

/** Returns an id that each server computes alike. It has no dot: in what is signed, a dot ends it. */
function idOf(about: object): string {
  return `msg_${createHash("sha256").update(JSON.stringify(about)).digest("hex").slice(0, 32)}`;
}

function phasedData(of: SessionNotification, phase: number, phaseName?: string): MessageData {
  const { sessionId, workflowType, target, owner, team } = of;
  return { kind: "phased", sessionId, workflow: workflowType, target, owner, team, phase, phaseName };
}

function routedData({ sessionId, workflowType, owner, team }: InstanceNotification): MessageData {
  return { kind: "routed", sessionId, workflow: workflowType, owner, team };
}

function whom(approvers: readonly string[] | undefined): string {
  return approvers === undefined ? "any approver" : line(approvers.join(" or "), SHORT);
}

function line(text: string, max: number): string {
  return cut(singleLine(text), max);
}

/** Leaves no half of a character at the end: not every receiver reads one. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
