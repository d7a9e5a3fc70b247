/**
 * What the handlers of a tool share: the engine, the host's options for a call, and the budget of an
 * answer.
 */

import type { ApprovalSignature } from "../approval/message.js";
import type { ApprovalRequest } from "../phased/approval/ledger.js";
import type { Engine } from "../phased/engine.js";
import type { Metrics } from "../runtime/operations.js";
import { LEAST_PAGE, pageText, surelyFits } from "./paging.js";
import type { Action } from "./phased/actions.js";
import { compact, type WireObject } from "./wire-object.js";

/** An answer: `status`, `action`, and the action's own fields. */
export type WorkflowResponse = {
  readonly status: "success" | "error";
  readonly action: string;
  readonly [key: string]: unknown;
};

/** A person's answer at a gate that requires an approval. */
export interface PersonsAnswer {
  readonly decision: "approve" | "deny";
  /** The name to record; of an approver, where it is signed. */
  readonly by: string;
  readonly note?: string;
  readonly signature?: ApprovalSignature;
}

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
  /** How many characters of JSON an answer may have. */
  readonly room: number;
  /** What each action has cost; calls that were no calls count as `unknown`. */
  readonly metrics: Metrics;
}

/**
 * Adds as much of a text to one of an answer's objects as fits; `nextPage` is the call that returns the
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
  // If nothing fits next to the rest, the whole answer is paged; the answer to a change is shortened.
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
