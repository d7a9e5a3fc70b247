/**
 * The operations that move an instance without a report: start, suspend, cancel, retry, delete, and a person's
 * decision. Everything that can fail is done before anything is written, except the decider's choice of the first step.
 */
import { requireDecision } from "../approval/decision.js";
import { type ApprovalSignature, approvalRefused } from "../approval/message.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { type KeyedRequest, keyedRequest, ownKey } from "../log/machine.js";
import type { AssignRequest, Keyed } from "../phased/commands.js";
import { requireVerifiers } from "../phased/start-checks.js";
import { cancelled } from "../phased/verify/verify.js";
import { checkOwner, type Owner } from "../ports/actor.js";
import { mayOperate, ownerFor, requireOwnPlace } from "../runtime/access.js";
import { isInvisible } from "../workflow/field-types.js";
import {
  anything,
  callable,
  checkOptions,
  having,
  type OptionChecks,
  optionally,
  text,
} from "../workflow/host-options.js";
import { canonicalJson, digest } from "../workflow/json.js";
import { nearest, parseSessionId, type SessionId, shown } from "../workflow/names.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import { readContext } from "./ask-decider.js";
import type { Waiting } from "./asking.js";
import { answerAfter, beginStep, decidePending } from "./decide.js";
import type { RoutedContext } from "./options.js";
import { type RoutedCommand, type RoutedStructure, structureOf } from "./state/events.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import type { FollowedDecision, RoutedResult, RoutedView, StartRoutedRequest } from "./types.js";
import { executeOn, questionOf, requireInstance, requirePlace, resultOf, viewInstance } from "./views.js";

const STARTS: OptionChecks<StartRoutedRequest> = {
  workflow: text,
  context: anything,
  idempotencyKey: optionally(text),
  signal: optionally(having("an AbortSignal")),
  onAsk: optionally(callable),
};

/** Starts an instance. */
export async function startRouted(context: RoutedContext, request: StartRoutedRequest): Promise<RoutedResult> {
  checkOptions("start", request, STARTS);
  const { options, kernel } = context;
  const { workflow, idempotencyKey, signal, onAsk } = request;
  const definition = await requireDefinition(context, workflow);
  const structure = structureOf(definition);
  await requireGates(structure, context);
  const values = readContext(request.context ?? {}, options.limits.maxContextBytes);
  const owner = ownerFor(context, { kind: "routed", workflowType: structure.name, target: "" });
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, [workflow, values]);
  const id = keyed === undefined ? parseSessionId(options.newId()) : keyedId(context, keyed);
  await checkLimit(context, id, keyed);
  const firstStep = options.firstStep === "first" ? definition.steps[0].name : undefined;
  const given = { context: values, digest: digest(canonicalJson(values)), owner };
  const command = { type: "start" as const, structure, ...given };
  const started = await kernel.execute(
    id,
    async () => {
      if (signal?.aborted) throw cancelled("start");
      if (firstStep === undefined) return { command };
      const session = { sessionId: id, version: 1, head: { workflow: structure.name, attempts: 0 } };
      const { payloads, ...begun } = await beginStep(context, session, structure, firstStep);
      return { command: { ...command, firstStep, ...begun }, payloads };
    },
    keyed,
    { isNew: keyed === undefined },
  );
  if (!started.replayed) context.pinned.remember(started, structure);
  const waiting = { operation: "start", signal, onAsk } as const;
  try {
    return await resultOf(context, await withFirstStep(context, started, waiting), started.replayed);
  } catch (error) {
    throw withInstance(error, started.sessionId);
  }
}

/** The remedy of a start that has failed after the instance was created. */
const RETRY = "Retry the instance: the decider is asked for the first step again.";

