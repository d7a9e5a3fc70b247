/**
 * What sessions ask people, and their answers. An approval is bound to the evidence that the person saw: new evidence needs
 * a new approval. A waiver is asked for by an agent that can't meet something at the gate of its phase; a person grants
 * exactly that, or denies it and says what to do instead. Where the gate names approvers, or the host has their keys, it
 * must be signed like an approval.
 */
import { type Distrust, type GivenDecision, requireDecision } from "../../approval/decision.js";
import type { ApprovalSignature } from "../../approval/message.js";
import { BROKEN } from "../../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { requirementText, waivedNames, waiverName } from "../../gate/waivers.js";
import { turns } from "../../ports/clock.js";
import { pagesOf, type SessionQuery, type SessionStatus } from "../../ports/storage-adapter.js";
import { listSeen } from "../../runtime/access.js";
import { isInvisible } from "../../workflow/field-types.js";
import { canonicalJson } from "../../workflow/json.js";
import { isSessionId, type SessionId, shown } from "../../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { loadEvidence, readEvents } from "../artifacts.js";
import { acceptedState, execute, phaseAsked, preparing, requestFor } from "../context.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import { type CompleteResult, describe } from "../gate-answer.js";
import { isWaiverOpen, type Keyed, type SessionCommand } from "../state/commands.js";
import { answerRefusal, approvalOf, decisionRefusal, notWaiting, unlessEmpty } from "../state/decide-gate.js";
import type { EventOf, Waived } from "../state/events.js";
import type { SessionHead } from "../state/head.js";
import { isOneOf, type PhasedSession, requireEvent } from "../state/machine.js";
import {
  type ApprovalRequest,
  type Asked,
  type AwaitedApproval,
  type AwaitedWaiver,
  awaitedBy,
  awaitedWaiverBy,
  checkWaiver,
  type Denial,
  notAccepted,
} from "./ledger.js";

/** Returns the version of the commit with the question that waits for a person. */
const openVersion = {
  approval_requested: ({ status, awaiting }: SessionHead) => (status === "active" ? awaiting?.version : undefined),
  waiver_requested: (head: SessionHead) => (isWaiverOpen(head) ? head.waiver?.version : undefined),
};

/** Returns the question of a kind that a session waits on; undefined if there is none. */
async function loadAsked<T extends keyof typeof openVersion>(
  { kernel }: EngineContext,
  { sessionId, head }: PhasedSession,
  type: T,
): Promise<Asked<T> | undefined> {
  const version = openVersion[type](head);
  if (version === undefined) return undefined;
  const commit = await kernel.at(sessionId, version);
  return { commit, event: requireEvent(commit, type) };
}

/** Returns the approval that a session waits for; undefined if there is none. */
export async function viewAwaited(
  context: EngineContext,
  session: PhasedSession,
): Promise<AwaitedApproval | undefined> {
  const asked = await loadAsked(context, session, "approval_requested");
  return asked && awaitedBy(asked, context.options.inspectorUrl);
}

async function viewAwaitedWaiver(context: EngineContext, session: PhasedSession): Promise<AwaitedWaiver | undefined> {
  const asked = await loadAsked(context, session, "waiver_requested");
  return asked && awaitedWaiverBy(asked, context.options.inspectorUrl);
}

/**
 * Returns the awaited approval with its evidence. Throws `APPROVAL_REFUSED` if the session passed a gate
 * with an approval that does not count.
 */
export async function viewRequest(
  context: EngineContext,
  { session, unapproved }: LoadedSession,
): Promise<ApprovalRequest | undefined> {
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const asked = await loadAsked(context, session, "approval_requested");
  if (asked === undefined) return undefined;
  const { commit, event } = asked;
  return {
    ...awaitedBy(asked, context.options.inspectorUrl),
    target: commit.head.target,
    evidence: await loadEvidence(context, commit, event.evidence),
    verification: event.verification ?? [],
    warnings: event.warnings ?? [],
    unsignedAllowed: context.options.approvals.unsigned,
  };
}

/** A request for a waiver with what the person has to know. */
export interface WaiverRequest extends AwaitedWaiver {
  /** The target of the session. */
  readonly target: string;
  /** The name of the phase. */
  readonly phaseName: string;
  /** What the gate says of each of `fields`, in their order: a description, the checks; empty where it says nothing. */
  readonly requirements: readonly string[];
  /** True if this engine accepts an answer of a client's user, who does not sign. */
  readonly unsignedAllowed: boolean;
}

