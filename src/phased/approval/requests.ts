/**
 * What sessions ask people, and their decisions. An approval is bound to the evidence that the person saw: new
 * evidence needs a new approval.
 */
import { type GivenDecision, requireDecision } from "../../approval/decision.js";
import type { ApprovalSignature } from "../../approval/message.js";
import { BROKEN } from "../../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { keyedRequest } from "../../log/machine.js";
import { turns } from "../../ports/clock.js";
import type { SessionStatus } from "../../ports/storage-adapter.js";
import { listSeen } from "../../runtime/access.js";
import { isInvisible } from "../../workflow/field-types.js";
import { isSessionId, type SessionId, shown } from "../../workflow/names.js";
import { loadEvidence, readEvents } from "../artifacts.js";
import { acceptedState, checkWorkflow, execute, sessionNotFound } from "../context.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import { type CompleteResult, describe } from "../gate-answer.js";
import type { SessionCommand } from "../state/commands.js";
import { decisionRefusal, notWaiting } from "../state/decide-gate.js";
import type { EventOf } from "../state/events.js";
import type { SessionHead } from "../state/head.js";
import type { PhasedCommit, PhasedSession } from "../state/machine.js";
import { begunBy, withBegun } from "../verify/snapshots.js";
import { type ApprovalRequest, type AwaitedApproval, awaitedBy, type Denial, notAccepted } from "./ledger.js";

/** A question and its commit. */
interface Asked {
  readonly commit: PhasedCommit;
  readonly event: EventOf<"approval_requested">;
}

/** Returns the question that a session waits on; undefined if there is none. */
async function loadAsked({ kernel }: EngineContext, session: PhasedSession): Promise<Asked | undefined> {
  const { awaiting, status } = session.head;
  if (awaiting === undefined || status !== "active") return undefined;
  const commit = await kernel.at(session.sessionId, awaiting.version);
  const event = commit.events.find((candidate) => candidate.type === "approval_requested");
  return event === undefined ? undefined : { commit, event };
}

/** Returns the approval that a session waits for; undefined if there is none. */
export async function viewAwaited(
  context: EngineContext,
  session: PhasedSession,
): Promise<AwaitedApproval | undefined> {
  const asked = await loadAsked(context, session);
  return asked === undefined ? undefined : awaitedBy(asked.commit, asked.event);
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
  const asked = await loadAsked(context, session);
  if (asked === undefined) return undefined;
  const { commit, event } = asked;
  return {
    ...awaitedBy(commit, event),
    target: commit.head.target,
    evidence: await loadEvidence(context, commit, event.evidence),
    verification: event.verification ?? [],
    warnings: event.warnings ?? [],
    unsignedAllowed: context.options.approvals.unsigned,
  };
}

/** Returns the denial that ended the last submission at the current phase; undefined if it ended otherwise. */
export async function viewDenial({ kernel }: EngineContext, session: PhasedSession): Promise<Denial | undefined> {
  const { submission, awaiting } = session.head;
  if (submission === undefined || awaiting !== undefined) return undefined;
  const { events, at } = await kernel.at(session.sessionId, submission.version);
  const denied = events.find((event) => event.type === "denied");
  return denied && { by: denied.by, note: denied.note, authenticated: denied.authenticated, at };
}

/** The number of sessions that are listed at once. */
const PAGE = 100;
/** A storage may answer without waiting for anything: after this time, in milliseconds, the host gets its turn. */
const WORK_MS = 20;

/** Lists the approvals that all active sessions wait for, newest session first. Reads the head of each. */
export function listApprovals(context: EngineContext): Promise<readonly AwaitedApproval[]> {
  return listAwaited(context, ["active"], {
    operation: "listApprovals",
    waits: ({ awaiting }) => awaiting !== undefined,
    view: (session) => viewAwaited(context, session),
  });
}

/** A kind of request that a person answers. */
interface Awaited<T> {
  /** The engine's method that lists them. */
  readonly operation: string;
  /** Returns true if the session may wait for one. */
  waits(head: SessionHead): boolean;
  /** Returns the request; undefined if there is none. */
  view(session: PhasedSession): Promise<T | undefined>;
}

