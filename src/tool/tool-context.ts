import type { Engine } from "../engine/engine.js";
import type { Metrics } from "../engine/metrics.js";
import type { Action } from "./actions.js";
import { LEAST_PAGE, pageText, surelyFits } from "./paging.js";
import { compact, type WireObject } from "./wire.js";

/** An answer: `status`, `action`, and what the action gives. */
export type WorkflowResponse = {
  readonly status: "success" | "error";
  readonly action: string;
  readonly [key: string]: unknown;
};

/** What the handlers of a tool share. */
export interface ToolContext {
  readonly engine: Engine;
  /** The tool's name, for sentences that say what to call. */
  readonly name: string;
  /** The actions that agents get. */
  readonly actions: readonly Action[];
  /** How many characters of JSON an answer may have. */
  readonly room: number;
  /** What each action has cost; calls that were no calls count as `unknown`. */
  readonly metrics: Metrics;
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
  const whole = { ...answer, [key]: { ...(typeof object === "object" ? object : {}), content: text } };
  if (cursor === undefined && surelyFits(whole, context.room)) return whole;
  const room = context.room - JSON.stringify(answer).length - 40;
  // With no room beside the rest, the whole answer comes in pages; or what changes something is shrunk.
  if (cursor === undefined && room < LEAST_PAGE) return whole;
  const page = pageText(text, Math.max(room, LEAST_PAGE), cursor);
  if (page.cursor === undefined && page.from === 0) return whole;
  return compact({
    ...answer,
    [key]: {
      ...(typeof object === "object" ? object : {}),
      content: page.text,
      content_range: { from: page.from, to: page.to, total: page.total },
    },
    cursor: page.cursor,
    ...(page.cursor === undefined ? {} : { next: { ...nextPage, cursor: page.cursor } }),
  });
}