/** Returns the open request for a waiver with what a person has to know; undefined if there is none. */
export async function viewWaiverRequest(
  context: EngineContext,
  { session, structure, unapproved }: LoadedSession,
): Promise<WaiverRequest | undefined> {
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const asked = await viewAwaitedWaiver(context, session);
  if (asked === undefined) return undefined;
  const { position, target } = session.head;
  const { gate, name: phaseName = "" } = structure.phases[position] ?? {};
  const requirements = asked.fields.map((name) => (gate && requirementText(gate, name)) ?? "");
  return { ...asked, target, phaseName, requirements, unsignedAllowed: context.options.approvals.unsigned };
}

/** Returns the denial that ended the last submission at the current phase; undefined if it ended otherwise. */
export async function viewDenial(
  { kernel }: EngineContext,
  session: PhasedSession,
  { phases, plan }: WorkflowStructure,
): Promise<Denial | undefined> {
  const { submission, awaiting, position } = session.head;
  // A sync with the plan may have changed the gate since.
  const isAsked = plan !== undefined || approvalOf(phases[position]?.gate) !== undefined;
  if (!isAsked || submission === undefined || awaiting !== undefined) return undefined;
  const { events, at } = await kernel.at(session.sessionId, submission.version);
  const denied = events.find((event) => event.type === "denied");
  return denied && { by: denied.by, note: denied.note, authenticated: denied.authenticated, at };
}

/** A person's denial of a waiver; `note` says what to do instead. */
export interface WaiverDenial extends Denial {
  /** The names of what is not waived. */
  readonly fields: readonly string[];
}

/** The waivers at the current phase of a session. */
export interface WaiversView {
  /** The request that waits for a person. */
  readonly awaitingWaiver?: AwaitedWaiver;
  /** The denial of the last request, until the next attempt or request. */
  readonly waiverDenied?: WaiverDenial;
  /** What is not required at the current phase's gate. Waivers that this host does not accept are not in it. */
  readonly waived?: readonly Waived[];
  /** The waivers of the current phase that this host does not accept, and why. */
  readonly waivedInVain?: readonly WaivedInVain[];
}

/** A waiver that does not count: `distrust` says why, such as `unsigned`; `at` is when it was granted. */
export interface WaivedInVain extends Waived {
  readonly distrust: Distrust;
  readonly at: string;
}

/** Returns the waivers at the current phase of a session. */
export async function viewWaivers(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
): Promise<WaiversView> {
  const { waiver } = session.head;
  const { accepted, inVain } = await checkedWaivers(context, session, structure);
  return {
    awaitingWaiver: await viewAwaitedWaiver(context, session),
    waiverDenied: waiver?.denied === true ? await loadDenial(context, session, waiver.version) : undefined,
    waived: unlessEmpty(accepted),
    waivedInVain: unlessEmpty(inVain),
  };
}

async function loadDenial(
  { kernel }: EngineContext,
  { sessionId }: PhasedSession,
  version: number,
): Promise<WaiverDenial> {
  const commit = await kernel.at(sessionId, version);
  const { by, note, authenticated, asked } = requireEvent(commit, "waiver_denied");
  const { fields } = requireEvent(await kernel.at(sessionId, asked), "waiver_requested");
  return { fields, by, note, authenticated, at: commit.at };
}

/** Returns a phase as the agent is asked to pass it: the current one without what is waived. */
export async function phaseNow(
  context: EngineContext,
  { session, structure }: LoadedSession,
  phase: PhaseDefinition,
): Promise<PhaseDefinition> {
  return phaseAsked(context, session.head, phase, await loadWaived(context, session, structure));
}

/** Returns what is waived at the current phase, without waivers that this host does not accept. */
export async function loadWaived(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
): Promise<readonly Waived[]> {
  return (await checkedWaivers(context, session, structure)).accepted;
}

