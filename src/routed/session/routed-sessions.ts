import { type SessionKind, sessionKind } from "../../engine/logs/session-kind.js";
import { routedMachine } from "./routed-machine.js";

/** Routed sessions, for `copySessions({ kinds })`. */
export const ROUTED_SESSIONS: SessionKind = sessionKind(routedMachine);
