/**
 * The events and the head of a routed session, the structure that it pins, and its commands. machine.ts checks events and
 * heads when a log is read.
 */
import type { ApprovalSignature } from "../../approval/message.js";
import type { Problem } from "../../gate/verdict.js";
import type { Snapshot, Verification } from "../../phased/state/events.js";
import type { Owner } from "../../ports/actor.js";
import type { FieldGate } from "../../workflow/gate-definition.js";
import type { JsonObject } from "../../workflow/json.js";
import { FINISH, type RoutedDefinition } from "../../workflow/routed-definition.js";
import type { ApprovalDefinition } from "../../workflow/structure.js";
import type { DecisionUsage, RoutedStatus } from "../decision/request.js";

/** One event of a routed session. */
export type RoutedEvent =
  /** An instance starts and pins the workflow's transitions and gates. */
  | {
      type: "started";
      structure: RoutedStructure;
      context: JsonObject;
      /** Missing if the decider picks it. */
      firstStep?: string | undefined;
      snapshots?: Snapshot[] | undefined;
      /** Who it belongs to, if that is known. */
      owner?: Owner | undefined;
    }
  /** The host hands the instance over. */
  | { type: "assigned"; owner: Owner; by: string; note?: string | undefined }
  /** A client reports on a step, and the step's gate accepts the report. */
  | {
      type: "reported";
      /** The call that the report came with. */
      operation: "advance" | "resume";
      /** The current step. */
      step: string;
      /** Where the client thought that it was. */
      assumedStep?: string | undefined;
      /** The report. */
      report: JsonObject;
      /** The client's updates of the context. */
      contextUpdates: JsonObject;
      /** Problems that don't block. */
      warnings?: Problem[] | undefined;
      /** The results of the gate's verifiers, if it has any. */
      verification?: Verification[] | undefined;
    }
  /** The report shows less than the step's gate asks for; nothing is decided. */
  | {
      type: "gate_refused";
      /** The call that the report came with. */
      operation: "advance" | "resume";
      /** The current step. */
      step: string;
      /** Where the client thought that it was. */
      assumedStep?: string | undefined;
      /** The report. */
      report: JsonObject;
      /** The client's updates of the context. */
      contextUpdates: JsonObject;
      /** The number of this attempt at the step. */
      attempt: number;
      /** True if a client came back and showed nothing: it was no attempt. */
      uncounted?: true | undefined;
      problems: Problem[];
      verification?: Verification[] | undefined;
    }
  /** A call with a key of its own comes with the report that is recorded already: its key is recorded, too. */
  | {
      type: "continued";
      operation: "advance" | "resume";
      /** The commit that the call is answered from: the one with the report, or with the decision on it. */
      of: number;
    }
  /** The evidence is complete and waits for a person's approval. */
  | { type: "approval_requested"; step: string; prompt: string; approvers?: string[] | undefined; evidenceHash: string }
  /** A person approves. */
  | {
      type: "approved";
      /** The name of the step. */
      step: string;
      /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
      by: string;
      /** SHA-256 of the report that was decided on. */
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
      /** The name of the step. */
      step: string;
      /** The approver's name as the host knows it; as the caller gave it, if it is not authenticated. */
      by: string;
      /** SHA-256 of the report that was decided on. */
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
  /** The next step is decided. */
  | {
      type: "decided";
      /** The step that the decision is on; missing for the first one. */
      from?: string | undefined;
      next: string;
      /** The decider's updates of the context. */
      contextUpdates: JsonObject;
      status: RoutedStatus;
      reasoning?: string | undefined;
      /** The cost of the decision, if it is known. */
      usage?:
        | {
            model?: string | undefined;
            inputTokens?: number | undefined;
            outputTokens?: number | undefined;
            requests?: number | undefined;
          }
        | undefined;
      /** How long the decision took. */
      milliseconds: number;
      /** What was interpreted differently from the answer, and why. */
      notes?: string[] | undefined;
      snapshots?: Snapshot[] | undefined;
    }
  /** The decision failed. */
  | {
      type: "failed";
      step?: string | undefined;
      /** The code of the error. */
      code: string;
      reason: string;
      /** Missing for failures before the decider was asked. */
      milliseconds?: number | undefined;
    }
  | { type: "suspended"; reason?: string | undefined; operator?: string | undefined }
  /** A failed instance runs again; by the host if there is an operator. */
  | { type: "retried"; snapshots?: Snapshot[] | undefined; operator?: string | undefined; note?: string | undefined }
  /** The host lets a suspended instance run again. */
  | { type: "released"; operator: string; note?: string | undefined }
  | { type: "cancelled"; reason?: string | undefined }
  | { type: "deleted"; reason?: string | undefined; operator?: string | undefined };

/** An event of one type. */
export type RoutedEventOf<T extends RoutedEvent["type"]> = Extract<RoutedEvent, { type: T }>;

/**
 * The state of a routed session: everything that the next decision needs, and nothing that grows with the
 * work done.
 */
export type RoutedHead =
  | (RoutedFacts & { status: "RUNNING" })
  | (RoutedFacts & { status: "SUSPENDED"; reason?: string | undefined })
  | (RoutedFacts & { status: "COMPLETED"; completedAt: string })
  | (RoutedFacts & {
      status: "FAILED";
      completedAt: string;
      /** The code of the error. */
      code: string;
      reason: string;
      /** True if `retry` can continue it. */
      retryable: boolean;
    })
  | (RoutedFacts & { status: "DELETED"; reason?: string | undefined });

/** The part of a head that every status has. */
export interface RoutedFacts {
  /** The name of the workflow. */
  workflow: string;
  /** The revision that the session has pinned. */
  revision: string;
  /** The step that was decided last; missing until the decider has picked the first one. */
  step?: string | undefined;
  /** The number of steps. */
  total: number;
  /** The context, with all updates merged in. */
  context: JsonObject;
  /** The question that no decider has answered yet, if there is one. */
  pending?: PendingDecision | undefined;
  /** The report that was decided last, and the commit that did it: a repeated report gets the same answer. */
  answered?: { digest: string; version: number } | undefined;
  /** How often steps with `maxVisits` were entered. */
  visits: Record<string, number>;
  /** Failures in a row at the gate of the current step. */
  attempts: number;
  /** Failures in total since the current step was entered. */
  spent: number;
  /** The commit with the current step's snapshots, if there are any. */
  baseline?: number | undefined;
  /** Who it belongs to. Missing if nobody was recorded. */
  owner?: Owner | undefined;
  /** When the session was started: ISO 8601, UTC. */
  createdAt: string;
}

/** A question that no decider has answered yet. */
export interface PendingDecision {
  /** The call that it is for. */
  operation: "start" | "advance" | "resume";
  /** The version of the commit that holds the report, or the start. */
  version: number;
  /** Where the client thought that it was. */
  assumedStep?: string | undefined;
  /** Identifies the report and its updates, so that a repeated report is recognised. */
  digest: string;
  /** A person's approval is awaited before the decider is asked. */
  awaiting?: { version: number; evidenceHash: string } | undefined;
}

/** What a session pins: editing a workflow changes neither transitions nor gates of sessions under way. */
export interface RoutedStructure {
  /** The workflow's name. */
  name: string;
  /** The digest of its definition. */
  revision: string;
  /** What the workflow is for. */
  goal?: string | undefined;
  /** At least one. */
  steps: PinnedStep[];
}

/** A pinned step. */
export interface PinnedStep {
  /** Its name. */
  name: string;
  /** The only steps, or `FINISH`, that may follow. Any if missing. */
  next?: string[] | undefined;
  /** The gate for the report's `details`. None if missing. */
  gate?: FieldGate | undefined;
  /** How often the step may be entered. Any number of times if missing. */
  maxVisits?: number | undefined;
}

/** Returns the part of a definition that is pinned. */
export function structureOf({ name, revision, goal, steps }: RoutedDefinition): RoutedStructure {
  return {
    name,
    revision,
    ...(goal === undefined ? {} : { goal }),
    steps: steps.map((step) => ({
      name: step.name,
      ...(step.next === undefined ? {} : { next: [...step.next] }),
      ...(step.gate === undefined ? {} : { gate: step.gate }),
      ...(step.maxVisits === undefined ? {} : { maxVisits: step.maxVisits }),
    })),
  };
}

/** Returns a step by its name. */
export function stepOf(structure: RoutedStructure, name: string): PinnedStep | undefined {
  return structure.steps.find((step) => step.name === name);
}

/** How often steps with `maxVisits` were entered, by name. */
type Visits = Readonly<Record<string, number>>;

/**
 * Returns the steps that may follow, including `FINISH` if it may; without a step, those that the work may
 * begin with.
 */
export function allowedNext(structure: RoutedStructure, from: string | undefined, visits: Visits): string[] {
  const names = structure.steps.map(({ name }) => name);
  const next = from === undefined ? names : (stepOf(structure, from)?.next ?? [...names, FINISH]);
  const usedUp = structure.steps.filter(
    ({ name, maxVisits: max }) => max !== undefined && visitsOf(name, visits) >= max,
  );
  return next.filter((name) => !usedUp.some((step) => step.name === name));
}

/** Returns how often a step was entered. Own keys only: a step may be called `toString`. */
export function visitsOf(name: string, visits: Visits): number {
  return Object.hasOwn(visits, name) ? (visits[name] ?? 0) : 0;
}

/** A report with its context updates. */
export interface ReportFacts {
  readonly operation: "advance" | "resume";
  readonly assumedStep?: string;
  readonly report: JsonObject;
  readonly contextUpdates: JsonObject;
  readonly digest: string;
  /** The context with the updates merged in; the caller has bounded it. */
  readonly context: JsonObject;
}

/** The snapshots of the step that is entered. */
interface Begins {
  readonly snapshots?: readonly Snapshot[];
}

/** A command to a routed session. */
export type RoutedCommand =
  | ({
      readonly type: "start";
      readonly structure: RoutedStructure;
      readonly context: JsonObject;
      readonly digest: string;
      /** Missing if the decider chooses it. */
      readonly firstStep?: string;
      readonly owner?: Owner | undefined;
    } & Begins)
  | { readonly type: "assign"; readonly owner: Owner; readonly by: string; readonly note?: string }
  | ({
      readonly type: "report";
      readonly warnings?: readonly Problem[];
      readonly verification?: readonly Verification[];
      /** The gate requires an approval of this evidence. */
      readonly approval?: { readonly question: ApprovalDefinition; readonly evidenceHash: string };
    } & ReportFacts)
  | { readonly type: "continue"; readonly operation: "advance" | "resume"; readonly of: number }
  | ({
      readonly type: "refuse";
      readonly problems: readonly Problem[];
      readonly verification?: readonly Verification[];
      /** True if it counts as an attempt at the gate. */
      readonly counted: boolean;
      readonly maxAttempts: number;
      readonly maxAttemptsTotal: number;
    } & ReportFacts)
  | {
      readonly type: "approve" | "deny";
      readonly by: string;
      readonly note?: string;
      readonly evidenceHash: string;
      readonly authenticated: boolean;
      readonly signature?: ApprovalSignature | undefined;
      readonly keyId?: string | undefined;
      readonly maxAttempts: number;
      readonly maxAttemptsTotal: number;
    }
  | ({
      readonly type: "decide";
      /** The question that it answers. */
      readonly pending: number;
      readonly next: string;
      readonly contextUpdates: JsonObject;
      readonly context: JsonObject;
      readonly status: RoutedStatus;
      readonly reasoning?: string;
      readonly usage?: DecisionUsage;
      readonly milliseconds: number;
      readonly notes: readonly string[];
      /** True if the visits of the entered step are counted. */
      readonly counted: boolean;
      /** True if a client that came back continues its step: the step's snapshots stay. */
      readonly stays: boolean;
    } & Begins)
  | {
      readonly type: "fail";
      readonly pending: number;
      readonly code: string;
      readonly reason: string;
      readonly milliseconds?: number;
    }
  | { readonly type: "suspend"; readonly reason?: string; readonly operator?: string }
  | ({
      readonly type: "retry";
      readonly maxAttemptsTotal: number;
      /** The person or program that retries on behalf of the host, which may grant more attempts. */
      readonly operator?: string;
      readonly note?: string;
    } & Begins)
  | { readonly type: "release"; readonly operator: string; readonly note?: string }
  | { readonly type: "cancel"; readonly reason?: string }
  | { readonly type: "delete"; readonly reason?: string; readonly operator?: string };
