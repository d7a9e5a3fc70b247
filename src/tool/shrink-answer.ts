import { phaseCall } from "./next-call.js";
import { surelyFits } from "./paging.js";
import type { WireObject } from "./wire-object.js";

/** What an answer is nothing without. */
const KEPT: ReadonlySet<string> = new Set(["status", "action", "session_id", "error", "error_type", "code", "next"]);

/**
 * Brings an answer that can't be asked for again, because the call has changed something, into its
 * budget: the longest parts are left out, by name, and the next call is the one that shows the phase.
 */
export function shrinkAnswer(answer: WireObject, room: number): WireObject {
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
  const { session_id: sessionId } = answer;
  const next = typeof sessionId === "string" && leftOut.includes("phase_content") ? phaseCall(sessionId) : answer.next;
  return { ...shrunk, left_out: leftOut, ...(next === undefined ? {} : { next }) };
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
