/**
 * Takes reports on steps. A report is stored before the decider is asked about it. A report on a step that
 * is no longer current is refused; a repeated one gets the earlier answer; a client that comes back without
 * a report wakes the pending question.
 */
import { hashEvidence } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { keyedRequest } from "../log/machine.js";
import type { Keyed } from "../phased/state/commands.js";
import { cancelled, type Followed } from "../phased/verify/verify.js";
import { isInvisible } from "../workflow/field-types.js";
import { singleLine } from "../workflow/hidden.js";
import { anything, callable, checkOptions, type OptionChecks, optionally, text } from "../workflow/host-options.js";
import { canonicalJson, digest, isJsonObject, type JsonObject } from "../workflow/json.js";
import { parseSessionId, shown } from "../workflow/names.js";
import { stepsMeant } from "../workflow/routed-definition.js";
import { detailsOf } from "./approvals.js";
import { mergeContext, readContext, readPlain } from "./ask-decider.js";
import type { Waiting } from "./asking.js";
import { decideAfter, decidePending, judgeReport } from "./decide.js";
import type { RoutedContext } from "./options.js";
import {
  eventIn,
  type PendingDecision,
  type PinnedStep,
  type ReportFacts,
  type RoutedCommand,
  type RoutedHead,
  stepOf,
} from "./state/events.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import { notNow } from "./state/transition.js";
import type { AdvanceRequest, FollowedReport, ResumeRequest, RoutedResult, UnapprovedStep } from "./types.js";
import { isStillThere, prepareOn, resultOf } from "./views.js";

export function advance(context: RoutedContext, id: string, request: AdvanceRequest): Promise<RoutedResult> {
  return take(context, id, handedIn(context, "advance", request), request);
}

/** Takes the report of a client that comes back and says which step it assumes. */
export function resume(context: RoutedContext, id: string, request: ResumeRequest): Promise<RoutedResult> {
  const { assumedStep: given } = request;
  if (typeof given !== "string" || isInvisible(given) || given.length > 200) {
    throw new PhasegateError("INVALID_INPUT", `the assumed step must be a name, not ${shown(given)}`, {
      remedy: "Give the name of the step that you think you are on.",
      details: { field: "assumed_current_step_name", expected: "the name of a step" },
    });
  }
  // One line: it is shown to people and compared with the names of steps.
  return take(context, id, handedIn(context, "resume", request, singleLine(given.trim())), request);
}

/** A report as it was read, before the session is known. */
type HandedReport = Omit<ReportFacts, "context">;

/** A report for which nothing is written: the session is over, waits for a person, or has an undecided report. */
interface NotTaken {
  readonly session: RoutedSession;
  /** True if another report was decided meanwhile, and led to another step: this one is not about that step. */
  readonly isOvertaken: boolean;
}

async function take(
  context: RoutedContext,
  sessionId: string,
  handed: HandedReport,
  followed: FollowedReport & Keyed,
): Promise<RoutedResult> {
  const id = parseSessionId(sessionId);
  const { operation } = handed;
  const { signal, onAsk, idempotencyKey: key } = followed;
  const waiting = { operation, signal, onAsk };
  const keyed = key === undefined ? undefined : keyedRequest(key, [operation, handed.digest]);
  let first: RoutedHead | undefined;
  const prepare = async (session: RoutedSession, unapproved?: UnapprovedStep) => {
    first ??= session.head;
    const isOvertaken = session.head.answered?.version !== first.answered?.version;
    const command = isOvertaken ? undefined : await commandFor(context, session, unapproved, handed, followed);
    // The key of a report that is recorded already is recorded, too: else its repetition would be a new report.
    const isKept = command === undefined && keyed !== undefined && unapproved === undefined;
    const of = isKept ? recordedAs(session, isOvertaken, handed) : undefined;
    const written = of === undefined ? command : { type: "continue" as const, operation, of };
    if (written === undefined) return { answer: { session, isOvertaken } };
    if (signal?.aborted) throw cancelled(operation);
    return { command: written };
  };
  // A client that comes back with the step's details asks the person again.
  const mayUndo = (unapproved: UnapprovedStep, session: RoutedSession) =>
    operation === "resume" && isStillThere(unapproved, session);
  const taken = await context.kernel.execute(id, prepareOn<NotTaken>(context, id, prepare, mayUndo), keyed);
  // A client that comes back before the first step asks for it, and reports on none.
  const isAsking = operation === "resume" && first?.step === undefined;
  if ("answer" in taken) return answerUnwritten(context, taken.answer, handed, { ...waiting, isAsking });
  const continued = eventIn(taken, "continued");
  if (continued === undefined) return answerOf(context, taken, waiting);
  return answerOf(context, { ...(await context.kernel.at(id, continued.of)), replayed: true }, waiting);
}

