import { pageText, surelyFits } from "./paging.js";
import { compact, type WireObject } from "./wire-object.js";

/** Room for what stands around a page of JSON. */
const ENVELOPE = 700;

/** A call of a reading action, so that its next page can be named. */
export interface ReadCall {
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
