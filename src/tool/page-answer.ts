import { pageText, surelyFits } from "./paging.js";
import { compact, type WireObject } from "./wire.js";

/** Room for what stands around a page of JSON. */
const ENVELOPE = 700;

/**
 * The last resort for an answer that is too long with its texts and lists paged: state with large
 * artifacts, a gate with hundreds of fields. It comes as pages of its own JSON, which put together
 * are the whole answer; `call` is what was asked, without a cursor.
 */
export function pageAnswer(answer: WireObject, room: number, call: WireObject, cursor: string | undefined): WireObject {
  if (cursor === undefined && surelyFits(answer, room)) return answer;
  const json = JSON.stringify(answer);
  if (cursor === undefined && json.length <= room) return answer;
  const page = pageText(json, room - ENVELOPE, cursor, "json");
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