/** Returns the commit that answers a call whose report a session has already; undefined if it has not, or is over. */
function recordedAs({ head }: RoutedSession, isOvertaken: boolean, { digest }: HandedReport): number | undefined {
  const { status, answered, pending } = head;
  if (status === "completed") return undefined;
  if (isOvertaken) return answered?.digest === digest ? answered.version : undefined;
  // While a person is awaited a client may ask often, with a key each, and gets no final answer.
  return pending?.digest === digest && pending.awaiting === undefined ? pending.version : undefined;
}

/**
 * Returns the command for a report in the session's current state; undefined if nothing is written. Throws the refusal of
 * the report. A report that was passed with an approval that this host does not accept is not continued.
 */
async function commandFor(
  context: RoutedContext,
  session: RoutedSession,
  unapproved: UnapprovedStep | undefined,
  handed: HandedReport,
  followed: Followed,
): Promise<RoutedCommand | undefined> {
  const { head } = session;
  const { limits } = context.options;
  const { maxAttempts, maxAttemptsTotal } = limits;
  if (head.status === "completed" || head.status === "failed") return undefined;
  if (head.status === "paused" && handed.operation === "advance") throw notNow(head, "advance");
  // Before the first step there is nothing to report on: a client that comes back wakes the pending question.
  if (head.step === undefined) return head.status === "paused" ? { type: "retry", maxAttemptsTotal } : undefined;
  if (unapproved === undefined && continuesPending(head, handed)) return undefined;
  const structure = await context.pinned.structure(session);
  requireCurrent(handed.report, head.step, structure.steps);
  const facts = { ...handed, context: mergeContext(head.context, handed.contextUpdates, limits.maxContextBytes) };
  const step = stepOf(structure, head.step);
  const isPassed = unapproved === undefined && hasPassed(head.pending, handed);
  if (step?.gate === undefined || isPassed) return { type: "report", ...facts };
  const { gate } = step;
  const details = detailsOf(handed.report);
  const gated = { ...step, gate };
  const { verdict, verification } = await judgeReport(context, session, structure, gated, details, followed);
  if (!verdict.passed) {
    // A client that comes back without details has made no attempt, unless verifiers were run.
    const counted = verification !== undefined || !isSilent(handed);
    const { problems } = verdict;
    return { type: "refuse", ...facts, problems, verification, counted, maxAttempts, maxAttemptsTotal };
  }
  const approval = gate.approval && { ...gate.approval, evidenceHash: hashEvidence(details) };
  return { type: "report", ...facts, warnings: verdict.warnings, verification, approval };
}

/**
 * Returns true if the undecided report is continued. A client that comes back adds an entry of its own.
 * While a person is awaited, other evidence is a new question.
 */
function continuesPending({ pending, status }: RoutedHead, handed: HandedReport): boolean {
  // A suspended instance runs again with the report of the client that comes back, also if it is the same one.
  if (pending === undefined || status === "paused") return false;
  if (pending.digest === handed.digest) return true;
  return handed.operation === "advance" && pending.awaiting === undefined;
}

/** Refuses a report for another step than the current one. */
function requireCurrent({ step_id: requested }: JsonObject, current: string, steps: readonly PinnedStep[]): void {
  if (requested === undefined || requested === null) return;
  const meant = typeof requested === "string" ? stepsMeant(requested, steps) : [];
  if (meant.length === 1 && meant[0] === current) return;
  throw new PhasegateError("STEP_NOT_CURRENT", `the report is on ${shown(requested)}; the current step is ${current}`, {
    remedy: `Report on ${current}, or call resume and say where you think you are.`,
    details: { requested: typeof requested === "string" ? requested : shown(requested), current },
  });
}

/** Returns true if the gate was passed by an undecided report: the same evidence is not required again. */
function hasPassed(pending: PendingDecision | undefined, handed: HandedReport): boolean {
  if (pending === undefined || pending.awaiting !== undefined) return false;
  return isSilent(handed) || pending.digest === handed.digest;
}

/** Returns true if a client says only that it is back. */
function isSilent({ operation, report }: HandedReport): boolean {
  return operation === "resume" && report.details === undefined;
}

