/**
 * The options of a routed engine with their defaults, and what its operations share. Options that phased
 * engines have too are checked in one place for both.
 */

import { ApprovalGuard } from "../approval/guard.js";
import { PhasegateError } from "../errors.js";
import { Kernel } from "../log/log.js";
import {
  DEFAULT_LIMITS,
  type EngineLimits,
  type EngineOptions,
  type ResolvedOptions,
  resolveOptions,
} from "../phased/options.js";
import type { VerifyContext } from "../phased/verify/run-verifiers.js";
import { Beginnings } from "../phased/verify/snapshots.js";
import type { RoutedSource } from "../ports/content-provider.js";
import type { StepDecider } from "../ports/step-decider.js";
import { ROUTED_APPROVALS, type RoutedGuard } from "./approvals.js";
import { Histories, PinnedWays } from "./histories.js";
import { announceRouted, type RoutedNotifications } from "./notifications.js";
import type { RoutedHead } from "./state/events.js";
import { type RoutedCommit, type RoutedKernel, routedMachine } from "./state/machine.js";

/** The limits of a routed engine, in addition to those of phased engines. */
export interface RoutedLimits extends EngineLimits {
  /** Bytes of JSON in an instance's context. Default 256 KiB. */
  readonly maxContextBytes: number;
  /** Bytes of JSON in a report, including its details. Default 256 KiB. */
  readonly maxReportBytes: number;
  /** The time for one question to the decider, in milliseconds. Default 120,000. */
  readonly deciderDeadlineMs: number;
}

/** The default limits. */
export const DEFAULT_ROUTED_LIMITS: RoutedLimits = {
  ...DEFAULT_LIMITS,
  maxContextBytes: 256 * 1024,
  maxReportBytes: 256 * 1024,
  deciderDeadlineMs: 120_000,
};

/** The options of a routed engine. */
export interface RoutedEngineOptions
  extends Pick<
    EngineOptions,
    "storage" | "enforcement" | "verifiers" | "hashKey" | "approvers" | "allowUnsignedApprovals" | "clock"
  > {
  /** Provides the workflows: `RoutedFolders`, or `routedWorkflows(...)` for those in code. */
  readonly workflows: RoutedSource;
  /** Chooses the next step. */
  readonly decider: StepDecider;
  /** Limits that differ from {@link DEFAULT_ROUTED_LIMITS}. */
  readonly limits?: Partial<RoutedLimits>;
  /** The first step: the first of the list, or the decider's choice. Default: `first`. */
  readonly firstStep?: "first" | "decider";
  /** The number of history entries that a decider sees. Default 5. */
  readonly historyShown?: number;
  /** Generates the ids of instances: lower-case letters, digits, `_` and `-`. Default: a UUID. */
  readonly newId?: () => string;
}

/** Options with all defaults filled in. */
interface ResolvedRoutedOptions
  extends Pick<
    ResolvedOptions,
    "storage" | "enforcement" | "verifiers" | "hashKey" | "approvals" | "clock" | "evidenceLimits"
  > {
  readonly workflows: RoutedSource;
  readonly decider: StepDecider;
  readonly limits: RoutedLimits;
  readonly firstStep: "first" | "decider";
  readonly historyShown: number;
  readonly newId: () => string;
}

/** Routed sessions have no phases with texts. */
const NO_CONTENT: ResolvedOptions["content"] = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => {
    throw new Error("a routed engine reads no phases");
  },
};

/**
 * Fills in the defaults.
 * @throws {PhasegateError} `INVALID_INPUT` when a limit or an approver's key is invalid.
 */
export function resolveRoutedOptions(options: RoutedEngineOptions): ResolvedRoutedOptions {
  const { workflows, decider, firstStep = "first", historyShown = 5, newId = () => crypto.randomUUID() } = options;
  const { limits = {}, ...rest } = options;
  const shared = resolveOptions({ ...rest, limits, content: NO_CONTENT });
  const { storage, enforcement, verifiers, hashKey, approvals, clock, evidenceLimits } = shared;
  if (!(Number.isInteger(historyShown) && historyShown >= 0 && historyShown <= 100)) {
    throw new PhasegateError("INVALID_INPUT", `historyShown is ${historyShown}: it must be 0 to 100`, {
      remedy: "Give a whole number from 0 to 100; leave it out for 5.",
      details: { field: "historyShown", expected: "0 to 100" },
    });
  }
  return {
    storage,
    enforcement,
    verifiers,
    approvals,
    clock,
    evidenceLimits,
    ...(hashKey === undefined ? {} : { hashKey }),
    workflows,
    decider,
    limits: { ...resolveLimits(limits), ...shared.limits },
    firstStep,
    historyShown,
    newId,
  };
}

/** What the operations of a routed engine share. */
export interface RoutedContext {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  readonly pinned: PinnedWays;
  readonly histories: Histories;
  readonly beginnings: VerifyContext["beginnings"];
  /** Asked before anything is shown or done behind a gate that requires an approval. */
  readonly approvals: RoutedGuard;
  readonly notifications: RoutedNotifications;
  /** Questions in progress, by session and pending report: concurrent callers wait for one answer. */
  readonly asking: Map<string, Promise<RoutedCommit>>;
}

/** Creates what the operations of an engine share. */
export function createRoutedContext(options: ResolvedRoutedOptions, notifications: RoutedNotifications): RoutedContext {
  const { storage, clock, hashKey } = options;
  const kernel = new Kernel({
    storage,
    clock,
    machine: routedMachine,
    ...(hashKey === undefined ? {} : { hashKey }),
    onCommit: (commit) => {
      histories.add(commit);
      announceRouted(notifications, commit);
    },
    onConflict: (instanceId, version) => notifications.notify("conflict", { instanceId, version }),
  });
  const histories = new Histories(kernel, options.historyShown);
  const pinned = new PinnedWays(kernel);
  const approvals = new ApprovalGuard(kernel, options.approvals, ROUTED_APPROVALS);
  const beginnings = new Beginnings(kernel, ({ step }: RoutedHead) => step);
  return { options, kernel, pinned, histories, beginnings, approvals, notifications, asking: new Map() };
}

function resolveLimits(given: Partial<RoutedLimits>): Omit<RoutedLimits, keyof ResolvedOptions["limits"]> {
  const limits = { maxContextBytes: 0, maxReportBytes: 0, deciderDeadlineMs: 0 };
  for (const name of ["maxContextBytes", "maxReportBytes", "deciderDeadlineMs"] as const) {
    const limit = given[name] ?? DEFAULT_ROUTED_LIMITS[name];
    if (!(limit >= 1)) {
      throw new PhasegateError("INVALID_INPUT", `limits.${name} is ${limit}: it must be 1 or more`, {
        remedy: "Give a number of 1 or more; leave it out for the default.",
        details: { field: `limits.${name}`, expected: "a number of 1 or more" },
      });
    }
    limits[name] = limit;
  }
  return limits;
}
