/** The events of a phased session: what each one says. schemas.ts checks the same when a log is read. */
import type { ApprovalSignature } from "../../approval/message.js";
import type { Proof } from "../../gate/backed-claims.js";
import type { Problem } from "../../gate/verdict.js";
import type { Owner } from "../../ports/actor.js";
import type { JsonObject, JsonValue } from "../../workflow/json.js";
import type { WorkflowStructure } from "../../workflow/structure.js";

/** One event of a phased session. Phases are meant by their numbers; positions count them from 0. */
export type SessionEvent =
  /** A session starts and pins the workflow's definition. */
  | { type: "started"; target: string; options: JsonObject; structure: WorkflowStructure; owner?: Owner | undefined }
  /** The host hands the session over. */
  | { type: "assigned"; owner: Owner; by: string; note?: string | undefined }
  /** The session enters a phase, whose verifiers may have recorded what is there. */
  | { type: "phase_entered"; phase: number; position: number; snapshots?: Snapshot[] | undefined }
  /** The evidence is complete and waits for a person's approval. */
  | ({
      type: "approval_requested";
      /** The question for the person. */
      prompt: string;
      /** The names of those who may answer; any approver if missing. */
      approvers?: string[] | undefined;
      /** SHA-256 of the evidence, which the answer is bound to. */
      evidenceHash: string;
    } & CompleteEvidence)
  /** A person approves. Comes before the `gate_passed` or `gate_failed` that follows from it. */
  | {
      type: "approved";
      phase: number;
      /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
      by: string;
      /** SHA-256 of the evidence that was decided on. */
      evidenceHash: string;
      /** The version of the commit that asked. */
      asked: number;
      /** True if there was a valid signature by that name's key. */
      authenticated: boolean;
      /** The signature, if there is one. */
      signature?: ApprovalSignature | undefined;
      /** The id of the public key that the signature was checked with. */
      keyId?: string | undefined;
      /** The person's comment. */
      note?: string | undefined;
    }
  /** A person denies. */
  | {
      type: "denied";
      phase: number;
      /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
      by: string;
      /** SHA-256 of the evidence that was decided on. */
      evidenceHash: string;
      /** The version of the commit that asked. */
      asked: number;
      /** True if there was a valid signature by that name's key. */
      authenticated: boolean;
      /** The signature, if there is one. */
      signature?: ApprovalSignature | undefined;
      /** The id of the public key that the signature was checked with. */
      keyId?: string | undefined;
      /** What to change. */
      note: string;
    }
  /** An agent can't meet some of what its gate asks for, and asks a person to do without. */
  | {
      type: "waiver_requested";
      phase: number;
      /** The names of what is to be waived, as `waivable` in src/gate/waivers.ts gives them. */
      fields: string[];
      /** Why it can't be met. */
      reason: string;
      /** The names of those who may answer; anyone that the host accepts if missing. */
      approvers?: string[] | undefined;
    }
  /** A person grants a waiver: for these names, until the session leaves the phase. */
  | ({ type: "waiver_granted"; fields: string[]; note?: string | undefined } & WaiverAnswer)
  /** A person denies it, and says what to do instead. */
  | ({ type: "waiver_denied"; note: string } & WaiverAnswer)
  /** Evidence passed its gate. */
  | ({
      type: "gate_passed";
      /** True if the phase comes from a plan, whose tasks must now be ticked. */
      ticks?: true | undefined;
      /** The ids of its tasks that were already ticked in the plan: a rollback keeps their ticks. */
      stood?: string[] | undefined;
      /** The items of its validation gate whose boxes were already ticked, by number, from 1: their ticks are kept too. */
      stoodItems?: number[] | undefined;
    } & CompleteEvidence)
  /** Evidence did not pass its gate. */
  | {
      type: "gate_failed";
      phase: number;
      attempt: number;
      evidence: StoredValue<JsonObject>;
      problems: Problem[];
      verification?: Verification[] | undefined;
      /** Set if it counts as no attempt: nothing failed but checks that had nothing to compare with. */
      uncounted?: true | undefined;
    }
  /** A task of the current phase is noted as done, or as given up: it could not be done, or is optional and left out. */
  | {
      type: "task_completed" | "task_given_up";
      phase: number;
      /** The task's number in its phase. */
      task: number;
      /** What whoever continues should know; of a task that was given up always, and why, unless it was left out. */
      note?: string | undefined;
    }
  /** A step ahead was refused, for the first time in this visit to the phase. */
  | {
      type: "step_refused";
      /** The current phase. */
      phase: number;
      /** The operation of the engine: `getPhase`, `completePhase` and the like. */
      operation: string;
      /** The code of the error. */
      code: string;
      /** The phase that was asked for. */
      requested?: number | undefined;
      /** The task that was asked for. */
      task?: number | undefined;
    }
  /** The host let the session pass without evidence. */
  | { type: "gate_overridden"; phase: number; position: number; by: string; reason: string }
  /** The host skipped a phase, or the workflow's own rule did: then `rule` has it, in CEL. */
  | {
      type: "phase_skipped";
      phase: number;
      position: number;
      by: string;
      reason: string;
      rule?: string | undefined;
    }
  /** `operator` is who asked for it on behalf of the host, here and below. */
  | { type: "paused"; operator?: string | undefined; note?: string | undefined }
  | { type: "resumed"; pausedSeconds: number; operator?: string | undefined; note?: string | undefined }
  /** A failed session continues. With all of the phase's snapshots, if some had failed before. */
  | {
      type: "retried";
      phase: number;
      resetEvidence: boolean;
      by: "agent" | "host";
      snapshots?: Snapshot[] | undefined;
      operator?: string | undefined;
      note?: string | undefined;
    }
  /** The session goes back to an earlier phase. */
  | {
      type: "rolled_back";
      from: number;
      to: number;
      position: number;
      /** The phases that are no longer completed. */
      cleared: number[];
      by: "agent" | "host";
      /** The position from which completed phases come from a plan, whose ticks must now be removed. */
      unticksFrom?: number | undefined;
    }
  /** The last gate has passed. */
  | { type: "completed" }
  /** Too many failures, in a row or in total. */
  | { type: "failed"; phase: number; attempts: number }
  /** The host pinned another revision. With all of the phase's snapshots, if its gate has changed. */
  | {
      type: "migrated";
      structure: WorkflowStructure;
      position: number;
      by: string;
      snapshots?: Snapshot[] | undefined;
      /** The old and new numbers of the tasks that stay noted as done or given up. */
      tasks?: [number, number][] | undefined;
    }
  /** The session adopted the edits of its plan. */
  | {
      type: "plan_synced";
      structure: WorkflowStructure;
      position: number;
      by: "agent" | "host";
      changes: PlanChanges;
      /** The old and new positions of phases with failed attempts, from the current phase on. */
      places?: [number, number][] | undefined;
      /** The old and new numbers of the tasks that stay noted as done or given up. */
      tasks?: [number, number][] | undefined;
      operator?: string | undefined;
      note?: string | undefined;
    }
  /** Ticks were written into the plan. */
  | {
      type: "plan_ticked";
      /** Positions of the phases whose tasks are now ticked in the plan, as ranges. */
      ticks: [from: number, to: number][];
      /** Positions of the phases whose ticks were removed. */
      unticks: [from: number, to: number][];
      /** The tasks that were ticked, by their ids in the plan. */
      ticked: string[];
      /** The tasks whose ticks were removed. */
      unticked: string[];
      /** Tasks that the plan no longer has, by their former ids. */
      missing: string[];
      /** Tasks without a checkbox in the plan. */
      unwritable?: string[] | undefined;
    }
  /** Snapshots that nobody took when the phase was entered, with all others of the phase. */
  | { type: "snapshots_taken"; phase: number; snapshots: Snapshot[] }
  | { type: "deleted"; reason?: string | undefined; operator?: string | undefined };

