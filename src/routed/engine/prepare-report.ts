import { isJsonObject, type JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import type { Prepared } from "../../kernel/kernel.js";
import { matchName } from "../definition/match-name.js";
import type { ReportFacts, RoutedCommand } from "../session/commands.js";
import type { PendingDecision } from "../session/head.js";
import { notNow } from "../session/refusals.js";
import { stepOf } from "../session/structure.js";
import { judgeReport } from "./judge-report.js";
import { mergeContext } from "./merge-context.js";
import type { RoutedContext } from "./routed-context.js";
import type { RoutedSession } from "./routed-session.js";

/** A report as it was read, before anything is known of the session. */
export type HandedReport = Omit<ReportFacts, "context">;

/** The session stands where nothing is to be written: over, waiting for a person, or with a report not yet decided. */
export class NothingToWrite extends Error {
  readonly session: RoutedSession;

  constructor(session: RoutedSession) {
    super();
    this.session = session;
  }
}

/** What a report comes to where a session stands. Throws {@link NothingToWrite}, and what it is refused for. */
export async function prepareReport(
  context: RoutedContext,
  session: RoutedSession,
  handed: HandedReport,
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
function isSilent({ operation, report }: HandedReport): boolean {
  return operation === "resume" && report.details === undefined;
}

/** Whether the gate was passed by a report that no decider has answered: it isn't asked for the same again. */
function hasPassed(pending: PendingDecision | undefined, handed: HandedReport): boolean {
  return pending !== undefined && pending.awaiting === undefined && isSilent(handed);
}

/**
 * Whether a report that is not decided yet is gone on with. A client that comes back is heard: its word is an entry of its
 * own. Where a person is waited for, other evidence is another question.
 */
function isToGoOn(pending: PendingDecision | undefined, handed: HandedReport): boolean {
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
