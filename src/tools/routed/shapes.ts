/** States, results, histories and lists of routed workflows as they look on the wire. */
import type * as z from "zod";
import { conceal, revealOf } from "../../gate/check-gate.js";
import { evidenceNames, requiredFormat, withoutExamples } from "../../gate/format.js";
import { evidenceForm } from "../../gate/forms.js";
import type { RoutedListing } from "../../ports/content-provider.js";
import type { RoutedDecision, RoutedEntry } from "../../routed/state/history.js";
import type {
  GateRefusal,
  RoutedQuestion,
  RoutedResult,
  RoutedView,
  StepView,
  UnapprovedStep,
} from "../../routed/types.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import type { Reveal } from "../../workflow/structure.js";
import { pageItems } from "../pages.js";
import { verificationNotice } from "../verification-notice.js";
import { brief } from "../wire.js";
import type { historySchema, listSchema, resultSchema, statusSchema } from "./answers.js";
import { type RoutedContext, toCalls } from "./calls.js";

/** The answer of a call that moves an instance. */
type ResultOnWire = z.input<typeof resultSchema>;
/** The state of an instance. */
type StatusOnWire = z.input<typeof statusSchema>;

/** The result of a move, with a person's answer during the call. */
export interface Moved extends RoutedResult {
  readonly denied?: { readonly by: string; readonly note: string };
}

/**
 * Returns the answer of a call that moves an instance: the next step, then the state. A repeated answer after the instance
 * has moved on has the earlier call's result, and what to do now.
 */
export function resultOnWire(context: RoutedContext, moved: Moved): ResultOnWire {
  const { reasoning, replayed, gate, denied, nextStep, now = moved } = moved;
  const { completedAt } = now;
  return {
    instance_id: now.sessionId,
    next_step: stepOnWire(now.nextStep),
    current_context: now.context,
    workflow_name: now.workflow,
    status: now.status,
    ...reasonOf(now),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(completedAt === undefined ? {} : { completed_at: completedAt }),
    ...(gate === undefined ? {} : { gate: gateOnWire(gate, nextStep.gate ? revealOf(nextStep.gate) : "fields") }),
    ...(denied === undefined ? {} : { approval_denied: denied }),
    ...(replayed ? { replayed } : {}),
    ...(now === moved ? {} : { earlier_answer: { next_step_name: nextStep.name, status: moved.status } }),
    ...waitingOnWire(context, now),
  };
}

/** Returns the state of an instance; without its step if the workflow's texts can't be read. */
export function statusOnWire(context: RoutedContext, view: RoutedView, step?: StepView): StatusOnWire {
  return {
    instance_id: view.sessionId,
    workflow_name: view.workflow,
    status: view.status,
    current_step_name: view.currentStep ?? null,
    ...(step === undefined ? {} : { next_step: stepOnWire(step) }),
    current_context: view.context,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    completed_at: view.completedAt ?? null,
    ...reasonOf(view),
    ...(view.replayed ? { replayed: true as const } : {}),
    ...waitingOnWire(context, view),
  };
}

function stepOnWire({ name, instructions, gate }: StepView): ResultOnWire["next_step"] {
  if (gate === undefined) return { step_name: name, instructions };
  const example = evidenceForm(gate);
  const details = { required: [...evidenceNames(gate)], schema: requiredFormat(gate) };
  return {
    step_name: name,
    instructions,
    report_details: { ...details, ...(example === undefined ? {} : { example }) },
  };
}

function gateOnWire({ attempt, maxAttempts, problems, verification }: GateRefusal, reveal: Reveal) {
  return {
    passed: false as const,
    attempt,
    max_attempts: maxAttempts,
    problems: withoutExamples(conceal(problems, reveal)),
    ...verificationNotice(verification.length === 0 ? undefined : verification, reveal),
  };
}

function waitingOnWire(context: RoutedContext, { awaiting, pending, allowed, unapproved }: RoutedView) {
  return {
    ...(unapproved === undefined ? {} : { approval_not_believed: unapprovedOnWire(unapproved) }),
    ...(awaiting === undefined ? {} : { awaiting_approval: true as const, approval: questionOnWire(awaiting) }),
    ...(pending === undefined ? {} : { pending: pending.operation }),
    allowed: toCalls(context, allowed),
  };
}

