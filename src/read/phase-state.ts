/** The state of a phase, as people are shown it. */
import { isRefused } from "../phased/state/head.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { PhaseLine } from "./model.js";

/** Returns the state of a phase; `last` is its last attempt, without which one that was overridden is done. */
export function phaseState(state: StateView, number: number, last?: PhaseAttempt): PhaseLine["state"] {
  if (state.skippedPhases.includes(number)) return "skipped";
  if (state.completedPhases.includes(number)) return last?.status === "overridden" ? "overridden" : "done";
  if (number !== state.currentPhase || state.status === "completed") return "ahead";
  if (state.status === "failed" || state.status === "paused") return state.status;
  if (state.awaitingApproval || state.waitsForWaiver) return "waiting";
  return isRefused(state.head) ? "refused" : "working";
}
