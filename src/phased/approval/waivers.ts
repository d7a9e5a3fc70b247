/**
 * Waivers: an agent says what it can't meet at the gate of its phase, and a person grants exactly that, or denies it and
 * says what to do instead. A waiver counts like an approval: where the gate names approvers, or the host has their keys,
 * it must be signed.
 */
import { requireDecision } from "../../approval/decision.js";
import type { ApprovalSignature } from "../../approval/message.js";
import { PhasegateError } from "../../errors.js";
import { requirementText, waiverName } from "../../gate/waivers.js";
import { keyedRequest } from "../../log/machine.js";
import { canonicalJson } from "../../workflow/json.js";
import { type SessionId, shown } from "../../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import { checkWorkflow, execute, phaseAsked, sessionNotFound } from "../context.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import { isWaiverOpen } from "../state/commands.js";
import { answerRefusal, approvalOf } from "../state/decide-gate.js";
import type { EventOf, Waived } from "../state/events.js";
import { type PhasedSession, requireEvent } from "../state/machine.js";
import { type AskedWaiver, type AwaitedWaiver, awaitedWaiverBy, checkWaiver, notAccepted } from "./ledger.js";
import { listAwaited, requireNote, requireText } from "./requests.js";

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

/** A person's denial of a waiver. */
export interface WaiverDenial {
  /** The names of what is not waived. */
  readonly fields: readonly string[];
  /** The name of the person. */
  readonly by: string;
  /** What to do instead. */
  readonly note: string;
  /** True if it was signed with the key that the host has for that name. */
  readonly authenticated: boolean;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** The waivers at the current phase of a session. */
export interface WaiversView {
  /** The request that waits for a person. */
  readonly awaitingWaiver?: AwaitedWaiver;
  /** The denial of the last request, until the next attempt or request. */
  readonly waiverDenied?: WaiverDenial;
  /** What is not required at the current phase's gate. Waivers that this host does not accept are not in it. */
  readonly waived?: readonly Waived[];
}

/** An agent's request for a waiver. */
export interface RequestWaiver {
  /** The number of the current phase. */
  readonly phase: number;
  /**
   * The names of what can't be met, at most 50: fields; checks of the gate as a whole as `verified_by.1`; in a phase of
   * a plan, `tasks_completed.<id>` and `validation_gate.<number>`.
   */
  readonly fields: readonly string[];
  /** Why it can't be met; at most 2,000 characters. */
  readonly reason: string;
  /** A repeated call with the same key gets the same answer. */
  readonly idempotencyKey?: string;
}

/** A request for a waiver, as it was recorded. */
export interface WaiverRequested extends AwaitedWaiver {
  /** The version of the session after this answer. */
  readonly version: number;
  /** True if an earlier call led to this answer: the session may have changed since. */
  readonly replayed: boolean;
}

/** A person's answer to a request for a waiver. */
export interface WaiveRequest {
  /** The name of the person, as the host and the gate know it; at most 200 characters. */
  readonly by: string;
  /** The `request` of the waiver that the person has seen. */
  readonly request: string;
  /** A comment, recorded with the decision; for a denial, what to do instead. At most 2,000 characters. */
  readonly note?: string;
  /** The approver's signature, from `signApproval`. Required where the gate names approvers or the host has their keys. */
  readonly signature?: ApprovalSignature;
  /** A repeated call with the same key gets the same answer. */
  readonly idempotencyKey?: string;
}

/** A person's denial of a waiver. */
export interface DenyWaiverRequest extends WaiveRequest {
  /** What to do instead. */
  readonly note: string;
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
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, command);
  const prepare = async (session: PhasedSession | undefined) => {
    const { structure, open } = await load(context, sessionId, session);
    if (open !== undefined && isSame(open.event, command, structure)) return { answer: open.commit.version };
    return { command: { command, structure, limits: context.options.limits } };
  };
  const executed = await execute<number>(context, sessionId, prepare, keyed);
  const outcome = "answer" in executed ? await context.kernel.again(sessionId, executed.answer) : executed;
  const { version, replayed } = outcome;
  return { ...awaitedWaiverBy(outcome, requireEvent(outcome, "waiver_requested")), version, replayed };
}

/** Takes a person's answer to the open request. Throws `APPROVAL_REFUSED` if it does not count. */
export async function decideWaiver(
  context: EngineContext,
  sessionId: SessionId,
  decision: "approve" | "deny",
  given: WaiveRequest,
): Promise<WaiverResult> {
  const { by, note, request, signature, idempotencyKey } = given;
  requireText("by", by);
  requireNote(decision, note);
  // The signature is not part of the key: a call that is repeated after a crash has a new one.
  const keyed =
    idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, ["waiver", decision, by, note, request]);
  const prepare = async (session: PhasedSession | undefined) => {
    const { structure, open, head } = await load(context, sessionId, session);
    const seen = open?.commit.hash === request ? open : undefined;
    const refusal = answerRefusal(head, seen?.commit.version);
    if (refusal !== undefined || seen === undefined) throw refusal ?? new Error("a request that is open and missing");
    const asked = { version: seen.commit.version, event: seen.event };
    const answered = { decision, by, note, signature };
    const found = await requireDecision(context.options.approvals, awaitedWaiverBy(seen.commit, seen.event), answered);
    const signed = { by, asked, ...found };
    const command =
      decision === "deny"
        ? ({ type: "denyWaiver", note: note ?? "", ...signed } as const)
        : ({ type: "waive", ...signed, note } as const);
    return { command: { command, structure, limits: context.options.limits } };
  };
  const outcome = await execute(context, sessionId, prepare, keyed);
  const answer = outcome.events.find(({ type }) => type === "waiver_granted" || type === "waiver_denied");
  if (answer?.type !== "waiver_granted" && answer?.type !== "waiver_denied")
    throw new Error("a decision without event");
  const { version, replayed } = outcome;
  const asked = requireEvent(await context.kernel.at(sessionId, answer.asked), "waiver_requested");
  const { phase, authenticated, note: said } = answer;
  const granted = answer.type === "waiver_granted";
  const decided = { sessionId, phase, granted, fields: asked.fields, by: answer.by, authenticated, version, replayed };
  return said === undefined ? decided : { ...decided, note: said };
}

