import { DEFAULT_LIMITS, type EngineLimits, type EngineOptions } from "../../engine/options.js";
import type { RoutedSource } from "../../ports/routed-source.js";
import type { StepDecider } from "../../ports/step-decider.js";

/** How much a routed engine takes on; the rest is as for phased sessions. */
export interface RoutedLimits extends EngineLimits {
  /** Bytes of JSON that the context of an instance may have. Default 256 KiB. */
  readonly maxContextBytes: number;
  /** Bytes of JSON that a report may have, its details included. Default 256 KiB. */
  readonly maxReportBytes: number;
  /** How long a decider may take for one question, in milliseconds. Default 120,000. */
  readonly deciderDeadlineMs: number;
}

/** The limits of a routed engine that is given none. */
export const DEFAULT_ROUTED_LIMITS: RoutedLimits = {
  ...DEFAULT_LIMITS,
  maxContextBytes: 256 * 1024,
  maxReportBytes: 256 * 1024,
  deciderDeadlineMs: 120_000,
};

/** What a routed engine is made of. */
export interface RoutedEngineOptions
  extends Pick<
    EngineOptions,
    "storage" | "enforcement" | "verifiers" | "hashKey" | "approvers" | "allowUnsignedApprovals" | "clock"
  > {
  /** Where workflows come from: `RoutedFolders`, or `routedWorkflows(...)` for those in code. */
  readonly workflows: RoutedSource;
  /** Who picks the next step. */
  readonly decider: StepDecider;
  /** Limits that differ from {@link DEFAULT_ROUTED_LIMITS}. */
  readonly limits?: Partial<RoutedLimits>;
  /** What work begins with: the first step of the list, the default, or the decider's choice. */
  readonly firstStep?: "first" | "decider";
  /** How many entries of the history a decider sees. Default 5. */
  readonly historyShown?: number;
  /** Makes the ids of instances: lower-case letters, digits, `_` and `-`. A UUID if not given. */
  readonly newId?: () => string;
}
