import { type SessionKind, sessionKind } from "../../engine/logs/session-kind.js";
import { recordedMachine } from "./recorded-machine.js";

/** Recorded sessions of workspaces, for `copySessions({ kinds })`. */
export const RECORDED_SESSIONS: SessionKind = sessionKind(recordedMachine);
