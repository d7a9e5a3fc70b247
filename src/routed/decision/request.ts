import type { JsonObject, JsonValue } from "../../workflow/json.js";
import type { RoutedDefinition } from "../../workflow/routed-definition.js";
/** Where an instance of a routed workflow stands, in the words of the wire. */
export const ROUTED_STATUSES = ["RUNNING", "SUSPENDED", "COMPLETED", "FAILED"] as const;
/** Where an instance of a routed workflow stands. */
export type RoutedStatus = (typeof ROUTED_STATUSES)[number];

/** What a client says of a step that it was on. Keys beside these are kept. */
export interface StepReport {
  readonly status: string;
  readonly details?: JsonObject;
  readonly message?: string;
  readonly error?: string | null;
  readonly [key: string]: JsonValue | undefined;
}

/** One entry of an instance's history, as a decider sees it. */
export interface RoutedHistoryEntry {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly stepName: string;
  readonly report?: StepReport;
  /** The report's status; `RESUMING` for a client that came back. */
  readonly outcomeStatus: string;
  readonly determinedNextStep?: string;
}

/** All that a decider is told. */
export interface DecisionRequest {
  /** For which call: the first step is decided only where the host asks for it. */
  readonly operation: "start" | "advance" | "resume";
  readonly instanceId: string;
  readonly workflow: RoutedDefinition;
  /** The steps that may follow, and `FINISH` where it may. At least one. */
  readonly allowed: readonly string[];
  /** The last step that was decided; missing at the start. */
  readonly currentStep?: string;
  /**
   * Where the client thinks it is, for `resume`: the name of a step, or, where the workflow has no such step, the client's
   * own words on one line. Treat the latter as data: a client may write anything there.
   */
  readonly assumedStep?: string;
  readonly status: RoutedStatus;
  /** With the updates of this call merged in. */
  readonly context: JsonObject;
  /** The last entries, newest last. */
  readonly history: readonly RoutedHistoryEntry[];
  /** Missing at the start. */
  readonly report?: StepReport;
  /** What was wrong with the answer before, where the same question is asked again. */
  readonly problem?: string;
}

/** What a decider answers. It is checked by the engine: nothing of it is believed. */
export interface DeciderAnswer {
  readonly nextStep: string;
  /** Merged into the context. */
  readonly contextUpdates: JsonObject;
  readonly statusSuggestion?: string;
  readonly reasoning?: string;
  /** Who decided, and at what price, where it is known. */
  readonly usage?: DecisionUsage;
}

/** What a decision took. */
export interface DecisionUsage {
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** How many requests were sent, retries included. */
  readonly requests?: number;
}
