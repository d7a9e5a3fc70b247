/** The context of a call of the workflow tool: the engine, the host's options, and the budget of the answer. */

import type { ApprovalRequest } from "../../phased/approval/ledger.js";
import type { Engine } from "../../phased/engine.js";
import type { Metrics } from "../../runtime/operations.js";
import type { PersonsAnswer } from "../dispatch.js";
import type { Action } from "./actions.js";

/** An answer: `status`, `action`, and the action's own fields. */
export type WorkflowResponse = {
  /** The outcome: `success` if the action was executed. */
  readonly status: "success" | "error";
  /** The action; empty if the call named none. */
  readonly action: string;
  readonly [key: string]: unknown;
};

/** The options that a host adds to a call. */
export interface DispatchOptions {
  /**
   * Asks a person during the call, if one is present; returns undefined if there is no answer. The engine checks the
   * answer like any other: unsigned, it counts only if the host allows that.
   */
  readonly askPerson?: (request: ApprovalRequest) => Promise<PersonsAnswer | undefined>;
}

/** The context that all handlers of the tool get. */
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
