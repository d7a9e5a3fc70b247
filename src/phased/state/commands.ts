import type { Verdict } from "../../gate/verdict.js";
import type { JsonObject } from "../../workflow/json.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import type { EventOf, EvidenceRef, PlanChanges, Snapshot, ValueRef, Verification } from "./events.js";
/** Who asks: an agent through the tool, or the host's own code. */
export type Actor = "agent" | "host";

/** What can be asked of a phased session. */
export type SessionCommand =
  | { readonly type: "start"; readonly target: string; readonly options: JsonObject }
  | {
      readonly type: "completePhase";
      readonly phase: number;
      readonly evidence: EvidenceRef;
      readonly verdict: Verdict;
      readonly output?: ValueRef;
      /** What the gate's verifiers have found. */
      readonly verification?: readonly Verification[];
      /** What a person's approval is bound to; needed where the gate asks for one. */
      readonly evidenceHash?: string;
      /** Tasks of the phase that stand as done in the plan already, as far as that is known. */
      readonly stood?: readonly string[];
    }
  | ({ readonly type: "approve"; readonly note?: string } & PersonsWord)
  | ({ readonly type: "deny"; readonly note: string } & PersonsWord)
  | { readonly type: "pause"; readonly note?: string }
  | { readonly type: "resume" }
  | { readonly type: "retryPhase"; readonly phase: number; readonly resetEvidence: boolean; readonly by: Actor }
  | {
      readonly type: "rollback";
      readonly to: number;
      readonly by: Actor;
      /** Also out of a session that is completed or paused: this host believes none of the approvals that it got there by. */
      readonly reopens?: boolean;
    }
  | { readonly type: "overrideGate"; readonly phase: number; readonly by: string; readonly reason: string }
  | { readonly type: "skipPhase"; readonly phase: number; readonly by: string; readonly reason: string }
  | { readonly type: "migrate"; readonly structure: WorkflowStructure; readonly by: string }
  | {
      readonly type: "syncPlan";
      readonly structure: WorkflowStructure;
      readonly by: Actor;
      readonly changes: PlanChanges;
      /** Where the phases lie now that the plan still has, from the current one on: places before and now. */
      readonly places: readonly (readonly [from: number, to: number])[];
    }
  | { readonly type: "planTicked"; readonly ticked: Omit<EventOf<"plan_ticked">, "type"> }
  | { readonly type: "delete"; readonly reason?: string };

/** What a person's approval and a denial have in common. Who it is has been found out before. */
export interface PersonsWord extends Pick<EventOf<"approved">, "by" | "authenticated" | "signature" | "keyId"> {
  /** The evidence that the person has seen. */
  readonly evidenceHash: string;
  /** What was asked, and in which commit: out of the log, for the head holds only its place. */
  readonly asked: { readonly version: number; readonly event: EventOf<"approval_requested"> };
}

/** A command by its name. */
export type CommandOf<T extends SessionCommand["type"]> = Extract<SessionCommand, { type: T }>;

/** How often a gate may be tried. */
export interface AttemptLimits {
  /** Failures in a row after which a session is `failed`. */
  readonly maxAttempts: number;
  /** Failures in all at one phase after which only the host can help. */
  readonly maxAttemptsTotal: number;
}

/** What a command brings along for the checks of the phase that it leads to. */
export function begunOf({ snapshots }: TransitionContext): { snapshots?: Snapshot[] } {
  return snapshots === undefined ? {} : { snapshots: [...snapshots] };
}

/** What a transition needs beside head and command. */
export interface TransitionContext {
  /** The pinned structure of the session. */
  readonly structure: WorkflowStructure;
  readonly limits: AttemptLimits;
  /** What the checks of the phase that the command leads to begin with. */
  readonly snapshots?: readonly Snapshot[] | undefined;
  /** Now, ISO 8601, UTC. */
  readonly at: string;
  /** The version that the commit will have. */
  readonly version: number;
}
