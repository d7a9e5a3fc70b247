import { PhasegateError } from "../errors.js";
import { Kernel } from "../log/log.js";
import {
  DEFAULT_LIMITS,
  type EngineLimits,
  type EngineOptions,
  type ResolvedOptions,
  resolveOptions,
} from "../phased/options.js";
import { Beginnings } from "../phased/verify/snapshots.js";
import type { VerifyContext } from "../phased/verify/verify-context.js";
import type { RoutedSource } from "../ports/content-provider.js";
import type { StepDecider } from "../ports/step-decider.js";
import { RoutedApprovals } from "./approval-guard.js";
import { Histories, PinnedWays } from "./histories.js";
import { announceRouted, type RoutedNotifications } from "./notifications.js";
import type { RoutedCommit, RoutedKernel } from "./session.js";
import type { RoutedHead } from "./state/events.js";
import { routedMachine } from "./state/machine.js";
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

/** Options with every default filled in. */
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

/** Fills in the defaults; what phased sessions have too is checked in the one place for both. */
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

/** Routed sessions have no phases whose texts could be asked for. */
const NO_CONTENT: ResolvedOptions["content"] = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => {
    throw new Error("a routed engine reads no phases");
  },
};

/** What the parts of a routed engine share. */
export interface RoutedContext {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  readonly pinned: PinnedWays;
  readonly histories: Histories;
  readonly beginnings: VerifyContext["beginnings"];
  /** Asked before anything is shown of an instance, or done in it, that lies behind a gate which asks a person. */
  readonly approvals: RoutedApprovals;
  readonly notifications: RoutedNotifications;
  /** Questions that are on their way, by session and pending report: who asks the same waits for one answer. */
  readonly asking: Map<string, Promise<RoutedCommit>>;
}

/** Makes what the parts of an engine share. */
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
  const approvals = new RoutedApprovals(kernel, options.approvals);
  const beginnings = new Beginnings(kernel, ({ step }: RoutedHead) => step);
  return { options, kernel, pinned, histories, beginnings, approvals, notifications, asking: new Map() };
}
