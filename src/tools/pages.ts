/**
 * The last resort for answers that exceed their budget even with texts and lists paged. An answer that can
 * be requested again is paged as JSON; the answer to a change is shortened by its longest parts.
 */

import { pageText, surelyFits } from "./paging.js";
import type { Action } from "./phased/actions.js";
import { errorsCall, phaseCall } from "./phased/next-call.js";
import { compact, type WireObject } from "./wire-object.js";

/** A reading call, which can be repeated for the next page. */
interface ReadCall {
  /** What was asked, without a cursor. */
  readonly call: WireObject;
  /** A cursor into the JSON of the answer. */
  readonly cursor?: string | undefined;
  /** The cursor of the answer itself, where it is a page of a text or a list. */
  readonly inner?: string | undefined;
}

/** The budget for what surrounds a page of JSON. */
const ENVELOPE = 700;

/**
 * Returns a page of the JSON of an answer; all pages together are the whole answer, and the last one
 * continues where that answer would.
 */
export function pageAnswer(answer: WireObject, room: number, { call, cursor, inner }: ReadCall): WireObject {
  if (cursor === undefined && surelyFits(answer, room)) return answer;
  const json = JSON.stringify(answer);
  if (cursor === undefined && json.length <= room) return answer;
  const page = pageText(json, room - ENVELOPE, cursor, { kind: "json", inner });
  return compact({
    status: answer.status,
    action: answer.action,
    session_id: answer.session_id,
    json_page: page.text,
    json_range: { from: page.from, to: page.to, total: page.total },
    cursor: page.cursor,
    next: page.cursor === undefined ? answer.next : { ...call, cursor: page.cursor },
  });
}

/** The keys that an answer must have. */
const KEPT: ReadonlySet<string> = new Set(["status", "action", "session_id", "error", "error_type", "code", "next"]);

/**
 * Shortens an answer that can't be requested again because the call has changed something: omits the
 * longest parts, names them, and makes `next` the call that shows them, if agents have it.
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

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** The problems at a gate: an agent can read omitted ones in `get_errors`. */
const WRONG: readonly string[] = ["problems", "validation_errors", "missing_tasks", "unclaimed_items"];

/** Returns the call that shows what was omitted; the answer's own next call if there is none. */
function showing(
  { session_id: id, next }: WireObject,
  leftOut: readonly string[],
  actions: readonly Action[],
): unknown {
  if (typeof id !== "string" || next === null) return next;
  if (leftOut.includes("phase_content") && actions.includes("get_phase")) return phaseCall(id);
  return leftOut.some((key) => WRONG.includes(key)) && actions.includes("get_errors") ? errorsCall(id) : next;
}
