/**
 * The options of a routed engine with their defaults, and what its operations share. Options that phased engines have too are
 * checked in one place for both.
 */
import { ApprovalGuard } from "../approval/guard.js";
import { LogFold, tampered } from "../log/commit.js";
import { Kernel } from "../log/log.js";
import {
  DEFAULT_LIMITS,
  type EngineLimits,
  type EngineOptions,
  limitChecks,
  type ResolvedOptions,
  resolveOptions,
  sharedChecks,
} from "../phased/options.js";
import { Beginnings } from "../phased/verify/beginnings.js";
import type { VerifyContext } from "../phased/verify/run-verifiers.js";
import type { Caller } from "../ports/actor.js";
import { TIMER_MAX } from "../ports/clock.js";
import type { RoutedSource } from "../ports/content-provider.js";
import type { StepDecider } from "../ports/step-decider.js";
import { jsonWeight, RecentMap } from "../workflow/cache.js";
import {
  callable,
  check,
  checkOptions,
  fromOne,
  group,
  having,
  type OptionChecks,
  oneOf,
  optionally,
} from "../workflow/host-options.js";
import { ROUTED_APPROVALS, type RoutedGuard } from "./approvals.js";
import { Asking } from "./asking.js";
import { announceRouted, type RoutedNotifications } from "./notifications.js";
import {
  eventIn,
  type RoutedEvent,
  type RoutedHead,
  type RoutedStructure,
  routedStructureSchema,
} from "./state/events.js";
import { type RoutedEntry, RoutedHistory } from "./state/history.js";
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
    | "storage"
    | "enforcement"
    | "verifiers"
    | "hashKey"
    | "approvers"
    | "allowUnsignedApprovals"
    | "inspectorUrl"
    | "clock"
    | "owner"
    | "quotas"
    | "telemetry"
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

type ResolvedRoutedOptions = Omit<ResolvedOptions, "limits"> &
  Required<Pick<RoutedEngineOptions, "workflows" | "decider" | "firstStep" | "historyShown" | "newId">> & {
    readonly limits: RoutedLimits;
  };

/** Routed sessions have no phases with texts. */
const NO_CONTENT: ResolvedOptions["content"] = {
  list: async () => [],
  definition: async () => undefined,
  text: async () => {
    throw new Error("a routed engine reads no phases");
  },
};

const routedLimitChecks: OptionChecks<RoutedLimits> = {
  ...limitChecks,
  maxContextBytes: optionally(fromOne),
  maxReportBytes: optionally(fromOne),
  deciderDeadlineMs: optionally(fromOne),
};

const HISTORY = check(
  "a whole number from 0 to 100",
  (value) => typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 100,
);

/** Checks the options of `createRoutedEngine`. Throws `INVALID_INPUT`. */
export function checkRoutedOptions(options: RoutedEngineOptions): void {
  checkOptions("createRoutedEngine", options, {
    ...sharedChecks,
    workflows: having("a source of workflows, such as routedWorkflows(workflow)", "list", "definition"),
    decider: having("a decider, such as new LinearDecider()", "decide"),
    limits: optionally(group("an object of limits", routedLimitChecks)),
    firstStep: optionally(oneOf("first", "decider")),
    historyShown: optionally(HISTORY),
    newId: optionally(callable),
  });
}

/**
 * Fills in the defaults of options that were checked.
 * @throws {PhasegateError} `INVALID_INPUT` when an approver's key or `inspectorUrl` is invalid.
 */
export function resolveRoutedOptions(options: RoutedEngineOptions): ResolvedRoutedOptions {
  const { workflows, decider, firstStep = "first", historyShown = 5, limits = {}, newId, ...rest } = options;
  const { maxContextBytes, maxReportBytes, deciderDeadlineMs } = DEFAULT_ROUTED_LIMITS;
  const shared = resolveOptions({ ...rest, limits, content: NO_CONTENT });
  return {
    ...shared,
    workflows,
    decider: shared.telemetry?.decider(decider) ?? decider,
    limits: {
      ...shared.limits,
      maxContextBytes: limits.maxContextBytes ?? maxContextBytes,
      maxReportBytes: limits.maxReportBytes ?? maxReportBytes,
      deciderDeadlineMs: Math.min(limits.deciderDeadlineMs ?? deciderDeadlineMs, TIMER_MAX),
    },
    firstStep,
    historyShown,
    newId: newId ?? shared.clock.newId,
  };
}

