/** The types of routed sessions in the log. */

import type { Current, Recorded } from "../log/commit.js";
import type { Kernel } from "../log/log.js";
import type { RoutedCommand } from "./state/commands.js";
import type { RoutedEvent, RoutedHead } from "./state/events.js";

/** The kernel of routed sessions. */
export type RoutedKernel = Kernel<RoutedCommand, RoutedEvent, RoutedHead>;
/** The current state of a routed session. */
export type RoutedSession = Current<RoutedHead>;
/** A commit of a routed session. */
export type RoutedCommit = Recorded<RoutedEvent, RoutedHead>;
