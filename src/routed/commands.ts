/**
 * The operations that move an instance without a report: start, suspend, cancel, retry, delete, and a person's
 * decision. Everything that can fail is done before anything is written, except the decider's choice of the first step.
 */
import { requireDecision } from "../approval/decision.js";
import { type ApprovalSignature, approvalRefused } from "../approval/message.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Prepared } from "../log/log.js";
import { type KeyedRequest, keyedRequest, ownKey } from "../log/machine.js";
import type { Attributed } from "../phased/commands.js";
import { requireVerifiers } from "../phased/start-checks.js";
import type { Keyed } from "../phased/state/commands.js";
import { cancelled } from "../phased/verify/verify.js";
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
import { beginStep, decideAfter } from "./decide.js";
import { STATUS_WORDS } from "./decision/request.js";
import type { RoutedContext } from "./options.js";
import { type RoutedCommand, type RoutedStructure, structureOf } from "./state/events.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import type { FollowedDecision, RoutedResult, RoutedView, StartRoutedRequest } from "./types.js";
import { prepareOn, questionOf, requireInstance, requirePlace, resultOf, viewInstance } from "./views.js";

const STARTS: OptionChecks<StartRoutedRequest> = {
  workflow: text,
  context: anything,
  idempotencyKey: optionally(text),
  signal: optionally(having("an AbortSignal")),
  onAsk: optionally(callable),
};

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
    return await resultOf(context, await decideAfter(context, started, waiting), started.replayed);
  } catch (error) {
    throw withInstance(error, started.sessionId);
  }
}

/** Returns an error of a start with the instance that was created, so that its caller can retry it. */
function withInstance(error: unknown, sessionId: SessionId): unknown {
  if (!isPhasegateError(error)) return error;
  const { message, cause } = error;
  const more = <D extends object>(details: D) => ({ details: { ...details, sessionId }, cause });
  switch (error.code) {
    case "DECIDER_FAILED": {
      const remedy = "Retry the instance: the decider is asked for the first step again.";
      return new PhasegateError(error.code, message, { remedy, ...more(error.details) });
    }
    case "DEFINITION_UNAVAILABLE":
      return new PhasegateError(error.code, message, { remedy: error.remedy, ...more(error.details) });
    case "TOO_LARGE":
      return new PhasegateError(error.code, message, { remedy: error.remedy, ...more(error.details) });
    default:
      return error;
  }
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
  try {
    await requirePlace(context);
    await requireOwnPlace(context);
  } catch (error) {
    const mayBeRepeated = isPhasegateError(error, "SESSION_LIMIT") && keyed !== undefined;
    if (!mayBeRepeated || (await context.kernel.find(id)) === undefined) throw error;
  }
}

/** Lets an instance run again, on behalf of the host. */
export interface ReleaseRequest extends Attributed {
  /** The status that it must have; any of them if missing. */
  readonly from?: "paused" | "failed";
  readonly by: string;
}

/**
 * Lets a suspended or failed instance run again on behalf of the host, and asks no decider: the next call continues with
 * an undecided report. A failed instance gets the whole number of attempts again.
 */
export async function release(
  context: RoutedContext,
  id: string,
  { from, by, note, idempotencyKey }: ReleaseRequest,
): Promise<RoutedView> {
  requireName(by);
  requireNote(note);
  const said = { operator: by, note };
  const { maxAttemptsTotal } = context.options.limits;
  const decide = (session: RoutedSession) => {
    const isPaused = from === undefined ? session.head.status === "paused" : from === "paused";
    if (isPaused) return { command: { type: "release", ...said } as const };
    return withBeginning(context, session, { type: "retry", maxAttemptsTotal, ...said });
  };
  const asked = ["release", from === undefined ? null : STATUS_WORDS[from], said];
  return viewNow(context, await execute(context, id, decide, asked, idempotencyKey));
}

/** Moves an instance by a command that needs nothing else. */
export async function move(
  context: RoutedContext,
  id: string,
  command: Extract<RoutedCommand, { type: "suspend" | "cancel" | "assign" }>,
  key: string | undefined,
): Promise<RoutedView> {
  return viewNow(context, await execute(context, id, () => ({ command }), command, key));
}

/** Retries a failed instance: an undecided report is asked about again. */
export async function retry(
  context: RoutedContext,
  id: string,
  { signal, onAsk, idempotencyKey }: Keyed & FollowedDecision,
): Promise<RoutedResult> {
  const { maxAttemptsTotal } = context.options.limits;
  const decide = (session: RoutedSession) => {
    if (signal?.aborted) throw cancelled("retry");
    return withBeginning(context, session, { type: "retry", maxAttemptsTotal });
  };
  // A limit of the host is not part of the caller's request: it may have changed when the call is repeated.
  const moved = await execute(context, id, decide, { type: "retry" }, idempotencyKey);
  const answered = await decideAfter(context, moved, { operation: "retry", signal, onAsk });
  return resultOf(context, answered, moved.replayed);
}

