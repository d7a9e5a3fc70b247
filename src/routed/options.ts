/**
 * The options of a routed engine with their defaults, and what its operations share, such as the caches of histories and
 * structures. Options that phased engines have too are checked in one place for both.
 */
import { ApprovalGuard } from "../approval/guard.js";
import { tampered } from "../log/commit.js";
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
import { TIMER_MAX, type VerifyContext } from "../phased/verify/run-verifiers.js";
import type { Caller } from "../ports/actor.js";
import type { RoutedSource } from "../ports/content-provider.js";
import type { StepDecider } from "../ports/step-decider.js";
import { ENTRY_WEIGHT, jsonWeight, RecentMap } from "../workflow/cache.js";
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
import type { RoutedHead, RoutedStructure } from "./state/events.js";
import { type RoutedEntry, RoutedHistory } from "./state/history.js";
import {
  type RoutedCommit,
  type RoutedKernel,
  type RoutedSession,
  routedMachine,
  routedStructureSchema,
} from "./state/machine.js";

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

/** Options with all defaults filled in. */
interface ResolvedRoutedOptions
  extends Pick<
    ResolvedOptions,
    | "storage"
    | "enforcement"
    | "verifiers"
    | "hashKey"
    | "approvals"
    | "inspectorUrl"
    | "clock"
    | "evidenceLimits"
    | "owner"
    | "quotas"
    | "telemetry"
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
  const { workflows, decider, firstStep = "first", historyShown = 5 } = options;
  const { limits = {}, ...rest } = options;
  const shared = resolveOptions({ ...rest, limits, content: NO_CONTENT });
  const { storage, enforcement, verifiers, hashKey, approvals, clock, evidenceLimits } = shared;
  const { inspectorUrl, owner, quotas, telemetry } = shared;
  const { newId = clock.newId } = options;
  return {
    storage,
    enforcement,
    verifiers,
    approvals,
    clock,
    evidenceLimits,
    ...(hashKey === undefined ? {} : { hashKey }),
    ...(inspectorUrl === undefined ? {} : { inspectorUrl }),
    ...(owner === undefined ? {} : { owner }),
    workflows,
    decider: telemetry?.decider(decider) ?? decider,
    telemetry,
    quotas,
    limits: { ...resolveLimits(limits), ...shared.limits },
    firstStep,
    historyShown,
    newId,
  };
}

/** What the operations of a routed engine share. */
export interface RoutedContext extends Pick<VerifyContext, "beginnings" | "onChecks"> {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  /** The host's, which finds all instances. */
  readonly hostKernel: RoutedKernel;
  readonly pinned: PinnedStructures;
  readonly histories: Histories;
  /** Asked before anything is shown or done behind a gate that requires an approval. */
  readonly approvals: RoutedGuard;
  readonly notifications: RoutedNotifications;
  /** The questions under way. */
  readonly asking: Asking;
  /** For whom it is done; for the host itself if missing. The kernel finds no instance that they may not see. */
  readonly caller?: Caller;
}

/** Creates what the operations of an engine share. */
export function createRoutedContext(options: ResolvedRoutedOptions, notifications: RoutedNotifications): RoutedContext {
  const { storage, clock, hashKey } = options;
  const kernel = new Kernel({
    storage,
    clock,
    machine: routedMachine,
    ...(hashKey === undefined ? {} : { hashKey }),
    onCommit: (commit, before, characters) => {
      histories.add(commit, before, characters);
      if (notifications.isHeard) announceRouted(notifications, commit, options.inspectorUrl);
      options.telemetry?.committed("routed", commit, before?.head, storage);
    },
    onConflict: (sessionId, version) => {
      notifications.notify("conflict", { sessionId, version });
      options.telemetry?.conflicted("routed");
    },
    onReplay: (sessionId, version) => notifications.notify("replayed", { sessionId, version }),
  });
  const histories = new Histories(kernel, options.historyShown);
  const pinned = new PinnedStructures(kernel);
  const approvals = new ApprovalGuard(kernel, options.approvals, ROUTED_APPROVALS);
  const beginnings = new Beginnings(kernel, ({ step }: RoutedHead) => step);
  const asking = new Asking();
  const onChecks: VerifyContext["onChecks"] = ({ sessionId }, checks) =>
    notifications.notify("verifying", { sessionId, ...checks });
  const shared = { options, kernel, hostKernel: kernel, pinned, histories, beginnings, onChecks };
  return { ...shared, approvals, notifications, asking };
}

function resolveLimits(given: Partial<RoutedLimits>): Omit<RoutedLimits, keyof ResolvedOptions["limits"]> {
  const { maxContextBytes, maxReportBytes, deciderDeadlineMs } = DEFAULT_ROUTED_LIMITS;
  return {
    maxContextBytes: given.maxContextBytes ?? maxContextBytes,
    maxReportBytes: given.maxReportBytes ?? maxReportBytes,
    deciderDeadlineMs: Math.min(given.deciderDeadlineMs ?? deciderDeadlineMs, TIMER_MAX),
  };
}