/** An event of one type. */
export type EventOf<T extends SessionEvent["type"]> = Extract<SessionEvent, { type: T }>;

/** What a gate found complete. */
export interface CompleteEvidence {
  /** The phase's number. */
  phase: number;
  /** Its position among the session's phases, from 0. */
  position: number;
  /** The number of this submission among those at the phase. */
  attempt: number;
  /** The evidence: inline, or the digest of a payload. */
  evidence: StoredValue<JsonObject>;
  /** The schema's output, where it differs from the evidence. */
  output?: StoredValue<JsonValue> | undefined;
  /** Problems that don't block. */
  warnings?: Problem[] | undefined;
  /** The results of the gate's verifiers, if it has any. */
  verification?: Verification[] | undefined;
  /** What was not required, since a person had waived it. */
  waived?: Waived[] | undefined;
  /** Where the agent's claims can be seen, if the host asks for that. */
  proofs?: Proof[] | undefined;
}

/** A person's answer to a request for a waiver. */
export interface WaiverAnswer {
  /** The number of the phase that asked. */
  phase: number;
  /** The person's name as the host knows it; as the caller gave it, if it is not authenticated. */
  by: string;
  /** The version of the commit that asked. */
  asked: number;
  /** True if there was a valid signature by that name's key. */
  authenticated: boolean;
  /** The signature, if there is one. */
  signature?: ApprovalSignature | undefined;
  /** The id of the public key that the signature was checked with. */
  keyId?: string | undefined;
}

