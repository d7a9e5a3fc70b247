import type { DeciderAnswer, RoutedStatus } from "../../decision/decision-request.js";
import { ROUTED_STATUSES } from "../../decision/decision-request.js";
import type { JsonObject } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { nearest } from "../../definition/nearest.js";
import { FINISH } from "../../definition/routed-definition.js";
import { isPhasegateError } from "../../errors.js";
import { matchName } from "../definition/match-name.js";
import { mergeContext } from "./merge-context.js";

/** A decision that may be written, or what is wrong with the answer in words that a decider can mend it by. */
export type CheckedAnswer =
  | {
      readonly ok: true;
      readonly next: string;
      readonly status: RoutedStatus;
      readonly contextUpdates: JsonObject;
      readonly context: JsonObject;
      /** What was taken otherwise than it was answered. */
      readonly notes: readonly string[];
    }
  | { readonly ok: false; readonly problem: string };

/**
 * Checks what a decider answers, before anything of it is written: a step that exists and may follow, a status that
 * there is, keys and values that a context may have. A name that differs by case and signs alone is taken, and noted.
 */
export function checkAnswer(
  answer: DeciderAnswer,
  { allowed, context, maxContextBytes }: { allowed: readonly string[]; context: JsonObject; maxContextBytes: number },
): CheckedAnswer {
  const next = typeof answer.nextStep === "string" ? matchName(answer.nextStep.trim(), allowed) : undefined;
  if (next === undefined) return { ok: false, problem: wrongStep(answer.nextStep, allowed) };
  const notes = next === answer.nextStep ? [] : [`${shown(answer.nextStep)} was taken for ${next}`];
  const status = statusOf(answer.statusSuggestion, next, allowed, notes);
  if (status === undefined) {
    const expected = ROUTED_STATUSES.join(", ");
    return { ok: false, problem: `status_suggestion ${shown(answer.statusSuggestion)} is none of ${expected}, null` };
  }
  try {
    const { context: merged, updates } = mergeContext(context, answer.contextUpdates, maxContextBytes);
    return { ok: true, next, status, contextUpdates: updates, context: merged, notes };
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return { ok: false, problem: `updated_context can't be taken: ${error.message}` };
  }
}

function wrongStep(name: unknown, allowed: readonly string[]): string {
  const near = typeof name === "string" ? nearest(name, allowed) : undefined;
  const meant = near === undefined ? "" : `; did you mean ${shown(near)}?`;
  return `next_step_name ${shown(name)} is no step that may follow: ${allowed.map(shown).join(", ")}${meant}`;
}

/** The engine has the last word: nothing is completed but by a step from which the end may follow. */
function statusOf(
  suggestion: unknown,
  next: string,
  allowed: readonly string[],
  notes: string[],
): RoutedStatus | undefined {
  const given = suggestion ?? "RUNNING";
  const suggested = typeof given === "string" ? matchName(given.trim(), ROUTED_STATUSES) : undefined;
  const status = ROUTED_STATUSES.find((one) => one === suggested);
  if (status === undefined || status === "FAILED") return status;
  if (next === FINISH) {
    if (status === "SUSPENDED") notes.push(`SUSPENDED was not followed: ${FINISH} is the end`);
    return "COMPLETED";
  }
  if (status !== "COMPLETED") return status;
  if (allowed.includes(FINISH)) return "COMPLETED";
  notes.push(`COMPLETED was not followed: the work can't end here`);
  return "RUNNING";
}
