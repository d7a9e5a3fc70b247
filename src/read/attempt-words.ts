/** How an attempt at a gate stands, in the words that people are shown: in the terminal and on the page. */
import type { PhaseAttempt } from "../phased/state/history.js";
import type { PhaseLine } from "./model.js";

/** `next`: the gate has refused the attempt before, and nothing was submitted since. `waived`: it has passed, with a waiver. */
export type AttemptWord =
  | "working"
  | "next"
  | "verifying"
  | "waiting"
  | "paused"
  | "refused"
  | "denied"
  | "passed"
  | "waived"
  | "rolled back"
  | "skipped"
  | "overridden";

/** Returns the word for an attempt; `phase` is the state of its phase, and `isVerifying` is true while its checks run. */
export function attemptWord(
  { status, verification, waived = [], notes = [] }: Omit<PhaseAttempt, "evidence">,
  phase: PhaseLine["state"] | undefined,
  isVerifying = false,
): AttemptWord {
  switch (status) {
    case "completed":
      return waived.length > 0 ? "waived" : "passed";
    case "failed":
      return verification === undefined && notes.some(({ event }) => event === "denied") ? "denied" : "refused";
    case "rolled_back":
      return "rolled back";
    case "skipped":
    case "overridden":
      return status;
    case "active":
      if (isVerifying) return "verifying";
      if (phase === "refused") return "next";
      return phase === "waiting" || phase === "paused" ? phase : "working";
  }
}
