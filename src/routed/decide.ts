/**
 * Has the pending report of a session decided. The decider is asked once at a time per report; concurrent calls wait for
 * its answer, and the last one that ends stops it. A failure of the decider or of the workflow's texts is recorded before
 * it is thrown. Before that, a report's details go to the gate of its step, by the same rules as the evidence of a phase:
 * rules first, verifiers only if nothing else is wrong.
 */
import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import { measuredOutcome } from "../gate/format.js";
import { type Judged, judge } from "../gate/judge.js";
import type { Snapshot, Verification } from "../phased/state/events.js";
import { beginPhase } from "../phased/verify/snapshots.js";
import { type Followed, verifyEvidence } from "../phased/verify/verify.js";
import type { Payload } from "../ports/storage-adapter.js";
import { singleLine } from "../workflow/hidden.js";
import type { JsonObject } from "../workflow/json.js";
import { FINISH, type RoutedDefinition, type RoutedStep, stepsMeant } from "../workflow/routed-definition.js";
import type { FieldGate } from "../workflow/structure.js";
import { askDecider, type Decided } from "./ask-decider.js";
import type { DeciderWait, Waiting } from "./asking.js";
import type { DecisionRequest, RoutedHistoryEntry, StepReport } from "./decision/request.js";
import type { RoutedContext } from "./options.js";
import {
  allowedNext,
  eventIn,
  type PendingDecision,
  type PinnedStep,
  type RoutedHead,
  type RoutedStructure,
  stepOf,
} from "./state/events.js";
import type { RoutedEntry } from "./state/history.js";
import type { RoutedCommit, RoutedSession } from "./state/machine.js";
import { noInstance } from "./state/transition.js";

/**
 * Has the pending report decided; returns the commit with the decision, which another process may have made. Throws
 * `CANCELLED` when the caller ends the call: the report stays pending.
 */
export async function decidePending(
  context: RoutedContext,
  session: RoutedSession,
  pending: PendingDecision,
  waiting: Waiting,
): Promise<RoutedCommit> {
  const { asking, caller, hostKernel } = context;
  // The answer counts for all callers that wait for it, even if the instance has a new owner by then.
  const host = context.kernel === hostKernel ? context : { ...context, kernel: hostKernel };
  const ask = (wait: DeciderWait, close: () => void) => decide(host, session, pending, wait, close);
  let decided = await asking.answer(session, pending.version, ask, waiting);
  // A call about an outdated state gets what followed it, perhaps from before the retry that has joined the question.
  while (decided.version < session.version) decided = await asking.answer(session, pending.version, ask, waiting);
  // Meanwhile it may have been handed over to somebody else.
  const { sessionId } = session;
  if (caller !== undefined && (await context.kernel.find(sessionId)) === undefined) throw noInstance(sessionId);
  return decided;
}

/**
 * Returns the commit with the decision on the report at a version; if a resume has replaced that report, on the
 * replacement. Returns the newest commit if nothing is decided yet.
 */
async function answerAfter(
  { kernel }: RoutedContext,
  sessionId: RoutedCommit["sessionId"],
  version: number,
): Promise<RoutedCommit> {
  let last = await kernel.at(sessionId, version);
  if (last.head.pending === undefined) return last;
  for await (const commit of kernel.log(sessionId, { version, hash: last.hash })) {
    last = commit;
    if (commit.head.pending === undefined) break;
  }
  return last;
}

/**
 * Returns the commit that answers a call: the one with the decision, for which the decider is asked if the commit has left a
 * question to it. A repeated call gets the first one's answer.
 */
export async function decideAfter(
  context: RoutedContext,
  taken: RoutedCommit & { readonly replayed: boolean },
  waiting: Waiting,
): Promise<RoutedCommit> {
  const answered = taken.replayed ? await answerAfter(context, taken.sessionId, taken.version) : taken;
  const { status, pending } = answered.head;
  if (status !== "active" || pending === undefined || pending.awaiting !== undefined) return answered;
  return decidePending(context, answered, pending, waiting);
}

/** Returns the current texts of a workflow. Throws `DEFINITION_UNAVAILABLE` if they can't be read. */
export async function loadTexts(
  { options, notifications }: RoutedContext,
  workflow: string,
): Promise<RoutedDefinition> {
  try {
    const definition = await options.workflows.definition(workflow);
    if (definition !== undefined) return definition;
  } catch (error) {
    if (isPhasegateError(error)) throw unavailable(workflow, error.message, error);
    // A foreign error may contain paths: only the host gets it.
    notifications.notify("internalError", { operation: "definition", error });
    throw unavailable(workflow, "its texts can't be read", error);
  }
  throw unavailable(workflow, "there is no such workflow any more");
}