/** Returns the waivers of the current phase that this host accepts, and the others. */
async function checkedWaivers(
  { kernel, options }: EngineContext,
  { sessionId, head }: PhasedSession,
  structure: WorkflowStructure,
): Promise<{ readonly accepted: readonly Waived[]; readonly inVain: readonly WaivedInVain[] }> {
  const accepted: Waived[] = [];
  const inVain: WaivedInVain[] = [];
  const approvers = approvalOf(structure.phases[head.position]?.gate)?.approvers;
  for (const { version } of head.waived ?? []) {
    const { at, ...answered } = await kernel.at(sessionId, version);
    const granted = requireEvent(answered, "waiver_granted");
    const commit = await kernel.at(sessionId, granted.asked);
    const event = requireEvent(commit, "waiver_requested");
    const { distrust } = await checkWaiver(granted, { commit, event }, approvers, options.approvals);
    const { fields, by, note, authenticated } = granted;
    const waived = { fields, reason: event.reason, by, note, authenticated, version };
    if (distrust === undefined) accepted.push(waived);
    else inVain.push({ ...waived, distrust, at });
  }
  // One that was granted again counts.
  const names = waivedNames(accepted);
  return { accepted, inVain: inVain.filter(({ fields }) => fields.some((name) => !names.includes(name))) };
}

/** The number of sessions that are listed at once. */
const PAGE = 100;
/** A storage may answer without waiting for anything: after this time, in milliseconds, the host gets its turn. */
const WORK_MS = 20;

/** Lists the approvals that all active sessions wait for, newest session first. Reads the head of each. */
export function listApprovals(context: EngineContext): Promise<readonly AwaitedApproval[]> {
  return listAwaited(context, "listApprovals", ["active"], viewAwaited);
}

/** Lists the requests for waivers that wait for a person in all sessions, newest session first. Reads the head of each. */
export function listWaivers(context: EngineContext): Promise<readonly AwaitedWaiver[]> {
  return listAwaited(context, "listWaivers", ["active", "paused", "failed"], viewAwaitedWaiver);
}

/** Returns the request of one kind that a session waits on; undefined if there is none. */
type ViewAwaited<T> = (context: EngineContext, session: PhasedSession) => Promise<T | undefined>;

/** Lists the requests of one kind in all sessions of these statuses, newest session first. */
async function listAwaited<T>(
  context: EngineContext,
  operation: string,
  status: readonly SessionStatus[],
  view: ViewAwaited<T>,
): Promise<readonly T[]> {
  const { options } = context;
  const takeTurns = turns(options.clock, WORK_MS);
  const found: T[] = [];
  const list = (query: SessionQuery) => listSeen(options.storage, context.caller, query);
  for await (const { items, damaged = [] } of pagesOf(list, { kind: "phased", status, limit: PAGE })) {
    for (const id of [...items.map(({ sessionId }) => sessionId), ...damaged]) {
      const request = isSessionId(id) ? await awaitedIn(context, id, operation, view) : undefined;
      if (request !== undefined) found.push(request);
      await takeTurns();
    }
  }
  return found;
}

/** Reports a session that can't be shown to the host and omits it, so that it does not hide the others. */
async function awaitedIn<T>(
  context: EngineContext,
  sessionId: SessionId,
  operation: string,
  view: ViewAwaited<T>,
): Promise<T | undefined> {
  try {
    const session = await context.kernel.find(sessionId);
    const request = session && (await view(context, session));
    if (session === undefined || request === undefined) return undefined;
    const { unapproved } = await acceptedState(context, session);
    if (unapproved !== undefined) throw notAccepted(unapproved);
    return request;
  } catch (error) {
    if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
    context.notifications.report(operation, error);
    return undefined;
  }
}

/** An agent's request for a waiver. */
export interface RequestWaiver extends Keyed {
  /** The number of the current phase. */
  readonly phase: number;
  /**
   * The names of what can't be met, at most 50: fields; checks of the gate as a whole as `verified_by.1`; in a phase of
   * a plan, `tasks_completed.<id>` and `validation_gate.<number>`.
   */
  readonly fields: readonly string[];
  /** Why it can't be met; at most 2,000 characters. */
  readonly reason: string;
}

/** A request for a waiver, as it was recorded. */
export interface WaiverRequested extends AwaitedWaiver {
  /** The version of the session after this answer. */
  readonly version: number;
  /** True if an earlier call led to this answer: the session may have changed since. */
  readonly replayed: boolean;
}