/** Returns the answer to a stored report: its gate's refusal, or the decision. */
async function answerOf(
  context: RoutedContext,
  taken: RoutedCommit & { readonly replayed: boolean },
  waiting: Waiting,
): Promise<RoutedResult> {
  const { replayed } = taken;
  const refused = eventIn(taken, "gate_refused");
  if (refused !== undefined) {
    const { attempt, problems, verification = [] } = refused;
    const { maxAttempts } = context.options.limits;
    return { ...(await resultOf(context, taken, replayed)), gate: { attempt, maxAttempts, problems, verification } };
  }
  return decidedResult(context, await decideAfter(context, taken, waiting), replayed);
}

async function decidedResult(context: RoutedContext, commit: RoutedCommit, replayed: boolean): Promise<RoutedResult> {
  const result = await resultOf(context, commit, replayed);
  return result.unapproved === undefined ? { ...result, reasoning: eventIn(commit, "decided")?.reasoning } : result;
}

async function answerUnwritten(
  context: RoutedContext,
  { session, isOvertaken }: NotTaken,
  handed: HandedReport,
  { isAsking, ...waiting }: Waiting & { readonly isAsking: boolean },
): Promise<RoutedResult> {
  const { status, pending, answered } = session.head;
  if (isOvertaken) {
    // The sender of the report that was decided gets its answer, and so does a client that asks for the first step.
    const isOwn = answered?.digest === handed.digest;
    if (answered === undefined || !(isOwn || isAsking)) throw decidedBefore(session);
    return decidedResult(context, await context.kernel.at(session.sessionId, answered.version), isOwn);
  }
  const isOwn = pending?.digest === handed.digest;
  if (status !== "active" || pending === undefined || pending.awaiting !== undefined) {
    return resultOf(context, session, isOwn);
  }
  const decided = await decidePending(context, session, pending, waiting);
  if (isOwn) return resultOf(context, decided, true);
  if (isAsking) return decidedResult(context, decided, false);
  throw decidedBefore(decided);
}

/** The refusal of a report that is on a step behind the current one. */
function decidedBefore({ sessionId, version, head }: RoutedSession): PhasegateError<"CONFLICT"> {
  const current = head.step ?? "";
  return new PhasegateError("CONFLICT", `another report was decided first: the current step is ${current}`, {
    remedy: `This report was not taken. Ask for the status, and report on ${current} once it is done.`,
    details: { sessionId, version },
  });
}

const REPORTS: OptionChecks<Partial<ResumeRequest>> = {
  // Report, context and step have checks of their own, which say more.
  report: anything,
  contextUpdates: anything,
  assumedStep: anything,
  idempotencyKey: optionally(text),
  signal: anything,
  onAsk: optionally(callable),
  onCheck: optionally(callable),
};

function handedIn(
  { options }: RoutedContext,
  operation: "advance" | "resume",
  request: AdvanceRequest,
  assumedStep?: string,
): HandedReport {
  checkOptions<Partial<ResumeRequest>>(operation, request, REPORTS);
  const { report: given, contextUpdates: updates = {} } = request;
  const report = checkReport(given, options.limits.maxReportBytes);
  const contextUpdates = readContext(updates, options.limits.maxContextBytes);
  const print = digest(canonicalJson([operation, assumedStep ?? null, report, contextUpdates]));
  return { operation, assumedStep, report, contextUpdates, digest: print };
}

const DEPTH_MAX = 64;

/** Reads a report: a copy in which each value was read once. Throws `INVALID_INPUT` with the field. */
function checkReport(value: unknown, maxBytes: number): JsonObject {
  const report = readPlain(value, { maxBytes, maxDepth: DEPTH_MAX }, "report", {
    remedy: `Give the report as plain JSON, an object of at most ${maxBytes} bytes with a status.`,
    details: { field: "report", expected: "an object" },
  });
  // The report is a copy already.
  if (report.details === null) delete report.details;
  if (report.message === null) delete report.message;
  const { status, details, message, error } = report;
  if (typeof status !== "string" || status.trim() === "") {
    throw wrong("report.status", "a text such as success", status);
  }
  if (details !== undefined && !isJsonObject(details)) throw wrong("report.details", "an object", details);
  if (message !== undefined && typeof message !== "string") throw wrong("report.message", "a text", message);
  if (error !== undefined && error !== null && typeof error !== "string") {
    throw wrong("report.error", "a text or null", error);
  }
  return report;
}

function wrong(field: string, expected: string, got: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} must be ${expected}, not ${shown(got)}`, {
    remedy: 'Report as {"status": "success", "details": {…}, "message": "…", "error": null}.',
    details: { field, expected },
  });
}