/** Returns a step's instructions. Throws `DEFINITION_UNAVAILABLE` if the step is gone. */
export function instructionsOf({ name: workflow, steps }: RoutedDefinition, name: string): string {
  const step = steps.find((one) => one.name === name);
  if (step !== undefined) return step.instructions;
  throw unavailable(workflow, `it has no step ${name} any more`);
}

/** The errors that fail an instance. An unreadable storage is not among them: the next call continues. */
const RECORDED: ReadonlySet<ErrorCode> = new Set(["DECIDER_FAILED", "DEFINITION_UNAVAILABLE", "TOO_LARGE"]);

async function decide(
  context: RoutedContext,
  session: RoutedSession,
  pending: PendingDecision,
  wait: DeciderWait,
  close: () => void,
): Promise<RoutedCommit> {
  const { sessionId } = session;
  const structure = await context.pinned.structure(session);
  await context.approvals.check(session, structure);
  const { clock } = context.options;
  const begun = clock.elapsed();
  let decided: Decided;
  try {
    const definition = await loadTexts(context, structure.name);
    const request = await requestFor(context, session, pending, structure, definition);
    const { deciderDeadlineMs: deadlineMs, maxContextBytes } = context.options.limits;
    decided = await askDecider(context.options.decider, request, { deadlineMs, maxContextBytes, clock, wait });
  } catch (error) {
    if (!isPhasegateError(error) || !RECORDED.has(error.code)) throw error;
    // A retry may come as soon as the failure is recorded: it must not wait for the answer of this question.
    close();
    throw await recordFailure(context, session, pending, error, Math.round(clock.elapsed() - begun));
  }
  const { next } = decided;
  // Coming back to the current step does not enter it again.
  const stays = pending.operation === "resume" && next === session.head.step;
  const entered = stays ? undefined : stepOf(structure, next);
  const counted = entered?.maxVisits !== undefined;
  const command = { type: "decide" as const, pending: pending.version, ...decided, counted, stays };
  const begin = async () => {
    const { payloads, ...begun } = await beginStep(context, session, structure, next);
    return { command: { ...command, ...begun }, payloads };
  };
  const prepare = (current: RoutedSession | undefined) => {
    if (!isPending(current?.head, pending)) return ANSWERED;
    return entered?.gate === undefined ? { command } : begin();
  };
  // This engine read or wrote the question itself: the append detects if it is outdated.
  const commit = await context.kernel.execute(sessionId, prepare, undefined, { trustsHead: true });
  return "answer" in commit ? answerAfter(context, sessionId, pending.version) : commit;
}

/** Another writer has answered the question meanwhile. */
const ANSWERED = { answer: "answered already" } as const;

function unavailable(workflow: string, why: string, cause?: unknown): PhasegateError<"DEFINITION_UNAVAILABLE"> {
  return new PhasegateError("DEFINITION_UNAVAILABLE", `the workflow ${workflow} could not be loaded: ${why}`, {
    remedy: "Ask the author to fix the workflow's files, then retry.",
    details: { workflowType: workflow },
    cause,
  });
}

async function requestFor(
  context: RoutedContext,
  session: RoutedSession,
  pending: PendingDecision,
  structure: RoutedStructure,
  workflow: RoutedDefinition,
): Promise<DecisionRequest> {
  const { head, sessionId } = session;
  const entries = await context.recent.at(session);
  const asked = entries.at(-1)?.version === pending.version ? entries.at(-1) : undefined;
  const shown = context.options.historyShown;
  const history = (asked === undefined ? entries : entries.slice(0, -1)).filter(({ stepName }) => stepName !== "");
  const following = new Set(allowedNext(structure, head.step, head.visits));
  // A client that comes back may stay on its step, even if `next` does not allow it.
  if (pending.operation === "resume" && head.step !== undefined) following.add(head.step);
  const exists = (name: string) => name === FINISH || workflow.steps.some((step) => step.name === name);
  const allowed = [...following].filter(exists);
  if (allowed.length === 0) throw nowhere(head);
  return {
    operation: pending.operation,
    sessionId,
    workflow,
    allowed,
    currentStep: head.step,
    assumedStep: pending.assumedStep && assumedStepOf(pending.assumedStep, workflow.steps),
    status: "active",
    context: head.context,
    history: shown === 0 ? [] : history.slice(-shown).map((entry) => asHistory(entry, workflow.steps)),
    report: asked === undefined ? await reportOf(context, session, pending) : asked.report,
  };
}

