import { pageText, surelyFits } from "./paging.js";
import type { Action } from "./phased/actions.js";
import { errorsCall, phaseCall } from "./phased/next-call.js";
import { compact, type WireObject } from "./wire-object.js";

/** Room for what stands around a page of JSON. */
const ENVELOPE = 700;

/** A call of a reading action, so that its next page can be named. */
interface ReadCall {
  /** What was asked, without a cursor. */
  readonly call: WireObject;
  /** A cursor into the JSON of the answer. */
  readonly cursor?: string | undefined;
  /** The cursor of the answer itself, where it is a page of a text or a list. */
  readonly inner?: string | undefined;
}

/**
 * The last resort for what an action reads, where it is too long with its texts and lists paged: state
 * with large artifacts, a gate with hundreds of fields. It comes as pages of its own JSON, which put
 * together are the whole answer; the last one goes on where that answer would.
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