export interface RoutedContext extends Pick<VerifyContext, "beginnings" | "onChecks"> {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  /** The host's, which finds all instances. */
  readonly hostKernel: RoutedKernel;
  readonly pinned: PinnedStructures;
  readonly recent: RecentEntries;
  /** Asked before anything is shown or done behind a gate that requires an approval. */
  readonly approvals: RoutedGuard;
  readonly notifications: RoutedNotifications;
  readonly asking: Asking;
  /** The caller; the host itself if missing. The kernel finds only instances that the caller may see. */
  readonly caller?: Caller;
}

export function createRoutedContext(options: ResolvedRoutedOptions, notifications: RoutedNotifications): RoutedContext {
  const { storage, clock, hashKey } = options;
  const kernel = new Kernel({
    storage,
    clock,
    machine: routedMachine,
    hashKey,
    onCommit: (commit, before) => {
      if (notifications.isHeard) announceRouted(notifications, commit, options.inspectorUrl);
      options.telemetry?.committed("routed", commit, before?.head, storage);
    },
    onConflict: (sessionId, version) => {
      notifications.notify("conflict", { sessionId, version });
      options.telemetry?.conflicted("routed");
    },
    onReplay: (sessionId, version) => notifications.notify("replayed", { sessionId, version }),
  });
  return {
    options,
    kernel,
    hostKernel: kernel,
    pinned: new PinnedStructures(kernel),
    recent: recentEntries(kernel, options.historyShown),
    beginnings: new Beginnings(kernel, ({ step }: RoutedHead) => step),
    onChecks: ({ sessionId }, checks) => notifications.notify("verifying", { sessionId, ...checks }),
    approvals: new ApprovalGuard(kernel, options.approvals, ROUTED_APPROVALS),
    notifications,
    asking: new Asking(),
  };
}

/** A report, its decision, and as many other events between two reports. */
const COMMITS_PER_ENTRY = 4;

/** The last entries of each history: one more than a decider sees, as the last may be its question. */
export type RecentEntries = LogFold<RoutedEvent, RoutedHead, readonly RoutedEntry[]>;

function recentEntries(kernel: RoutedKernel, historyShown: number): RecentEntries {
  const shown = historyShown + 1;
  return new LogFold<RoutedEvent, RoutedHead, readonly RoutedEntry[]>(
    kernel,
    [],
    (entries, commit) => {
      const history = new RoutedHistory([...entries]);
      history.add(commit);
      return history.last(shown);
    },
    (entries) => entries,
    async ({ sessionId, version }) => {
      const from = version - shown * COMMITS_PER_ENTRY;
      return from < 1 ? undefined : kernel.at(sessionId, from);
    },
  );
}

/** Limits the structures that are cached: characters of their JSON. */
const STRUCTURES_WEIGHT = 32 * 1024 * 1024;

/** The structures that sessions are bound to, from their first commits: editing a workflow changes none of them. */
export class PinnedStructures {
  readonly #kernel: RoutedKernel;
  readonly #known = new RecentMap<string, RoutedStructure>(STRUCTURES_WEIGHT, jsonWeight);

  constructor(kernel: RoutedKernel) {
    this.#kernel = kernel;
  }

  /** Returns the steps, transitions and gates that a session is bound to. */
  async structure({ sessionId }: Pick<RoutedCommit, "sessionId">): Promise<RoutedStructure> {
    return this.#known.get(sessionId) ?? this.#read(sessionId);
  }

  /** Caches the structure of a session that was just started as its log has it: the host may change its own. */
  remember({ sessionId }: Pick<RoutedCommit, "sessionId">, structure: RoutedStructure): void {
    const read = routedStructureSchema.safeParse(JSON.parse(JSON.stringify(structure)));
    if (read.success) this.#known.set(sessionId, read.data);
  }

  async #read(sessionId: RoutedCommit["sessionId"]): Promise<RoutedStructure> {
    const started = eventIn(await this.#kernel.at(sessionId, 1), "started");
    if (started === undefined) throw tampered({ sessionId, version: 1 }, "it has no workflow in it");
    this.#known.set(sessionId, started.structure);
    return started.structure;
  }
}
