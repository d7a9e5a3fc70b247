/** What people have waived in a session: at which phase, who asked for it, and when it was asked for and granted. */
import type { Waived } from "../phased/state/events.js";
import { isAttemptAt, type PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";

export interface WaiverAt {
  /** The phase: `2 Build and test`. */
  readonly place: string;
  readonly waived: Waived;
  /** ISO 8601, UTC; missing if the log does not say it. */
  readonly askedAt?: string | undefined;
  readonly grantedAt?: string | undefined;
}

/** Returns the waivers that count, at the phases that were passed and at the current one, in the order of the phases. */
export function waiversIn(state: StateView, attempts: readonly PhaseAttempt[]): readonly WaiverAt[] {
  const { structure, status, currentPhase, waived: now = [] } = state;
  return structure.phases.flatMap(({ number, name }) => {
    const own = attempts.filter((attempt) => isAttemptAt(attempt, number));
    const passed = own.findLast((attempt) => attempt.status === "completed")?.waived ?? [];
    const counted = number === currentPhase && status !== "completed" ? now : passed;
    const notes = own.flatMap((attempt) => attempt.notes ?? []);
    return counted.map((waived) => {
      const at = notes.findLastIndex(
        ({ event, by, fields }) =>
          event === "waiver_granted" && by === waived.by && fields?.join() === waived.fields.join(),
      );
      const asked = notes.slice(0, Math.max(at, 0)).findLast(({ event }) => event === "waiver_requested");
      return { place: `${number} ${name}`, waived, askedAt: asked?.at, grantedAt: notes[at]?.at };
    });
  });
}

/** Says whose agent has asked: of the session's owner, as far as it is known. */
export function askerText(owner: string | undefined): string {
  return owner === undefined ? "by the agent" : `by ${owner}'s agent`;
}