/** Returns an error of a start with the instance that was created, so that its caller can retry it. */
function withInstance(error: unknown, sessionId: SessionId): unknown {
  if (isPhasegateError(error, "DECIDER_FAILED")) {
    const { code, message, details, cause } = error;
    return new PhasegateError(code, message, { remedy: RETRY, details: { ...details, sessionId }, cause });
  }
  if (isPhasegateError(error, "DEFINITION_UNAVAILABLE")) {
    const { code, message, remedy, details, cause } = error;
    return new PhasegateError(code, message, { remedy, details: { ...details, sessionId }, cause });
  }
  if (!isPhasegateError(error, "TOO_LARGE")) return error;
  const { code, message, remedy, details, cause } = error;
  return new PhasegateError(code, message, { remedy, details: { ...details, sessionId }, cause });
}

async function requireDefinition({ options }: RoutedContext, name: string): Promise<RoutedDefinition> {
  const definition = typeof name === "string" ? await options.workflows.definition(name) : undefined;
  if (definition !== undefined) return definition;
  const names = (await options.workflows.list()).map((listing) => listing.name);
  const near = typeof name === "string" ? nearest(name, names) : undefined;
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}`, {
    remedy: near === undefined ? "List the workflows, and start one of them." : `Did you mean ${near}?`,
    details: { workflowType: String(name), nearest: near },
  });
}

/** Refuses a workflow with a gate that this host can't check: an instance would be stuck there. */
async function requireGates({ name, steps }: RoutedStructure, { options }: RoutedContext): Promise<void> {
  const phases = steps.flatMap(({ gate }, index) => (gate === undefined ? [] : [{ number: index + 1, gate }]));
  await requireVerifiers({ type: name, phases }, options);
}

/**
 * The key replaces the id, so that a caller that never received it finds the same instance. Actors who use the same key
 * start an instance each.
 */
function keyedId({ caller }: RoutedContext, { id, key }: KeyedRequest): SessionId {
  return parseSessionId(`k${caller === undefined ? id : ownKey(caller.actor.name, key)}`);
}

/** A repeated start is not a new session, so it is always allowed. */
async function checkLimit(context: RoutedContext, id: SessionId, keyed: KeyedRequest | undefined) {
  const check = async () => {
    await requirePlace(context);
    await requireOwnPlace(context);
  };
  await check().catch(async (error: unknown) => {
    const isRepeated = isPhasegateError(error, "SESSION_LIMIT") && keyed !== undefined;
    if (!isRepeated || (await context.kernel.find(id)) === undefined) throw error;
  });
}

/**
 * Has the decider choose the first step, if the host wants that; a repeated start returns its choice, or asks again.
 */
async function withFirstStep(
  context: RoutedContext,
  started: RoutedCommit & { readonly replayed: boolean },
  waiting: Waiting,
) {
  if (started.head.pending === undefined) return started;
  const answered = started.replayed ? await answerAfter(context, started.sessionId, started.version) : started;
  const { pending, status } = answered.head;
  if (status !== "active" || pending === undefined) return answered;
  return decidePending(context, answered, pending, waiting);
}

/** A move with its reason. */
export interface RoutedMove extends Keyed {
  /** Recorded with the move. */
  readonly reason?: string;
  /** The name of the person or program that does it on behalf of the host; at most 200 characters. None if missing. */
  readonly operator?: string;
}

/** Lets an instance run again, on behalf of the host. */
export interface ReleaseRequest extends Keyed {
  /** The status that it must have; any of them if missing. */
  readonly from?: "paused" | "failed";
  /** The name of the person or program that does it; at most 200 characters. */
  readonly operator: string;
  /** Why; at most 4,000 characters. */
  readonly note?: string;
}

/** Suspends an instance until it is resumed. */
export async function suspend(
  context: RoutedContext,
  id: string,
  { reason, operator, ...keyed }: RoutedMove,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "suspend", ...saidOf({ reason, operator }) }, keyed));
}

/**
 * Lets a suspended or failed instance run again on behalf of the host, and asks no decider: the next call continues with
 * an undecided report. A failed instance gets the whole number of attempts again.
 */
export async function release(
  context: RoutedContext,
  sessionId: string,
  { from, operator, note, idempotencyKey }: ReleaseRequest,
): Promise<RoutedView> {
  const id = parseSessionId(sessionId);
  requireText("operator", operator, NAME_MAX);
  if (note !== undefined) requireText("note", note);
  const said = { operator, note };
  const keyed =
    idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, ["release", from ?? null, said]);
  const prepare = (session: RoutedSession) => {
    const isSuspended = from === undefined ? session.head.status === "paused" : from === "paused";
    if (isSuspended) return { command: { type: "release", ...said } as const };
    const { maxAttemptsTotal } = context.options.limits;
    return withBeginning(context, session, { type: "retry", maxAttemptsTotal, ...said });
  };
  return viewNow(context, await executeOn(context, id, prepare, keyed));
}

/** Ends an instance permanently. */
export async function cancel(
  context: RoutedContext,
  id: string,
  { reason, ...keyed }: Omit<RoutedMove, "operator">,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "cancel", ...saidOf({ reason }) }, keyed));
}

/** Retries a failed instance: an undecided report is asked about again. */
export async function retry(
  context: RoutedContext,
  id: string,
  { signal, onAsk, ...keyed }: Keyed & FollowedDecision,
): Promise<RoutedResult> {
  const { maxAttemptsTotal } = context.options.limits;
  const moved = await move(context, id, { type: "retry", maxAttemptsTotal }, keyed, signal);
  const answered = moved.replayed ? await answerAfter(context, moved.sessionId, moved.version) : moved;
  const { pending, status } = answered.head;
  if (status !== "active" || pending === undefined || pending.awaiting !== undefined) {
    return resultOf(context, answered, moved.replayed);
  }
  const decided = await decidePending(context, answered, pending, { operation: "retry", signal, onAsk });
  return resultOf(context, decided, moved.replayed);
}

/** Hands an instance over to another owner. */
export async function assign(
  context: RoutedContext,
  id: string,
  owner: Owner,
  { by, note, ...keyed }: AssignRequest,
): Promise<RoutedView> {
  requireText("by", by, NAME_MAX);
  if (note !== undefined) requireText("note", note);
  const said = { by, note };
  return viewNow(context, await move(context, id, { type: "assign", owner: checkOwner(owner), ...said }, keyed));
}

/** Deletes an instance with a tombstone that records the reason; a damaged one for those who may operate on all. */
export async function remove(
  context: RoutedContext,
  id: string,
  said: Pick<RoutedMove, "reason" | "operator">,
): Promise<void> {
  const sessionId = parseSessionId(id);
  const tombstone = () => move(context, id, { type: "delete", ...saidOf(said) }, {});
  await context.kernel.delete(sessionId, tombstone, () => mayOperate(context.caller, "delete"));
}

/** Returns the state after a move; the current state, if an earlier call with the same key made the move. */
async function viewNow(
  context: RoutedContext,
  moved: RoutedCommit & { readonly replayed: boolean },
): Promise<RoutedView> {
  if (!moved.replayed) return viewInstance(context, moved);
  return { ...(await viewInstance(context, await requireInstance(context, moved.sessionId))), replayed: true };
}

type Move = Extract<RoutedCommand, { type: "suspend" | "cancel" | "retry" | "assign" | "delete" }>;

function move(
  context: RoutedContext,
  sessionId: string,
  command: Move,
  { idempotencyKey }: Keyed,
  signal?: AbortSignal,
) {
  const id = parseSessionId(sessionId);
  // A limit of the host's is no part of what the caller asks for: it may have changed when the call is repeated.
  const asked = command.type === "retry" ? { ...command, maxAttemptsTotal: undefined } : command;
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, asked);
  const prepare = (session: RoutedSession) => {
    if (signal?.aborted) throw cancelled(command.type);
    return command.type === "retry" ? withBeginning(context, session, command) : { command };
  };
  return executeOn(context, id, prepare, keyed, () => command.type === "delete");
}

/** Takes snapshots again where they failed before. */
async function withBeginning(
  context: RoutedContext,
  session: RoutedSession,
  command: Extract<Move, { type: "retry" }>,
) {
  const { step, baseline } = session.head;
  if (step === undefined || baseline === undefined) return { command };
  const { events } = await context.kernel.at(session.sessionId, baseline);
  const known = events.flatMap((event) => ("snapshots" in event ? (event.snapshots ?? []) : []));
  if (known.every(({ value }) => value !== undefined)) return { command };
  const structure = await context.pinned.structure(session);
  const { payloads, ...begun } = await beginStep(context, session, structure, step);
  return { command: { ...command, ...begun }, payloads };
}

function saidOf({ reason, operator }: { readonly [name in "reason" | "operator"]?: string | undefined }) {
  if (reason !== undefined && reason !== "") requireText("reason", reason);
  if (operator !== undefined) requireText("operator", operator, NAME_MAX);
  return { reason, operator };
}

/** A person's answer to what a step's gate waits for. */
export interface RoutedApproval extends Keyed {
  /** The name of the person, as the host and the gate know it. */
  readonly by: string;
  /** A comment; for a denial, what to fix. */
  readonly note?: string;
  /** The hash of the evidence that the person has seen. */
  readonly evidenceHash: string;
  /** The approver's signature, from `signApproval`. Required unless the host allows unsigned approvals. */
  readonly signature?: ApprovalSignature;
}

/** Takes a person's answer. Throws `APPROVAL_REFUSED`. */
export async function answerQuestion(
  context: RoutedContext,
  sessionId: string,
  decision: "approve" | "deny",
  { by, note, evidenceHash, signature, idempotencyKey }: RoutedApproval,
): Promise<RoutedView> {
  const id = parseSessionId(sessionId);
  requireText("by", by, NAME_MAX);
  if (decision === "deny" || (note !== undefined && note !== "")) requireText("note", note);
  const keyed =
    idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, [decision, by, note ?? null, evidenceHash]);
  const { maxAttempts, maxAttemptsTotal } = context.options.limits;
  const prepare = async (session: RoutedSession): Promise<{ command: RoutedCommand }> => {
    const question = await requireQuestion(context, session, evidenceHash);
    const given = { decision, by, note, signature };
    const found = await requireDecision(context.options.approvals, { ...question, sessionId: id }, given);
    const said = { by, evidenceHash, note, ...found };
    return { command: { type: decision, ...said, maxAttempts, maxAttemptsTotal } };
  };
  return viewNow(context, await executeOn(context, id, prepare, keyed));
}

const NAME_MAX = 200;
const TEXT_MAX = 4000;

function requireText(field: "by" | "note" | "operator" | "reason", text: unknown, most = TEXT_MAX): void {
  if (typeof text === "string" && !isInvisible(text) && text.length <= most) return;
  const expected = `a text of 1 to ${most.toLocaleString("en")} characters`;
  throw new PhasegateError("INVALID_INPUT", `'${field}' must be ${expected}`, {
    remedy: `Give '${field}': it is recorded with the decision.`,
    details: { field, expected },
  });
}

async function requireQuestion(context: RoutedContext, session: RoutedSession, evidenceHash: string) {
  const question = await questionOf(context, session);
  if (question === undefined) throw refused(0, "not_waiting", "the instance waits for no approval");
  if (question.evidenceHash === evidenceHash) return question;
  throw refused(question.phase, "other_evidence", "the instance waits for an approval of other evidence");
}

function refused(phase: number, reason: "not_waiting" | "other_evidence", message: string) {
  const remedy = "Read the instance's status again: it says what waits for a decision, and by whom.";
  return approvalRefused(message, remedy, { phase, reason });
}
