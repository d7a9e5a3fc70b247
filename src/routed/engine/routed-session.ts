import type { Kernel } from "../../kernel/kernel.js";
import type { Current, Recorded } from "../../kernel/recorded.js";
import type { RoutedCommand } from "../session/commands.js";
import type { RoutedEvent } from "../session/events.js";
import type { RoutedHead } from "../session/head.js";

/** The kernel of routed sessions. */
export type RoutedKernel = Kernel<RoutedCommand, RoutedEvent, RoutedHead>;
/** Where a routed session stands. */
export type RoutedSession = Current<RoutedHead>;
/** A commit of a routed session. */
export type RoutedCommit = Recorded<RoutedEvent, RoutedHead>;
