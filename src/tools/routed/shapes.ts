/** States, results, histories and lists of routed workflows as they look on the wire. */
import type * as z from "zod";
import { conceal, revealOf } from "../../gate/check-gate.js";
import { evidenceNames, requiredFormat, withoutExamples } from "../../gate/format.js";
import { evidenceForm } from "../../gate/forms.js";
import type { RoutedListing } from "../../ports/content-provider.js";
import { STATUS_WORDS } from "../../routed/decision/request.js";
import type { RoutedDecision, RoutedEntry } from "../../routed/state/history.js";
import type { GateRefusal, RoutedResult, RoutedView, StepView } from "../../routed/types.js";
import { formatDiagnostic } from "../../workflow/diagnostic.js";
import type { Reveal } from "../../workflow/structure.js";
import { pageItems } from "../pages.js";
import { verificationNotice } from "../verification-notice.js";
import { brief } from "../wire.js";
import type { historySchema, listSchema, resultSchema, statusSchema } from "./answers.js";
import { type RoutedContext, toCalls } from "./calls.js";

type ResultOnWire = z.input<typeof resultSchema>;
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
  return {
    instance_id: now.sessionId,
    next_step: stepOnWire(now.nextStep),
    current_context: now.context,
    workflow_name: now.workflow,
    status: STATUS_WORDS[now.status],
    reason: now.reason,
    reasoning,
    completed_at: now.completedAt,
    gate: gate && gateOnWire(gate, nextStep.gate ? revealOf(nextStep.gate) : "fields"),
    approval_denied: denied,
    replayed: replayed || undefined,
    earlier_answer: now === moved ? undefined : { next_step_name: nextStep.name, status: STATUS_WORDS[moved.status] },
    ...waitingOnWire(context, now),
  };
}

/** Returns the state of an instance; without its step if the workflow's texts can't be read. */
export function statusOnWire(context: RoutedContext, view: RoutedView, step?: StepView): StatusOnWire {
  return {
    instance_id: view.sessionId,
    workflow_name: view.workflow,
    status: STATUS_WORDS[view.status],
    current_step_name: view.currentStep ?? null,
    next_step: step && stepOnWire(step),
    current_context: view.context,
    created_at: view.createdAt,
    updated_at: view.updatedAt,
    completed_at: view.completedAt ?? null,
    reason: view.reason,
    replayed: view.replayed || undefined,
    ...waitingOnWire(context, view),
  };
}

function stepOnWire({ name, instructions, gate }: StepView): ResultOnWire["next_step"] {
  if (gate === undefined) return { step_name: name, instructions };
  const example = evidenceForm(gate);
  const report_details = { required: [...evidenceNames(gate)], schema: requiredFormat(gate), example };
  return { step_name: name, instructions, report_details };
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
    approval_not_believed: unapproved && {
      step_name: unapproved.step,
      by: unapproved.by,
      reason: unapproved.distrust,
      remedy: `Ask the person who runs this server, who must know the approver's key. To have a person asked again, resume with the details that ${unapproved.step} asks for; if that is not possible any more, start a new instance.`,
    },
    awaiting_approval: awaiting && (true as const),
    approval: awaiting && {
      step_name: awaiting.step,
      prompt: awaiting.prompt,
      approvers: awaiting.approvers && [...awaiting.approvers],
      asked_at: awaiting.askedAt,
    },
    pending: pending?.operation,
    allowed: toCalls(context, allowed),
  };
}

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
    left: page.left || undefined,
    cursor: page.cursor,
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
    decision: decision && decisionOnWire(decision),
    problems: problems && withoutExamples(conceal(problems, reveal ?? "fields")),
    ...verificationNotice(verification, reveal),
    reason,
  };
}

function decisionOnWire({ status, contextUpdates, reasoning, notes, usage, milliseconds, at }: RoutedDecision) {
  return {
    status: STATUS_WORDS[status],
    context_updates: contextUpdates,
    reasoning,
    notes: notes && [...notes],
    model: usage?.model,
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    requests: usage?.requests,
    milliseconds,
    decided_at: at,
  };
}

/** The longest goal, or error, in a list, in characters; and how many errors a broken workflow has there. */
const TEXT_MAX = 300;
const ERRORS_MAX = 5;

/** Returns the workflows that can be started with their goals, and the errors of the others. */
export function listOnWire(listings: readonly RoutedListing[]): z.input<typeof listSchema> {
  const ready = listings.flatMap((listing) => (listing.status === "ready" ? [listing] : []));
  const goals = ready.flatMap(({ name, definition: { goal } }) =>
    goal === undefined ? [] : [[name, brief(goal, TEXT_MAX)] as const],
  );
  const broken = listings.filter(({ status }) => status === "broken").map(brokenOnWire);
  return {
    workflows: ready.map(({ name }) => name),
    goals: goals.length === 0 ? undefined : Object.fromEntries(goals),
    broken: broken.length === 0 ? undefined : broken,
  };
}

function brokenOnWire({ name, diagnostics }: RoutedListing) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").slice(0, ERRORS_MAX);
  return { workflow_name: name, errors: errors.map((error) => brief(formatDiagnostic(error), TEXT_MAX)) };
}
