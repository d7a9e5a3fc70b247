import type { Kernel } from "../../kernel/kernel.js";
import type { Current, Recorded } from "../../kernel/recorded.js";
import type { RoutedCommand } from "../session/commands.js";
import type { RoutedEvent } from "../session/events.js";
import type { RoutedHead } from "../session/head.js";
import type { Histories } from "./histories.js";
import type { RoutedNotifications } from "./notifications.js";
import type { PinnedWays } from "./pinned-ways.js";
import type { ResolvedRoutedOptions } from "./resolve-options.js";

/** The kernel of routed sessions. */
export type RoutedKernel = Kernel<RoutedCommand, RoutedEvent, RoutedHead>;
/** Where a routed session stands. */
export type RoutedSession = Current<RoutedHead>;
/** A commit of a routed session. */
export type RoutedCommit = Recorded<RoutedEvent, RoutedHead>;

/** What the parts of a routed engine share. */
export interface RoutedContext {
  readonly options: ResolvedRoutedOptions;
  readonly kernel: RoutedKernel;
  readonly pinned: PinnedWays;
  readonly histories: Histories;
  readonly notifications: RoutedNotifications;
  /** Questions that are on their way, by session and pending report: who asks the same waits for one answer. */
  readonly asking: Map<string, Promise<RoutedCommit>>;
}
