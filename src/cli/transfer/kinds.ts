import type { SessionKind } from "../../engine/logs/session-kind.js";
import { ROUTED_SESSIONS } from "../../routed/session/routed-sessions.js";

/** The kinds of sessions that this bin can move, beside phased ones. */
export const KINDS: readonly SessionKind[] = [ROUTED_SESSIONS];
