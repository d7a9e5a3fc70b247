import type { Action } from "./actions.js";
import { errorsCall, phaseCall } from "./next-call.js";
import { surelyFits } from "./paging.js";
import type { WireObject } from "./wire-object.js";

/** What an answer is nothing without. */
const KEPT: ReadonlySet<string> = new Set(["status", "action", "session_id", "error", "error_type", "code", "next"]);

/** What is wrong at a gate: who must do without a part of it can read it all in `get_errors`. */
const WRONG: readonly string[] = ["problems", "validation_errors", "missing_tasks", "unclaimed_items"];

/**
 * Brings an answer that can't be asked for again, because the call has changed something, into its
 * budget: the longest parts are left out, by name, and the next call is the one that shows them,
 * where agents are given it.
 */
export function shrinkAnswer(answer: WireObject, room: number, actions: readonly Action[]): WireObject {
  if (surelyFits(answer, room) || JSON.stringify(answer).length <= room) return answer;
  const shrunk = { ...answer };
  const leftOut: string[] = [];
  const byLength = Object.keys(answer)
    .filter((key) => !KEPT.has(key))
    .sort((one, other) => lengthOf(answer[other]) - lengthOf(answer[one]));
  for (const key of byLength) {
    delete shrunk[key];
    leftOut.push(key);
    if (JSON.stringify({ ...shrunk, left_out: leftOut }).length <= room) break;
  }
  const next = showing(answer, leftOut, actions);
  return { ...shrunk, left_out: leftOut, ...(next === undefined ? {} : { next }) };
}

/** The call that shows what was left out; that of the answer itself, if there is none or the session's way is barred. */
function showing(
  { session_id: id, next }: WireObject,
  leftOut: readonly string[],
  actions: readonly Action[],
): unknown {
  if (typeof id !== "string" || next === null) return next;
  if (leftOut.includes("phase_content") && actions.includes("get_phase")) return phaseCall(id);
  return leftOut.some((key) => WRONG.includes(key)) && actions.includes("get_errors") ? errorsCall(id) : next;
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
