import type { SessionId } from "../definition/names.js";
import type { SessionHead } from "../session/head.js";
import { exhausted } from "../session/refusals.js";
import type { EngineContext } from "./engine-context.js";

/** Where a session stands, as far as it decides what can be asked of it. */
export interface Standing {
  readonly sessionId: SessionId;
  readonly status: SessionHead["status"];
  readonly currentPhase: number;
  readonly totalPhases: number;
  /** Whether the agent has used up its attempts at the current phase: only the host can grant more. */
  readonly exhausted: boolean;
  /** Whether complete evidence waits for a person's word. */
  readonly awaitingApproval: boolean;
}

/** Reads it off a head. */
export function standingOf(
  { options }: EngineContext,
  { sessionId, head }: { readonly sessionId: SessionId; readonly head: SessionHead },
): Standing {
  return {
    sessionId,
    status: head.status,
    currentPhase: head.phase,
    totalPhases: head.total,
    awaitingApproval: head.status === "active" && head.awaiting !== undefined,
    exhausted: head.status !== "completed" && exhausted(head, options.limits) !== undefined,
  };
}