/** Deletes an instance with a tombstone that records who did it and why; a damaged one for those who may operate on all. */
export async function remove(context: RoutedContext, id: string, { by, note }: Attributed): Promise<void> {
  requireSaid({ by, note });
  const command = { type: "delete", reason: note, operator: by } as const;
  const tombstone = () => execute(context, id, () => ({ command }), command, undefined);
  await context.kernel.delete(parseSessionId(id), tombstone, () => mayOperate(context.caller, "delete"));
}

/** Returns the state after a move; the current state, if an earlier call with the same key made the move. */
async function viewNow(
  context: RoutedContext,
  moved: RoutedCommit & { readonly replayed: boolean },
): Promise<RoutedView> {
  if (!moved.replayed) return viewInstance(context, moved);
  return { ...(await viewInstance(context, await requireInstance(context, moved.sessionId))), replayed: true };
}

/** Executes a command that `decide` makes; `asked` is what a repeated call with the same key has to ask for again. */
function execute(
  context: RoutedContext,
  sessionId: string,
  decide: (session: RoutedSession) => Promise<Prepared<RoutedCommand>> | Prepared<RoutedCommand>,
  asked: object,
  key: string | undefined,
) {
  const keyed = key === undefined ? undefined : keyedRequest(key, asked);
  const mayUndo = () => "type" in asked && asked.type === "delete";
  const id = parseSessionId(sessionId);
  return context.kernel.execute(id, prepareOn(context, id, decide, mayUndo), keyed);
}

/** Takes snapshots again where they failed before. */
async function withBeginning(
  context: RoutedContext,
  session: RoutedSession,
  command: Extract<RoutedCommand, { type: "retry" }>,
): Promise<Prepared<RoutedCommand>> {
  const { step, baseline } = session.head;
  if (step === undefined || baseline === undefined) return { command };
  const { events } = await context.kernel.at(session.sessionId, baseline);
  const known = events.flatMap((event) => ("snapshots" in event ? (event.snapshots ?? []) : []));
  if (known.every(({ value }) => value !== undefined)) return { command };
  const { payloads, ...begun } = await beginStep(context, session, await context.pinned.structure(session), step);
  return { command: { ...command, ...begun }, payloads };
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
  id: string,
  type: "approve" | "deny",
  { by, note, evidenceHash, signature, idempotencyKey }: RoutedApproval,
): Promise<RoutedView> {
  requireName(by);
  if (type === "deny") requireText("note", note, TEXT_MAX);
  else requireSaid({ note });
  const { maxAttempts, maxAttemptsTotal } = context.options.limits;
  const decide = async (session: RoutedSession): Promise<Prepared<RoutedCommand>> => {
    const question = await questionOf(context, session);
    if (question === undefined) throw refused(0, "not_waiting", "the instance waits for no approval");
    if (question.evidenceHash !== evidenceHash) {
      throw refused(question.phase, "other_evidence", "the instance waits for an approval of other evidence");
    }
    const found = await requireDecision(context.options.approvals, question, { decision: type, by, note, signature });
    return { command: { type, by, evidenceHash, note, ...found, maxAttempts, maxAttemptsTotal } };
  };
  return viewNow(context, await execute(context, id, decide, [type, by, note ?? null, evidenceHash], idempotencyKey));
}

function refused(phase: number, reason: "not_waiting" | "other_evidence", message: string) {
  const remedy = "Read the instance's status again: it says what waits for a decision, and by whom.";
  return approvalRefused(message, remedy, { phase, reason });
}

const TEXT_MAX = 4000;

function requireText(field: "by" | "note", text: unknown, most: number): void {
  if (typeof text === "string" && !isInvisible(text) && text.length <= most) return;
  const expected = `a text of 1 to ${most.toLocaleString("en")} characters`;
  throw new PhasegateError("INVALID_INPUT", `'${field}' must be ${expected}`, {
    remedy: `Give '${field}': it is recorded with the decision.`,
    details: { field, expected },
  });
}

/** Checks the name of who decides. */
export function requireName(by: unknown): void {
  requireText("by", by, 200);
}

/** Checks a note, which may be missing. */
export function requireNote(note: unknown): void {
  if (note !== undefined) requireText("note", note, TEXT_MAX);
}

/** Checks a name and a note where both may be missing, and the note empty. */
export function requireSaid({ by, note }: Pick<Attributed, "by" | "note">): void {
  if (by !== undefined) requireName(by);
  if (note !== "") requireNote(note);
}