/** Records an agent's request. The same request again, while it is open, is answered again and not recorded. */
export async function requestWaiver(
  context: EngineContext,
  sessionId: SessionId,
  request: RequestWaiver,
): Promise<WaiverRequested> {
  const { phase, fields, reason, idempotencyKey } = request;
  requireNames(fields);
  requireText("reason", reason);
  const command = { type: "requestWaiver", phase, fields, reason } as const;
  const prepare = preparing<number>(context, sessionId, async (session, structure) => {
    const open = await loadAsked(context, session, "waiver_requested");
    if (open !== undefined && isSame(open.event, command, structure)) return { answer: open.commit.version };
    return { ...command, waived: await loadWaived(context, session, structure) };
  });
  const executed = await execute<number>(context, sessionId, prepare, requestFor(idempotencyKey, command));
  const commit = "answer" in executed ? await context.kernel.again(sessionId, executed.answer) : executed;
  const { version, replayed } = commit;
  const event = requireEvent(commit, "waiver_requested");
  return { ...awaitedWaiverBy({ commit, event }, context.options.inspectorUrl), version, replayed };
}

/** Throws `INVALID_INPUT` for anything but a list of names: types don't reach plain JavaScript. */
function requireNames(fields: unknown): void {
  if (Array.isArray(fields) && fields.every((name) => typeof name === "string")) return;
  const expected = "a list of names";
  throw new PhasegateError("INVALID_INPUT", `'fields' must be ${expected}, not ${shown(fields)}`, {
    remedy: "Name the fields that can't be met.",
    details: { field: "fields", expected },
  });
}

function isSame(
  { phase, fields, reason }: EventOf<"waiver_requested">,
  request: RequestWaiver,
  { phases }: WorkflowStructure,
): boolean {
  const gate = phases.find(({ number }) => number === phase)?.gate;
  const names = new Set(request.fields.map((name) => (gate === undefined ? name : waiverName(gate, name))));
  return phase === request.phase && reason === request.reason && canonicalJson(fields) === canonicalJson([...names]);
}

/** A person's answer to what a session asks. */
interface PersonsAnswer extends Keyed {
  /** The name of the person, as the host and the gate know it; at most 200 characters. */
  readonly by: string;
  /** A comment, recorded with the decision; for a denial, what to do instead. At most 2,000 characters. */
  readonly note?: string;
  /**
   * The approver's signature, from `signApproval`. Required for an approval unless the host allows unsigned ones; for a
   * waiver, where the gate names approvers or the host has their keys.
   */
  readonly signature?: ApprovalSignature;
}

/** A person's approval. */
export interface ApproveRequest extends PersonsAnswer {
  /** The hash of the evidence that the person has seen. */
  readonly evidenceHash: string;
}

/** A person's denial. */
export interface DenyRequest extends ApproveRequest {
  /** What to fix. */
  readonly note: string;
}

/** A person's answer to a request for a waiver. */
export interface WaiveRequest extends PersonsAnswer {
  /** The `request` of the waiver that the person has seen. */
  readonly request: string;
}

/** A person's denial of a waiver. */
export interface DenyWaiverRequest extends WaiveRequest {
  /** What to do instead. */
  readonly note: string;
}

/** The gate's answer after a person's decision. */
export type ApprovalResult = CompleteResult & {
  /** The name of the person. */
  readonly by: string;
  /** True if it was signed with the key that the host has for that name. */
  readonly authenticated: boolean;
};

/** Takes a person's answer to the approval that a session waits for. Throws `APPROVAL_REFUSED`. */
export async function decide(
  context: EngineContext,
  id: SessionId,
  decision: "approve" | "deny",
  request: ApproveRequest,
): Promise<ApprovalResult> {
  const { evidenceHash } = request;
  const key = [decision, request.by, request.note, evidenceHash];
  const { outcome, answer } = await takeAnswer(
    context,
    id,
    decision,
    request,
    key,
    async (session, structure, given) => {
      const refusal = decisionRefusal(session.head, structure, decision, evidenceHash);
      if (refusal !== undefined) throw await nameFirst(context, session, evidenceHash, refusal);
      const asked = await loadAsked(context, session, "approval_requested");
      if (asked === undefined) throw notWaiting(session.head.phase);
      const found = await requireDecision(context.options.approvals, awaitedBy(asked), given);
      const question = { version: asked.commit.version, event: asked.event };
      return { type: decision, by: given.by, note: given.note, ...found, evidenceHash, asked: question };
    },
  );
  const { by, authenticated } = answer;
  const structure = await context.pinned.structure(outcome);
  const accepted = await loadWaived(context, outcome, structure);
  return { ...describe(context, outcome, structure, { accepted }), by, authenticated };
}