/** Lists the requests for waivers that wait for a person in all sessions, newest session first. Reads the head of each. */
export function listWaivers(context: EngineContext): Promise<readonly AwaitedWaiver[]> {
  return listAwaited(context, ["active", "paused", "failed"], {
    operation: "listWaivers",
    waits: isWaiverOpen,
    view: async (session) => {
      const open = await loadOpen(context, session);
      return open && awaitedWaiverBy(open.commit, open.event);
    },
  });
}

/** Returns the waivers at the current phase of a session. */
export async function viewWaivers(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
): Promise<WaiversView> {
  const { waiver } = session.head;
  const open = await loadOpen(context, session);
  const denied = waiver?.denied === true ? await loadDenial(context, session, waiver.version) : undefined;
  const granted = await loadWaived(context, session, structure);
  return {
    ...(open === undefined ? {} : { awaitingWaiver: awaitedWaiverBy(open.commit, open.event) }),
    waiverDenied: denied,
    ...(granted.length === 0 ? {} : { waived: granted }),
  };
}

/** Returns a phase as the agent is asked to pass it: the current one without what is waived. */
export async function phaseNow(
  context: EngineContext,
  { session, structure }: LoadedSession,
  phase: PhaseDefinition,
): Promise<PhaseDefinition> {
  return phaseAsked(context, session.head, phase, await loadWaived(context, session, structure));
}

/** Returns the open request with what a person has to know; undefined if there is none. */
export async function viewWaiverRequest(
  context: EngineContext,
  { session, structure, unapproved }: LoadedSession,
): Promise<WaiverRequest | undefined> {
  if (unapproved !== undefined) throw notAccepted(unapproved);
  const open = await loadOpen(context, session);
  if (open === undefined) return undefined;
  const { position, target } = session.head;
  const { gate, name: phaseName = "" } = structure.phases[position] ?? {};
  return {
    ...awaitedWaiverBy(open.commit, open.event),
    target,
    phaseName,
    requirements: open.event.fields.map((name) => (gate && requirementText(gate, name)) ?? ""),
    unsignedAllowed: context.options.approvals.unsigned,
  };
}

/** Returns what is waived at the current phase, without waivers that this host does not accept. */
export async function loadWaived(
  { kernel, options }: EngineContext,
  { sessionId, head }: PhasedSession,
  structure: WorkflowStructure,
): Promise<Waived[]> {
  const found: Waived[] = [];
  const approvers = approvalOf(structure.phases[head.position]?.gate)?.approvers;
  for (const { version } of head.waived ?? []) {
    const granted = requireEvent(await kernel.at(sessionId, version), "waiver_granted");
    const commit = await kernel.at(sessionId, granted.asked);
    const event = requireEvent(commit, "waiver_requested");
    const { distrust } = await checkWaiver(granted, { commit, event }, approvers, options.approvals);
    if (distrust !== undefined) continue;
    const { fields, by, note, authenticated } = granted;
    const waived = { fields, reason: event.reason, by, authenticated, version };
    found.push(note === undefined ? waived : { ...waived, note });
  }
  return found;
}

/** Throws `INVALID_INPUT` if the names are none: types don't reach plain JavaScript. */
function requireNames(fields: unknown): void {
  if (Array.isArray(fields) && fields.every((name) => typeof name === "string")) return;
  const expected = "a list of names";
  throw new PhasegateError("INVALID_INPUT", `'fields' must be ${expected}, not ${shown(fields)}`, {
    remedy: "Name the fields that can't be met.",
    details: { field: "fields", expected },
  });
}

async function load(context: EngineContext, sessionId: SessionId, session: PhasedSession | undefined) {
  if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, sessionId);
  checkWorkflow(context, session);
  const structure = await context.pinned.structure(session);
  return { structure, head: session.head, open: await loadOpen(context, session) };
}

/** Returns the request that waits for a person; undefined if there is none. */
async function loadOpen(
  { kernel }: EngineContext,
  { sessionId, head }: PhasedSession,
): Promise<AskedWaiver | undefined> {
  if (!isWaiverOpen(head) || head.waiver === undefined) return undefined;
  const commit = await kernel.at(sessionId, head.waiver.version);
  return { commit, event: requireEvent(commit, "waiver_requested") };
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

function isSame(
  { phase, fields, reason }: EventOf<"waiver_requested">,
  request: Pick<RequestWaiver, "phase" | "fields" | "reason">,
  { phases }: WorkflowStructure,
): boolean {
  const gate = phases.find(({ number }) => number === phase)?.gate;
  const names = request.fields.map((name) => (gate === undefined ? name : waiverName(gate, name)));
  return (
    phase === request.phase && reason === request.reason && canonicalJson(fields) === canonicalJson([...new Set(names)])
  );
}