/** What a person has waived at a gate. */
export interface Waived {
  /** The names of what is not required. */
  fields: string[];
  /** The reason that the agent gave. */
  reason: string;
  /** The name of the person. */
  by: string;
  /** The person's comment. */
  note?: string | undefined;
  /** True if the person has signed it. */
  authenticated: boolean;
  /** The version of the commit with the person's answer. */
  version: number;
}

/** A value in the log: inline if it is short, otherwise the digest of a payload that holds its JSON. */
export type StoredValue<Value> =
  | { inline: Value }
  | {
      /** The digest of the payload. */
      payload: string;
      /** The length of the JSON, in characters. */
      characters: number;
      /** The value's keys, if it is an object. */
      names: string[];
    };
/** Evidence in the log. */
export type EvidenceRef = StoredValue<JsonObject>;
/** A value in the log: the output of a schema, or a verifier's snapshot. */
export type ValueRef = StoredValue<JsonValue>;

/** A verifier's snapshot of the state that a phase began with. */
export interface Snapshot {
  /** The name of the verifier. */
  verifier: string;
  /** Identifies the gate's check: the SHA-256 of its verifier, field and params. */
  check: string;
  /** When it was taken, if that was later than the moment that it stands for: ISO 8601, UTC. */
  takenAt?: string | undefined;
  /** Missing if the snapshot failed. */
  value?: StoredValue<JsonValue> | undefined;
  /** Why the snapshot failed: the check reports it at the gate. */
  failed?: string | undefined;
}

/** The result of one verifier. */
export interface Verification {
  /** The name of the verifier. */
  verifier: string;
  /** The field whose value was verified; missing if the gate itself asks for the check. */
  field?: string | undefined;
  /** The name of a check that the gate itself asks for, such as `verified_by.2`. */
  check?: string | undefined;
  /** True if the check passed. */
  ok: boolean;
  /** True if the check could not be made: the verifier crashed, timed out, or is not registered. */
  failed?: true | undefined;
  /** True if there is no snapshot to compare with; a retry of the phase takes one. */
  unrecorded?: true | undefined;
  /** What was found, and what to fix. */
  message: string;
  /** What was run or read. */
  ran?: string | undefined;
  /** The exit code of a command, or the status of a response. */
  exit?: number | undefined;
  /** SHA-256 of the output or the content. */
  digest?: string | undefined;
  /** The first and last lines of the output; `…` marks an omission. */
  output?: string[] | undefined;
  /** The time of the check: ISO 8601, UTC. */
  at: string;
}

/** The differences between the plan that a session has pinned and its source. Ticks are not differences. */
export interface PlanChanges {
  /** New phases and tasks. */
  added: PlanChange[];
  /** Phases and tasks that the source no longer has. */
  removed: PlanChange[];
  /** Phases and tasks with another name. */
  renamed: PlanChange[];
  /** Tasks in another phase, or in another order; phases in another order. */
  moved: PlanChange[];
  /** Tasks that depend on other tasks than before. */
  dependencies: PlanChange[];
  /** Tasks with other acceptance criteria. */
  criteria: PlanChange[];
  /** Phases with other items in their validation gate. */
  gate: PlanChange[];
  /** Anything else about a task or a phase: descriptions, estimates, optional tasks. */
  other: PlanChange[];
  /** The number of all differences, listed or not. */
  count: number;
  /** The number of differences of each kind. */
  counts: {
    added: number;
    removed: number;
    renamed: number;
    moved: number;
    dependencies: number;
    criteria: number;
    gate: number;
    other: number;
  };
  /**
   * What is no longer required from the current phase on: items of gates by their texts, tasks with their ids. A task with
   * `from` and `to` has another name; with `to` alone it is now optional, with `from` alone it lacks that part of its text.
   */
  takenAway: PlanChange[];
}

/** One difference: of a phase, or of a task if it has an id. */
export interface PlanChange {
  /** The phase's number in the session; the plan's own if the session has no such phase. */
  phase: number;
  /** The task's own id. */
  id?: string | undefined;
  /** Its current or former name. */
  name: string;
  /** The former value. */
  from?: string | undefined;
  /** The current value. */
  to?: string | undefined;
  /** True if it is in a phase behind the session, which no longer requires it. */
  behind?: true | undefined;
}

/** The kinds of differences, in the order in which they are reported. */
export const PLAN_CHANGE_KINDS = [
  "added",
  "removed",
  "renamed",
  "moved",
  "dependencies",
  "criteria",
  "gate",
  "other",
] as const satisfies readonly Exclude<keyof PlanChanges, "count" | "counts" | "takenAway">[];
/** A kind of difference. */
export type PlanChangeKind = (typeof PLAN_CHANGE_KINDS)[number];
