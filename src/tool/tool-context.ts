import type { Engine } from "../engine/engine.js";
import { pageText } from "./paging.js";
import { compact, type WireObject } from "./wire.js";

/** What the handlers of a tool share. */
export interface ToolContext {
  readonly engine: Engine;
  /** The tool's name, for sentences that say what to call. */
  readonly name: string;
  /** How many characters of JSON an answer may have. */
  readonly room: number;
  /** Calls that were refused before an engine saw them, by action. */
  readonly rejected: Map<string, number>;
}

/**
 * Puts a text into one of an answer's objects, as much as fits; `nextPage` is the call that shows the
 * rest, without its cursor.
 */
export function withText(
  context: ToolContext,
  answer: WireObject,
  key: string,
  text: string,
  nextPage: WireObject,
  cursor?: string,
): WireObject {
  const object = answer[key];
  const used = JSON.stringify(answer).length;
  const page = pageText(text, context.room - used - 40, cursor);
  const whole = page.cursor === undefined && page.from === 0;
  const range = whole ? undefined : { from: page.from, to: page.to, total: page.total };
  return compact({
    ...answer,
    [key]: { ...(typeof object === "object" ? object : {}), content: page.text, ...compact({ content_range: range }) },
    cursor: page.cursor,
    ...(page.cursor === undefined ? {} : { next: { ...nextPage, cursor: page.cursor } }),
  });
}