/** A person's answer to a request for a waiver, as it was recorded. */
export interface WaiverResult {
  /** The session that asked. */
  readonly sessionId: SessionId;
  /** The number of the phase. */
  readonly phase: number;
  /** True if it was granted. */
  readonly granted: boolean;
  /** The names that the request was for. */
  readonly fields: readonly string[];
  /** The name of the person. */
  readonly by: string;
  /** The person's comment. */
  readonly note?: string;
  /** True if it was signed with the key that the host has for that name. */
  readonly authenticated: boolean;
  /** The version of the session after this answer. */
  readonly version: number;
  /** True if an earlier call with the same key led to this answer. */
  readonly replayed: boolean;
}

/** Takes a person's answer to the open request for a waiver. Throws `APPROVAL_REFUSED` if it does not count. */
export async function decideWaiver(
  context: EngineContext,
  sessionId: SessionId,
  decision: "approve" | "deny",
  request: WaiveRequest,
): Promise<WaiverResult> {
  const key = ["waiver", decision, request.by, request.note, request.request];
  const { outcome, answer } = await takeAnswer(
    context,
    sessionId,
    decision,
    request,
    key,
    async (session, _, given) => {
      const open = await loadAsked(context, session, "waiver_requested");
      const seen = open?.commit.hash === request.request ? open : undefined;
      const refusal = answerRefusal(session.head, seen?.commit.version);
      if (refusal !== undefined || seen === undefined) throw refusal ?? new Error("a request that is open and missing");
      const found = await requireDecision(context.options.approvals, awaitedWaiverBy(seen), given);
      const asked = { version: seen.commit.version, event: seen.event };
      const type = decision === "deny" ? "denyWaiver" : "waive";
      return { type, by: given.by, note: given.note, ...found, asked };
    },
  );
  const { fields } = requireEvent(await context.kernel.at(sessionId, answer.asked), "waiver_requested");
  const { phase, by, note, authenticated } = answer;
  const { version, replayed } = outcome;
  const granted = answer.type === "waiver_granted";
  return { sessionId, phase, granted, fields, by, note, authenticated, version, replayed };
}

/** Takes a person's answer to what a session waits for; `key` is what an idempotency key belongs to. */
async function takeAnswer(
  context: EngineContext,
  id: SessionId,
  decision: "approve" | "deny",
  { by, note, signature, idempotencyKey }: PersonsAnswer,
  // The signature is not part of it: a call that is repeated after a crash has a new one.
  key: readonly unknown[],
  commandFor: (session: PhasedSession, structure: WorkflowStructure, given: GivenDecision) => Promise<SessionCommand>,
) {
  requireText("by", by);
  if (decision === "deny" || (note !== undefined && typeof note !== "string")) requireText("note", note);
  const prepare = preparing(context, id, (session, structure) =>
    commandFor(session, structure, { decision, by, note, signature }),
  );
  const outcome = await execute(context, id, prepare, requestFor(idempotencyKey, key));
  const answer = outcome.events.find(isAnswer);
  if (answer === undefined) throw new Error("a decision that is not in its commit");
  return { outcome, answer };
}

const isAnswer = isOneOf("approved", "denied", "waiver_granted", "waiver_denied");

/** The longest name of an approver, in characters. */
const NAME_MAX = 200;

const EXPECTED = {
  by: `a name of 1 to ${NAME_MAX} characters`,
  note: "a text that says what to do",
  reason: "a text that says why it can't be met",
};

/** Throws `INVALID_INPUT` if a text is missing or blank, or a name is too long. */
function requireText(field: keyof typeof EXPECTED, text: unknown): void {
  const limit = field === "by" ? NAME_MAX : Number.POSITIVE_INFINITY;
  if (typeof text === "string" && !isInvisible(text) && text.length <= limit) return;
  const expected = EXPECTED[field];
  throw new PhasegateError("INVALID_INPUT", `'${field}' must be ${expected}, not ${shown(text)}`, {
    remedy: `Give '${field}': it is recorded with the decision.`,
    details: { field, expected },
  });
}

/** Of two concurrent decisions, the second is told who was first. */
async function nameFirst<E extends Error>(
  context: EngineContext,
  session: PhasedSession,
  evidenceHash: string,
  refusal: E,
): Promise<E | PhasegateError<"APPROVAL_REFUSED">> {
  const { head } = session;
  if (head.status === "deleted" || head.awaiting !== undefined) return refusal;
  const events = (await readEvents(context, session)).map(({ event }) => event);
  const last = events.findLast(isOneOf("approved", "denied"));
  return last?.evidenceHash === evidenceHash
    ? notWaiting(last.phase, `${last.by} has ${last.type} that already`)
    : refusal;
}
