import type { AwaitedApproval } from "../engine/approval/awaited.js";
import type { StateView } from "../engine/state-view.js";
import type { PhaseAttempt } from "../session/history.js";

/** A phase with what happened in it. */
export interface PhaseReport {
  readonly number: number;
  readonly name: string;
  readonly status: "completed" | "skipped" | "current" | "failed" | "ahead";
  readonly attempts: readonly PhaseAttempt[];
}

/** A session as `show --json` prints it. */
export interface SessionReport {
  readonly sessionId: string;
  readonly workflowType: string;
  readonly name: string;
  readonly revision: string;
  readonly target: string;
  readonly status: StateView["head"]["status"];
  readonly phase: number;
  readonly note?: string;
  /** Who is waited for, at a gate that asks a person. */
  readonly awaiting?: {
    readonly prompt: string;
    readonly approvers?: readonly string[];
    readonly evidenceHash: string;
  };
  /** The gate that the log has as passed on an approval by nobody who was named as an approver: this is the session before that. */
  readonly unapproved?: NonNullable<StateView["unapproved"]>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly phases: readonly PhaseReport[];
}

/** Brings a session's state and its history together, phase by phase. */
export function sessionReport(view: StateView, history: readonly PhaseAttempt[]): SessionReport {
  const { sessionId, head, structure, updatedAt, awaiting, unapproved } = view;
  const attempts = new Map<number, PhaseAttempt[]>();
  for (const attempt of history) {
    const others = attempts.get(attempt.phase);
    if (others === undefined) attempts.set(attempt.phase, [attempt]);
    else others.push(attempt);
  }
  const note = head.status === "paused" ? head.note : undefined;
  return {
    sessionId,
    workflowType: head.workflowType,
    name: structure.name,
    revision: head.revision,
    target: head.target,
    status: head.status,
    phase: head.phase,
    ...(note === undefined ? {} : { note }),
    ...(awaiting === undefined ? {} : { awaiting: awaitingReport(awaiting) }),
    ...(unapproved === undefined ? {} : { unapproved }),
    createdAt: head.createdAt,
    updatedAt,
    phases: structure.phases.map(({ number, name }) => ({
      number,
      name,
      status: phaseStatus(view, number),
      attempts: attempts.get(number) ?? [],
    })),
  };
}

function awaitingReport({ prompt, approvers, evidenceHash }: AwaitedApproval): NonNullable<SessionReport["awaiting"]> {
  return { prompt, ...(approvers === undefined ? {} : { approvers }), evidenceHash };
}

function phaseStatus({ head, completedPhases, skippedPhases }: StateView, number: number): PhaseReport["status"] {
  if (skippedPhases.includes(number)) return "skipped";
  if (completedPhases.includes(number)) return "completed";
  if (head.phase !== number) return "ahead";
  return head.status === "failed" ? "failed" : "current";
}
