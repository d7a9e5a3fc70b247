import { canonicalJson } from "../../definition/canonical-json.js";
import { digest } from "../../definition/digest.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import { parseSessionId, shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import { keyedRequest } from "../../kernel/idempotency.js";
import type { Prepared } from "../../kernel/kernel.js";
import { matchName } from "../definition/match-name.js";
import type { ReportFacts, RoutedCommand } from "../session/commands.js";
import type { PendingDecision } from "../session/head.js";
import { notNow } from "../session/refusals.js";
import { stepOf } from "../session/structure.js";
import { checkReport } from "./check-report.js";
import { judgeReport } from "./judge-report.js";
import { mergeContext } from "./merge-context.js";
import type { RoutedContext } from "./routed-context.js";
import type { RoutedCommit, RoutedSession } from "./routed-session.js";
import { answerAfter, settle } from "./settle.js";
import type { AdvanceRequest, GateRefusal, ResumeRequest, RoutedResult } from "./types.js";
import { requireFound, resultOf } from "./view.js";

/** The session stands where nothing is to be written: over, waiting for a person, or with a report not yet decided. */
class NothingToWrite extends Error {
  readonly session: RoutedSession;

  constructor(session: RoutedSession) {
    super();
    this.session = session;
  }
}

/** While a report was on its way, another one was decided. */
class OvertakenError extends Error {
  readonly session: RoutedSession;

  constructor(session: RoutedSession) {
    super();
    this.session = session;
  }
}

/** A report as it was read, before anything is known of the session. */
interface Handed extends Omit<ReportFacts, "context"> {
  readonly key?: string;
}

/** Takes a report, and gives what is decided on it. */
export function advance(context: RoutedContext, id: string, request: AdvanceRequest): Promise<RoutedResult> {
  return take(context, id, handedIn(context, "advance", request));
}

/** The same for a client that comes back, which says where it thinks it was. */
export function resume(context: RoutedContext, id: string, request: ResumeRequest): Promise<RoutedResult> {
  const { assumedStep } = request;
  if (typeof assumedStep !== "string" || assumedStep.trim() === "" || assumedStep.length > 200) {
    throw new PhasegateError("INVALID_INPUT", `the assumed step must be a name, not ${shown(assumedStep)}`, {
      remedy: "Give the name of the step that you think you are on.",
      details: { field: "assumed_current_step_name", expected: "the name of a step" },
    });
  }
  return take(context, id, { ...handedIn(context, "resume", request, assumedStep), assumedStep });
}

function handedIn(
  { options }: RoutedContext,
  operation: "advance" | "resume",
  { report: given, contextUpdates: updates = {}, idempotencyKey }: AdvanceRequest,
  assumedStep?: string,
): Handed {
  const { maxReportBytes, maxContextBytes } = options.limits;
  const report = checkReport(given, maxReportBytes);
  const contextUpdates = mergeContext({}, updates, maxContextBytes).updates;
  const print = digest(canonicalJson([operation, assumedStep ?? null, report, contextUpdates]));
  return {
    operation,
    report,
    contextUpdates,
    digest: print,
    ...(idempotencyKey === undefined ? {} : { key: idempotencyKey }),
  };
}

async function take(context: RoutedContext, instanceId: string, { key, ...handed }: Handed): Promise<RoutedResult> {
  const id = parseSessionId(instanceId);
  const keyed = key === undefined ? undefined : keyedRequest(key, [handed.operation, handed.digest]);
  let decided: number | undefined;
  try {
    const taken = await context.kernel.execute(
      id,
      (current) => {
        const session = requireFound(current, id);
        const { version = 0 } = session.head.answered ?? {};
        decided ??= version;
        // A report is on the step that its client was at: it must not be taken for the next one.
        if (version !== decided) throw new OvertakenError(session);
        return prepare(context, session, handed);
      },
      keyed,
    );
    return await answerOf(context, taken, taken.replayed);
  } catch (error) {
    if (error instanceof NothingToWrite) return goOn(context, error.session, handed);
    if (error instanceof OvertakenError) return overtaken(context, error.session, handed);
    throw error;
  }
}

async function prepare(
  context: RoutedContext,
  session: RoutedSession,
  handed: Omit<Handed, "key">,
): Promise<Prepared<RoutedCommand>> {
  const { head } = session;
  if (head.status === "COMPLETED" || head.status === "FAILED") throw new NothingToWrite(session);
  if (head.status === "SUSPENDED" && handed.operation === "advance") throw notNow(head, "advance");
  if (head.step === undefined) return takeUp(context, session);
  if (isToGoOn(head.pending, handed)) throw new NothingToWrite(session);
  requireCurrent(handed.report, head.step);
  const structure = await context.pinned.structure(session);
  const merged = mergeContext(head.context, handed.contextUpdates, context.options.limits.maxContextBytes);
  const facts = { ...handed, context: merged.context };
  const step = stepOf(structure, head.step);
  if (step?.gate === undefined || hasPassed(head.pending, handed)) return { command: { type: "report", ...facts } };
  const details = isJsonObject(handed.report.details) ? handed.report.details : {};
  const { gate } = step;
  const { verdict, verification, evidenceHash } = await judgeReport(
    context,
    session,
    structure,
    { ...step, gate },
    details,
  );
  const found = verification === undefined ? {} : { verification };
  if (!verdict.passed) {
    const { maxAttempts, maxAttemptsTotal } = context.options.limits;
    const limits = { maxAttempts, maxAttemptsTotal };
    // Who comes back and shows nothing has tried nothing, unless checks were run for it.
    const counted = verification !== undefined || !isSilent(handed);
    return { command: { type: "refuse", ...facts, problems: verdict.problems, ...found, counted, ...limits } };
  }
  const approval = gate.approval === undefined ? {} : { approval: { question: gate.approval, evidenceHash } };
  return { command: { type: "report", ...facts, warnings: verdict.warnings, ...found, ...approval } };
}

