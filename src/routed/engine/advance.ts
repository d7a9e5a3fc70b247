import { canonicalJson } from "../../definition/canonical-json.js";
import { digest } from "../../definition/digest.js";
import { singleLine } from "../../definition/folder/report.js";
import { parseSessionId, shown } from "../../definition/names.js";
import { visibleText } from "../../definition/visible-text.js";
import { PhasegateError } from "../../errors.js";
import { keyedRequest } from "../../kernel/idempotency.js";
import { executeOn, isStillThere } from "./believed.js";
import { checkReport } from "./check-report.js";
import { mergeContext } from "./merge-context.js";
import { type HandedReport, NothingToWrite, prepareReport } from "./prepare-report.js";
import type { RoutedContext } from "./routed-context.js";
import type { RoutedCommit, RoutedSession } from "./routed-session.js";
import { answerAfter, settle } from "./settle.js";
import type { AdvanceRequest, GateRefusal, ResumeRequest, RoutedResult } from "./types.js";
import { resultOf } from "./view.js";

/** While a report was on its way, another one was decided. */
class OvertakenError extends Error {
  readonly session: RoutedSession;

  constructor(session: RoutedSession) {
    super();
    this.session = session;
  }
}

/** A report as it was read, with the key that its call may have. */
interface Handed extends HandedReport {
  readonly key?: string;
}

/** Takes a report, and gives what is decided on it. */
export function advance(context: RoutedContext, id: string, request: AdvanceRequest): Promise<RoutedResult> {
  return take(context, id, handedIn(context, "advance", request));
}

/** The same for a client that comes back, which says where it thinks it was. */
export function resume(context: RoutedContext, id: string, request: ResumeRequest): Promise<RoutedResult> {
  const { assumedStep: given } = request;
  if (typeof given !== "string" || visibleText(given) === "" || given.length > 200) {
    throw new PhasegateError("INVALID_INPUT", `the assumed step must be a name, not ${shown(given)}`, {
      remedy: "Give the name of the step that you think you are on.",
      details: { field: "assumed_current_step_name", expected: "the name of a step" },
    });
  }
  // A name is one line: it is shown to people and compared with the names of steps.
  const assumedStep = singleLine(given.trim());
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
    const taken = await executeOn(
      context,
      id,
      (session) => {
        const { version = 0 } = session.head.answered ?? {};
        decided ??= version;
        // A report is on the step that its client was at: it must not be taken for the next one.
        if (version !== decided) throw new OvertakenError(session);
        return prepareReport(context, session, handed);
      },
      keyed,
      // Who comes back with the details of the step has a person asked again.
      (unapproved, session) => handed.operation === "resume" && isStillThere(unapproved, session),
    );
    return await answerOf(context, taken, taken.replayed);
  } catch (error) {
    if (error instanceof NothingToWrite) return goOn(context, error.session, handed);
    if (error instanceof OvertakenError) return overtaken(context, error.session, handed);
    throw error;
  }
}

/** Answers where nothing was written. */
async function goOn(context: RoutedContext, session: RoutedSession, handed: HandedReport): Promise<RoutedResult> {
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
async function overtaken(context: RoutedContext, session: RoutedSession, handed: HandedReport) {
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
  const result = await resultOf(context, commit, replayed);
  return reasoning === undefined || result.unapproved !== undefined ? result : { ...result, reasoning };
}

function gateRefusal({ options }: RoutedContext, { events }: RoutedCommit): GateRefusal | undefined {
  const refused = events.find(({ type }) => type === "gate_refused");
  if (refused?.type !== "gate_refused") return undefined;
  const { attempt, problems, verification = [] } = refused;
  return { attempt, maxAttempts: options.limits.maxAttempts, problems, verification };
}
