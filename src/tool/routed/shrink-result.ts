import { surelyFits } from "../paging.js";
import { brief, compact, type WireObject } from "../wire-object.js";

/** What an answer is nothing without. */
const KEPT: ReadonlySet<string> = new Set([
  "instance_id",
  "workflow_name",
  "status",
  "allowed",
  "error_code",
  "next_step",
]);
/** As much of a sentence as an answer has that is too long otherwise. */
const SENTENCE_MAX = 1000;

/**
 * Brings the answer of a call that has changed something into its budget: its longest parts are left out, by name, and the
 * call that shows them is named. Instructions go last, for they are what the client has asked for.
 */
export function shrinkResult(answer: WireObject, room: number, show: WireObject | undefined): WireObject {
  if (fits(answer, room)) return answer;
  const parts = Object.keys(answer).filter((key) => !KEPT.has(key));
  parts.sort((one, other) => lengthOf(answer[other]) - lengthOf(answer[one]));
  let shrunk: WireObject = { ...answer };
  const leftOut: string[] = [];
  const leaveOut = (name: string, next: WireObject) => {
    leftOut.push(name);
    shrunk = next;
  };
  for (const key of parts) {
    if (fits(whole(shrunk, leftOut, show), room)) break;
    const { [key]: value, ...rest } = shrunk;
    leaveOut(key, typeof value === "string" ? { ...rest, [key]: brief(value, SENTENCE_MAX) } : rest);
  }
  const { step_name: name } = compact({ ...(isObject(answer.next_step) ? answer.next_step : {}) });
  if (name !== undefined && !fits(whole(shrunk, leftOut, show), room)) {
    leaveOut("next_step.instructions", { ...shrunk, next_step: { step_name: name, instructions: "" } });
  }
  return whole(shrunk, leftOut, show);
}

function whole(answer: WireObject, leftOut: readonly string[], show: WireObject | undefined): WireObject {
  return leftOut.length === 0 ? answer : compact({ ...answer, left_out: leftOut, next: show });
}

function fits(answer: WireObject, room: number): boolean {
  return surelyFits(answer, room) || JSON.stringify(answer).length <= room;
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