function nowhere({ step }: RoutedHead): PhasegateError<"DECIDER_FAILED"> {
  return new PhasegateError("DECIDER_FAILED", `nothing may follow ${step ?? "the start"} any more`, {
    remedy: "Every step that may follow was entered as often as its max_visits allows: start a new instance.",
    details: { reason: "unavailable", retryable: false },
  });
}

/** Returns the step that a client means, by its name in the definition; the client's own text if there is none. */
function assumedStepOf(assumed: string, steps: readonly RoutedStep[]): string {
  const line = singleLine(assumed);
  const [meant = line, ...others] = stepsMeant(line, steps);
  return others.length === 0 ? meant : line;
}

function asHistory(entry: RoutedEntry, steps: readonly RoutedStep[]): RoutedHistoryEntry {
  const { timestamp, stepName, report, outcomeStatus, determinedNextStep } = entry;
  const assumed = entry.assumedStep === undefined ? undefined : assumedStepOf(entry.assumedStep, steps);
  // A client's own words are not repeated.
  const assumedStep = steps.some(({ name }) => name === assumed) ? assumed : undefined;
  return { timestamp, stepName, assumedStep, report, outcomeStatus, determinedNextStep };
}

/** Reads a report whose entry is no longer among the last ones. */
async function reportOf(
  { kernel }: RoutedContext,
  { sessionId }: RoutedSession,
  { version, operation }: PendingDecision,
): Promise<StepReport | undefined> {
  if (operation === "start") return undefined;
  const report = eventIn(await kernel.at(sessionId, version), "reported")?.report;
  return report && { ...report, status: String(report.status) };
}

async function recordFailure(
  { kernel }: RoutedContext,
  { sessionId }: RoutedSession,
  pending: PendingDecision,
  error: AnyPhasegateError,
  milliseconds: number,
): Promise<AnyPhasegateError> {
  const { code, message: reason } = error;
  const command = { type: "fail", pending: pending.version, code, reason, milliseconds } as const;
  // If another writer got an answer, the failure concerns only this caller.
  await kernel.execute(sessionId, (current) => (isPending(current?.head, pending) ? { command } : ANSWERED));
  return error;
}

function isPending(head: RoutedHead | undefined, { version }: PendingDecision): boolean {
  return head?.status === "active" && head.pending?.version === version;
}

/** Takes a report's details to its step's gate. Steps count as phases by their position, from 1. */
export async function judgeReport(
  context: RoutedContext,
  session: RoutedSession,
  structure: RoutedStructure,
  { name, gate }: PinnedStep & { readonly gate: FieldGate },
  evidence: JsonObject,
  followed: Followed,
): Promise<Judged<Verification>> {
  const { enforcement, telemetry } = context.options;
  const phase = { number: numberOf(structure, name), gate };
  const facts = { id: session.sessionId, workflowType: structure.name, target: "", phase: phase.number };
  const attempt = session.head.attempts + 1;
  const checks = {
    enforcement,
    surroundings: () => ({ session: { ...facts, attempt } }),
    verify: () =>
      verifyEvidence({ ...context, pinned: undefined }, verified(session), {}, phase, evidence, [], followed),
  };
  if (telemetry === undefined) return judge(gate, evidence, checks);
  const { sessionId } = session;
  return telemetry.measure(
    { kind: "gate", sessionId, workflowType: structure.name, phase: name, attempt, evidence },
    async () => judge(gate, evidence, checks),
    ({ verdict }) => measuredOutcome(gate, verdict),
  );
}

/** The part of an instance that the verification of a step needs. */
interface VerifiedInstance {
  readonly sessionId: RoutedSession["sessionId"];
  readonly version: number;
  readonly head: { readonly workflow: string; readonly attempts: number; readonly baseline?: number | undefined };
}

/** Takes the snapshots of a step, if its gate needs any. */
export async function beginStep(
  context: RoutedContext,
  session: VerifiedInstance,
  structure: RoutedStructure,
  name: string,
): Promise<{ readonly snapshots?: readonly Snapshot[]; readonly payloads: readonly Payload[] }> {
  const gate = stepOf(structure, name)?.gate;
  if (gate === undefined) return { payloads: [] };
  const phases = [{ number: numberOf(structure, name), gate }];
  const place = { phases, isStep: true };
  return (await beginPhase({ ...context, pinned: undefined }, verified(session), place, 0)) ?? { payloads: [] };
}

function numberOf({ steps }: RoutedStructure, name: string): number {
  return steps.findIndex((step) => step.name === name) + 1;
}

function verified<O extends VerifiedInstance>({ head, ...session }: O) {
  const { workflow, baseline } = head;
  return { ...session, head: { workflowType: workflow, target: "", baseline } };
}