function questionOnWire({ step, prompt, approvers, askedAt }: RoutedQuestion) {
  const whom = approvers === undefined ? {} : { approvers: [...approvers] };
  return { step_name: step, prompt, ...whom, asked_at: askedAt };
}

function unapprovedOnWire({ step, by, distrust }: UnapprovedStep) {
  const whose = by === undefined ? {} : { by };
  const remedy = `Ask the person who runs this server, who must know the approver's key. To have a person asked again, resume with the details that ${step} asks for; if that is not possible any more, start a new instance.`;
  return { step_name: step, ...whose, reason: distrust, remedy };
}

function reasonOf({ reason }: RoutedView) {
  return reason === undefined ? {} : { reason };
}

/** A page of a history. */
type HistoryOnWire = z.input<typeof historySchema>;
type Entry = HistoryOnWire["history"][number];

/** Returns the entries that fit, from the cursor on. Throws `CURSOR_INVALID`. */
export function historyOnWire(
  sessionId: string,
  entries: readonly RoutedEntry[],
  maxChars: number,
  cursor: string | undefined,
): HistoryOnWire {
  // A cursor is valid only for its own instance's history.
  const page = pageItems(entries.map(entryOnWire), maxChars, cursor, sessionId);
  return {
    instance_id: sessionId,
    history: [...page.items],
    ...(page.cursor === undefined ? {} : { left: page.left, cursor: page.cursor }),
  };
}

function entryOnWire({ version, timestamp, stepName, report, outcomeStatus, ...entry }: RoutedEntry): Entry {
  const { assumedStep, determinedNextStep, decision, problems, verification, reveal, reason } = entry;
  return {
    history_entry_id: version,
    timestamp,
    step_name: stepName,
    assumed_step_name: assumedStep,
    user_report: report ?? null,
    outcome_status: outcomeStatus,
    determined_next_step: determinedNextStep ?? null,
    ...(decision === undefined ? {} : { decision: decisionOnWire(decision) }),
    ...(problems === undefined ? {} : { problems: withoutExamples(conceal(problems, reveal ?? "fields")) }),
    ...verificationNotice(verification, reveal),
    ...(reason === undefined ? {} : { reason }),
  };
}

function decisionOnWire({ status, contextUpdates, reasoning, notes, usage, milliseconds, at }: RoutedDecision) {
  const { model, inputTokens, outputTokens, requests } = usage ?? {};
  return {
    status,
    context_updates: contextUpdates,
    reasoning,
    ...(notes === undefined ? {} : { notes: [...notes] }),
    ...(model === undefined ? {} : { model }),
    ...(inputTokens === undefined ? {} : { input_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { output_tokens: outputTokens }),
    ...(requests === undefined ? {} : { requests }),
    milliseconds,
    decided_at: at,
  };
}

/** The longest goal in a list, in characters. */
const GOAL_MAX = 300;
/** Limits the errors of a broken workflow in a list, and their length. */
const ERRORS_MAX = 5;

const ERROR_MAX = 300;

/** Returns the workflows that can be started with their goals, and the errors of the others. */
export function listOnWire(listings: readonly RoutedListing[]): z.input<typeof listSchema> {
  const ready = listings.flatMap((listing) => (listing.status === "ready" ? [listing] : []));
  const goals = ready.flatMap(({ name, definition: { goal } }) =>
    goal === undefined ? [] : [[name, brief(goal, GOAL_MAX)] as const],
  );
  const broken = listings.filter(({ status }) => status === "broken").map(brokenOnWire);
  return {
    workflows: ready.map(({ name }) => name),
    ...(goals.length === 0 ? {} : { goals: Object.fromEntries(goals) }),
    ...(broken.length === 0 ? {} : { broken }),
  };
}

function brokenOnWire({ name, diagnostics }: RoutedListing) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").slice(0, ERRORS_MAX);
  return { workflow_name: name, errors: errors.map((error) => brief(formatDiagnostic(error), ERROR_MAX)) };
}
