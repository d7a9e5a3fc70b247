import type { CompleteRequest } from "../../src/phased/complete-phase.js";
import type { CompleteResult } from "../../src/phased/gate-answer.js";

/** A session whose gate takes evidence. */
interface Submitting {
  completePhase(
    phase: number,
    evidence: unknown,
    more: Omit<CompleteRequest, "phase" | "evidence">,
  ): Promise<CompleteResult>;
}

/** Submits a request that is made once and repeated. */
export function submitTo(session: Submitting, { phase, evidence, ...more }: CompleteRequest): Promise<CompleteResult> {
  return session.completePhase(phase, evidence, more);
}
