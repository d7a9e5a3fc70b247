import type { ApprovalSignature } from "../approval/message.js";
import type { ApprovalRequest } from "../phased/approval/awaited.js";
import type { Engine } from "../phased/engine.js";
import type { Metrics } from "../runtime/metrics.js";
import { LEAST_PAGE, pageText, surelyFits } from "./paging.js";
import type { Action } from "./phased/actions.js";
import { compact, type WireObject } from "./wire-object.js";
/** An answer: `status`, `action`, and what the action gives. */
export type WorkflowResponse = {
  readonly status: "success" | "error";
  readonly action: string;
  readonly [key: string]: unknown;
};

/** What a person has answered at a gate that asks one. */
export interface PersonsAnswer {
  readonly decision: "approve" | "deny";
  /** The name to record; of an approver, where it is signed. */
  readonly by: string;
  readonly note?: string;
  readonly signature?: ApprovalSignature;
}

/** What a host gives a call beside the agent's input. */
export interface DispatchOptions {
  /**
   * Asks the person who is there, if one is, while the call is under way; undefined if there is no answer.
   * The engine judges the answer as any other: unsigned it only counts where the host allows that.
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
