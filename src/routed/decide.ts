/**
 * Takes a person's answer to what a step's gate waits for. After an approval the next call asks the
 * decider; a denial is a failed attempt.
 */

import { requireDecision } from "../approval/decision.js";
import { type ApprovalSignature, approvalRefused } from "../approval/message.js";
import { PhasegateError } from "../errors.js";
import { keyedRequest } from "../log/machine.js";
import { visibleText } from "../workflow/field-types.js";
import { parseSessionId } from "../workflow/names.js";
import { executeOn } from "./believed.js";
import type { RoutedContext } from "./options.js";
import type { RoutedSession } from "./session.js";
import type { RoutedCommand } from "./state/commands.js";
import type { RoutedKeyed, RoutedView } from "./types.js";
import { questionOf, viewInstance } from "./views.js";

/** A person's answer to what a step's gate waits for. */
export interface RoutedApproval extends RoutedKeyed {
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
  instanceId: string,
  decision: "approve" | "deny",
  { by, note, evidenceHash, signature, idempotencyKey }: RoutedApproval,
): Promise<RoutedView> {
  const id = parseSessionId(instanceId);
  requireText("by", by);
  if (decision === "deny") requireText("note", note);
  const keyed =
    idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, [decision, by, note ?? null, evidenceHash]);
  const { maxAttempts, maxAttemptsTotal } = context.options.limits;
  const prepare = async (session: RoutedSession): Promise<{ command: RoutedCommand }> => {
    const question = await requireQuestion(context, session, evidenceHash);
    const word = { decision, by, note, signature };
    const found = await requireDecision(context.options.approvals, { ...question, sessionId: id }, word);
    const said = { by, evidenceHash, ...(note === undefined ? {} : { note }), ...found };
    return { command: { type: decision, ...said, maxAttempts, maxAttemptsTotal } };
  };
  return viewInstance(context, await executeOn(context, id, prepare, keyed));
}

function requireText(field: "by" | "note", text: unknown): void {
  if (typeof text === "string" && visibleText(text) !== "" && text.length <= 4000) return;
  throw new PhasegateError("INVALID_INPUT", `'${field}' must be a text`, {
    remedy: `Give '${field}': it is recorded with the decision.`,
    details: { field, expected: "a text of 1 to 4,000 characters" },
  });
}

async function requireQuestion(context: RoutedContext, session: RoutedSession, evidenceHash: string) {
  const question = await questionOf(context, session);
  if (question === undefined) throw refused(0, "not_waiting", "no person is waited for");
  if (question.evidenceHash === evidenceHash) return question;
  throw refused(question.phase, "other_evidence", "other evidence waits than the approval is about");
}

function refused(phase: number, reason: "not_waiting" | "other_evidence", message: string) {
  const remedy = "Look at the instance again: its status says what waits, and for whom.";
  return approvalRefused(message, remedy, { phase, reason });
}
