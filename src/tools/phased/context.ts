/** What the handlers of the workflow tool share: the engine, the host's options for a call, and the budget of an answer. */

import type { ApprovalRequest } from "../../phased/approval/awaited.js";
import type { Engine } from "../../phased/engine.js";
import type { Metrics } from "../../runtime/metrics.js";
import type { PersonsAnswer } from "../dispatch.js";
import { LEAST_PAGE, pageText } from "../pages.js";
import { compact, type WireObject } from "../wire.js";
import type { Action } from "./actions.js";

/** An answer: `status`, `action`, and the action's own fields. */
export type WorkflowResponse = {
  readonly status: "success" | "error";
  readonly action: string;
  readonly [key: string]: unknown;
};

/** What a host adds to a call. */
export interface DispatchOptions {
  /**
   * Asks a person during the call, if one is present; returns undefined if there is no answer. The engine checks the
   * answer like any other: unsigned, it counts only if the host allows that.
   */
  readonly askPerson?: (request: ApprovalRequest) => Promise<PersonsAnswer | undefined>;
}

/** What the handlers of a tool share. */
export interface ToolContext extends DispatchOptions {
  readonly engine: Engine;
  /** The tool's name, for sentences that say what to call. */
  readonly name: string;
  /** The actions that agents get. */
  readonly actions: readonly Action[];
  /** The budget of an answer, in characters of JSON. */
  readonly maxChars: number;
  /** The durations of each action; calls without a known action count as `unknown`. */
  readonly metrics: Metrics;
}

/**
 * Adds as much of a text to one of an answer's objects as fits; `nextPage` is the call that returns the
 * rest, without its cursor.
 */
export function withText(
  { maxChars }: ToolContext,
  answer: WireObject,
  key: string,
  text: string,
  nextPage: WireObject,
  cursor?: string,
): WireObject {
  const object = answer[key];
  const about = typeof object === "object" ? object : {};
  const whole = { ...answer, [key]: { ...about, content: text } };
  const left = maxChars - JSON.stringify(answer).length - 40;
  // If nothing fits next to the rest, the whole answer is paged; the answer to a change is shortened.
  if (cursor === undefined && left < LEAST_PAGE) return whole;
  const page = pageText(text, Math.max(left, LEAST_PAGE), cursor);
  if (page.cursor === undefined && page.from === 0) return whole;
  return compact({
    ...answer,
    [key]: { ...about, content: page.text, content_range: { from: page.from, to: page.to, total: page.total } },
    cursor: page.cursor,
    ...(page.cursor === undefined ? {} : { next: { ...nextPage, cursor: page.cursor } }),
  });
}