/** Lists the requests of one kind in all sessions of these statuses, newest session first. */
export async function listAwaited<T>(
  context: EngineContext,
  status: readonly SessionStatus[],
  awaited: Awaited<T>,
): Promise<readonly T[]> {
  const { options } = context;
  const takeTurns = turns(options.clock, WORK_MS);
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const query = {
      kind: "phased",
      status,
      limit: PAGE,
      cursor,
    } as const;
    const page = await listSeen(options.storage, context.caller, query);
    for (const id of [...page.items.map(({ sessionId }) => sessionId), ...(page.damaged ?? [])]) {
      const request = isSessionId(id) ? await awaitedIn(context, id, awaited) : undefined;
      if (request !== undefined) found.push(request);
      await takeTurns();
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** Reports a session that can't be shown to the host and omits it, so that it does not hide the others. */
async function awaitedIn<T>(
  context: EngineContext,
  sessionId: SessionId,
  { operation, waits, view }: Awaited<T>,
): Promise<T | undefined> {
  try {
    const session = await context.kernel.find(sessionId);
    if (session === undefined || !waits(session.head)) return undefined;
    const { unapproved } = await acceptedState(context, session);
    if (unapproved !== undefined) throw notAccepted(unapproved);
    return await view(session);
  } catch (error) {
    if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
    context.notifications.report(operation, error);
    return undefined;
  }
}

/** A person's approval. */
export interface ApproveRequest {
  /** The name of the person, as the host and the gate know it; at most 200 characters. */
  readonly by: string;
  /** A comment, recorded with the decision. */
  readonly note?: string;
  /** The hash of the evidence that the person has seen. */
  readonly evidenceHash: string;
  /** The approver's signature, from `signApproval`. Required unless the host allows unsigned approvals. */
  readonly signature?: ApprovalSignature;
  /** A repeated call with the same key gets the same answer. */
  readonly idempotencyKey?: string;
}

/** A person's denial. */
export interface DenyRequest extends ApproveRequest {
  /** What to fix. */
  readonly note: string;
}

/** The gate's answer after a person's decision. */
export type ApprovalResult = CompleteResult & {
  /** The name of the person. */
  readonly by: string;
  /** True if it was signed with the key that the host has for that name. */
  readonly authenticated: boolean;
};

/** Takes a person's answer to what a session waits for. Throws `APPROVAL_REFUSED`. */
export async function decide(
  context: EngineContext,
  id: SessionId,
  decision: "approve" | "deny",
  request: ApproveRequest,
): Promise<ApprovalResult> {
  const { by, note, evidenceHash, signature, idempotencyKey } = request;
  requireText("by", by);
  requireNote(decision, note);
  // The signature is not part of the key: a call that is repeated after a crash has a new one.
  const keyed =
    idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, [decision, by, note, evidenceHash]);
  const prepare = async (session: PhasedSession | undefined, confirm: () => Promise<void>) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
    checkWorkflow(context, session);
    const command = await commandFor(context, session, { decision, by, note, signature }, evidenceHash);
    const structure = await context.pinned.structure(session);
    const skips = await context.pinned.skips(session, structure);
    const begun = await begunBy(context, session, structure, command, skips, confirm);
    return withBegun({ command, structure, limits: context.options.limits, skips }, begun);
  };
  const outcome = await execute(context, id, prepare, keyed);
  const decided = outcome.events.find(({ type }) => type === "approved" || type === "denied");
  if (decided?.type !== "approved" && decided?.type !== "denied")
    throw new Error("a decision that is not in its commit");
  const answer = describe(context, outcome, await context.pinned.structure(outcome));
  return { ...answer, by: decided.by, authenticated: decided.authenticated };
}

/** The longest name of an approver, in characters. */
const NAME_MAX = 200;

const EXPECTED = {
  by: `a name of 1 to ${NAME_MAX} characters`,
  note: "a text that says what to do",
  reason: "a text that says why it can't be met",
};

/** Throws `INVALID_INPUT` if a text is missing or blank, or a name is too long. */
export function requireText(field: keyof typeof EXPECTED, text: unknown): void {
  const limit = field === "by" ? NAME_MAX : Number.POSITIVE_INFINITY;
  if (typeof text === "string" && !isInvisible(text) && text.length <= limit) return;
  const expected = EXPECTED[field];
  throw new PhasegateError("INVALID_INPUT", `'${field}' must be ${expected}, not ${shown(text)}`, {
    remedy: `Give '${field}': it is recorded with the decision.`,
    details: { field, expected },
  });
}

/** Throws `INVALID_INPUT` if a denial has no note, or a note is no text. */
export function requireNote(decision: "approve" | "deny", note: unknown): void {
  if (decision === "deny" || (note !== undefined && typeof note !== "string")) requireText("note", note);
}

async function commandFor(
  context: EngineContext,
  session: PhasedSession,
  given: GivenDecision,
  evidenceHash: string,
): Promise<SessionCommand> {
  const structure = await context.pinned.structure(session);
  const refusal = decisionRefusal(session.head, structure, given.decision, evidenceHash);
  if (refusal !== undefined) throw await nameFirst(context, session, evidenceHash, refusal);
  const asked = await loadAsked(context, session);
  if (asked === undefined) throw notWaiting(session.head.phase);
  const found = await requireDecision(context.options.approvals, awaitedBy(asked.commit, asked.event), given);
  const { by, note, decision } = given;
  const decided = { by, evidenceHash, asked: { version: asked.commit.version, event: asked.event }, ...found };
  if (decision === "deny") return { type: "deny", note: note ?? "", ...decided };
  return { type: "approve", ...decided, note };
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
  const events = await readEvents(context, session);
  const last = events.findLast(({ event }) => event.type === "approved" || event.type === "denied")?.event;
  if (last?.type !== "approved" && last?.type !== "denied") return refusal;
  return last.evidenceHash === evidenceHash
    ? notWaiting(last.phase, `${last.by} has ${last.type} that already`)
    : refusal;
}
