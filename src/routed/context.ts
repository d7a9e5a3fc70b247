import { Kernel } from "../log/log.js";
import { Beginnings } from "../phased/verify/snapshots.js";
import type { VerifyContext } from "../phased/verify/verify-context.js";
import { RoutedApprovals } from "./approval-guard.js";
import { Histories, PinnedWays } from "./histories.js";
import { announceRouted, type RoutedNotifications } from "./notifications.js";
import type { ResolvedRoutedOptions } from "./options.js";
import type { RoutedCommit, RoutedKernel } from "./session.js";
import type { RoutedHead } from "./state/events.js";
import { routedMachine } from "./state/machine.js";
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
