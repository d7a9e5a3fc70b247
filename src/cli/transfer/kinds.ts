import type { SessionKind } from "../../engine/logs/session-kind.js";
import { ROUTED_SESSIONS } from "../../routed/session/routed-sessions.js";
import { RECORDED_SESSIONS } from "../../workspace/session/recorded-sessions.js";

/** The kinds of sessions that this bin can move, beside phased ones. */
export const KINDS: readonly SessionKind[] = [ROUTED_SESSIONS, RECORDED_SESSIONS];
