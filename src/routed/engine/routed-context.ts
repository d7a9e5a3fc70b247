import type { VerifyContext } from "../../engine/verify/verify-context.js";
import type { RoutedApprovals } from "./approval-guard.js";
import type { Histories } from "./histories.js";
import type { RoutedNotifications } from "./notifications.js";
import type { PinnedWays } from "./pinned-ways.js";
import type { ResolvedRoutedOptions } from "./resolve-options.js";
import type { RoutedCommit, RoutedKernel } from "./routed-session.js";

/** What the parts of a routed engine share. */
export interface RoutedContext {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  readonly pinned: PinnedWays;
  readonly histories: Histories;
  readonly beginnings: VerifyContext["beginnings"];
  readonly approvals: RoutedApprovals;
  readonly notifications: RoutedNotifications;
  /** Questions that are on their way, by session and pending report: who asks the same waits for one answer. */
  readonly asking: Map<string, Promise<RoutedCommit>>;
}