/** Before the first step is decided there is nothing to report on: a client that comes back wakes the question up. */
function takeUp({ options }: RoutedContext, session: RoutedSession): Prepared<RoutedCommand> {
  if (session.head.status !== "SUSPENDED") throw new NothingToWrite(session);
  return { command: { type: "retry", maxAttemptsTotal: options.limits.maxAttemptsTotal } };
}

/** Whether a client says no more than that it is back. */
function isSilent({ operation, report }: Omit<Handed, "key">): boolean {
  return operation === "resume" && report.details === undefined;
}

/** Whether the gate was passed by a report that no decider has answered: it isn't asked for the same again. */
function hasPassed(pending: PendingDecision | undefined, handed: Omit<Handed, "key">): boolean {
  return pending !== undefined && pending.awaiting === undefined && isSilent(handed);
}

/**
 * Whether a report that is not decided yet is gone on with. A client that comes back is heard: its word is an entry of its
 * own. Where a person is waited for, other evidence is another question.
 */
function isToGoOn(pending: PendingDecision | undefined, handed: Omit<Handed, "key">): boolean {
  if (pending === undefined) return false;
  if (pending.digest === handed.digest) return true;
  return handed.operation === "advance" && pending.awaiting === undefined;
}

/** A client that is mistaken about where it is must not have its report taken for another step's. */
function requireCurrent({ step_id: requested }: JsonObject, current: string): void {
  if (requested === undefined || requested === null) return;
  if (typeof requested === "string" && matchName(requested, [current]) !== undefined) return;
  throw new PhasegateError("STEP_NOT_CURRENT", `the report is on ${shown(requested)}; the current step is ${current}`, {
    remedy: `Report on ${current}, or call resume and say where you think you are.`,
    details: { requested: String(requested), current },
  });
}

/** Answers where nothing was written. */
async function goOn(
  context: RoutedContext,
  session: RoutedSession,
  handed: Omit<Handed, "key">,
): Promise<RoutedResult> {
  const { head } = session;
  const { pending } = head;
  if (head.status !== "RUNNING" || pending === undefined || pending.awaiting !== undefined) {
    return resultOf(context, session, pending?.digest === handed.digest);
  }
  const answered = await settle(context, session, pending);
  if (pending.digest === handed.digest) return resultOf(context, answered, true);
  // A client that comes back before there is a first step has asked for it, and reported on none.
  if (pending.operation === "start" && handed.operation === "resume") return decidedResult(context, answered, false);
  throw decidedFirst(answered);
}

/** Who handed in what was decided shares the answer; any other report is on a step that is behind the session. */
async function overtaken(context: RoutedContext, session: RoutedSession, handed: Omit<Handed, "key">) {
  const { answered } = session.head;
  if (answered?.digest !== handed.digest) throw decidedFirst(session);
  return decidedResult(context, await context.kernel.at(session.sessionId, answered.version), true);
}

function decidedFirst({ sessionId, version, head }: RoutedSession): PhasegateError<"CONFLICT"> {
  const current = head.step ?? "";
  return new PhasegateError("CONFLICT", `another report was decided first: the current step is ${current}`, {
    remedy: `This report was not taken. Ask for the status, and report on ${current} once it is done.`,
    details: { sessionId, version },
  });
}

/** What a report that was taken led to: what its gate said, or what was decided on it. */
async function answerOf(context: RoutedContext, taken: RoutedCommit, replayed: boolean): Promise<RoutedResult> {
  const refused = gateRefusal(context, taken);
  if (refused !== undefined) return { ...(await resultOf(context, taken, replayed)), gate: refused };
  const answered = replayed ? await answerAfter(context, taken.sessionId, taken.version) : taken;
  const { pending } = answered.head;
  if (pending === undefined) return decidedResult(context, answered, replayed);
  if (answered.head.status !== "RUNNING" || pending.awaiting !== undefined)
    return resultOf(context, answered, replayed);
  return decidedResult(context, await settle(context, answered, pending), replayed);
}

async function decidedResult(context: RoutedContext, commit: RoutedCommit, replayed: boolean): Promise<RoutedResult> {
  const decided = commit.events.find(({ type }) => type === "decided");
  const reasoning = decided?.type === "decided" ? decided.reasoning : undefined;
  return { ...(await resultOf(context, commit, replayed)), ...(reasoning === undefined ? {} : { reasoning }) };
}

function gateRefusal({ options }: RoutedContext, { events }: RoutedCommit): GateRefusal | undefined {
  const refused = events.find(({ type }) => type === "gate_refused");
  if (refused?.type !== "gate_refused") return undefined;
  const { attempt, problems, verification = [] } = refused;
  return { attempt, maxAttempts: options.limits.maxAttempts, problems, verification };
}