interface Tail {
  readonly version: number;
  readonly hash: string;
  readonly entries: readonly RoutedEntry[];
  /** About the characters of the events that its entries are made from. */
  readonly characters: number;
}

/** Limits the last entries of sessions that are cached, in characters of their events. */
const TAILS_WEIGHT = 32 * 1024 * 1024;
/** The events of a commit with more characters than this are measured: most of it may be the session's context. */
const LARGE = 4096;
const NO_TAIL: Tail = { version: 0, hash: "", entries: [], characters: 0 };
/** A report, its decision, and as many other events between two reports. */
const COMMITS_PER_ENTRY = 4;

/** The last entries of sessions' histories, so that a decider's question does not read the whole log each time. */
export class Histories {
  readonly #kernel: RoutedKernel;
  readonly #shown: number;
  readonly #tails = new RecentMap<string, Tail>(TAILS_WEIGHT, ({ characters }) => ENTRY_WEIGHT + characters);

  /** `shown` is the number of entries to return. */
  constructor(kernel: RoutedKernel, shown: number) {
    this.#kernel = kernel;
    this.#shown = shown;
  }

  /** Adds a commit that this engine has made. */
  add(commit: RoutedCommit, before: RoutedSession | undefined, characters: number): void {
    const { sessionId, version } = commit;
    const tail = version === 1 ? NO_TAIL : this.#tails.get(sessionId);
    // After a restore from a backup, the log may have gone on in another way.
    if (tail?.version !== version - 1 || tail.hash !== (before?.hash ?? "")) return;
    this.#tails.set(sessionId, this.#after(tail, commit, characters));
  }

  /** Returns the last entries up to the session's current version, oldest first; not a promise if they are cached. */
  recent(
    at: Pick<RoutedCommit, "sessionId" | "version" | "hash">,
  ): readonly RoutedEntry[] | Promise<readonly RoutedEntry[]> {
    const known = this.#tails.get(at.sessionId);
    return known?.version === at.version && known.hash === at.hash ? known.entries : this.#read(at, known);
  }

  async #read(
    { sessionId, version }: Pick<RoutedCommit, "sessionId" | "version">,
    known: Tail | undefined,
  ): Promise<readonly RoutedEntry[]> {
    const isPrefix = known !== undefined && known.version < version && (await this.#isIn(sessionId, known));
    let tail = isPrefix ? known : await this.#begin(sessionId, version);
    const after = tail.version === 0 ? undefined : tail;
    for await (const commit of this.#kernel.log(sessionId, after)) {
      tail = this.#after(tail, commit);
    }
    this.#tails.set(sessionId, tail);
    return tail.entries;
  }

  async #isIn(sessionId: RoutedCommit["sessionId"], { version, hash }: Tail): Promise<boolean> {
    return version === 0 || (await this.#kernel.at(sessionId, version)).hash === hash;
  }

  /** Reads some commits before the end: usually more than needed for the requested entries. */
  async #begin(sessionId: RoutedCommit["sessionId"], version: number): Promise<Tail> {
    const from = version - (this.#shown + 1) * COMMITS_PER_ENTRY;
    if (from < 1) return NO_TAIL;
    return { ...NO_TAIL, version: from, hash: (await this.#kernel.at(sessionId, from)).hash };
  }

  /** Keeps one more entry than is shown: the last one may be the report that is asked about. */
  #after(tail: Tail, commit: RoutedCommit, characters = Number.POSITIVE_INFINITY): Tail {
    const history = new RoutedHistory([...tail.entries]);
    history.add(commit);
    const { version, hash } = commit;
    const entries = history.entries.slice(-(this.#shown + 1));
    // The first commit has the workflow, which no entry has. The characters of commits that are shown no more fade away.
    const added = version === 1 ? 0 : characters <= LARGE ? characters : JSON.stringify(commit.events).length;
    const faded = tail.characters * (1 - 1 / (COMMITS_PER_ENTRY * (this.#shown + 1)));
    return { version, hash, entries, characters: faded + added };
  }
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

  /** Returns the steps, transitions and gates that a session is bound to; not a promise if they are cached. */
  structure({ sessionId }: Pick<RoutedCommit, "sessionId">): RoutedStructure | Promise<RoutedStructure> {
    return this.#known.get(sessionId) ?? this.#read(sessionId);
  }

  /** Caches the structure of a session that was just started as its log has it: the host may change its own. */
  remember({ sessionId }: Pick<RoutedCommit, "sessionId">, structure: RoutedStructure): void {
    const read = routedStructureSchema.safeParse(JSON.parse(JSON.stringify(structure)));
    if (read.success) this.#known.set(sessionId, read.data);
  }

  async #read(sessionId: RoutedCommit["sessionId"]): Promise<RoutedStructure> {
    const { events } = await this.#kernel.at(sessionId, 1);
    const started = events.find(({ type }) => type === "started");
    if (started?.type !== "started") throw tampered({ sessionId, version: 1 }, "it has no workflow in it");
    this.#known.set(sessionId, started.structure);
    return started.structure;
  }
}
