import type { ApprovalSignature } from "../../approval/message.js";
import type { Problem } from "../../gate/verdict.js";
import type { Snapshot, Verification } from "../../phased/state/events.js";
import type { JsonObject } from "../../workflow/json.js";
import type { ApprovalDefinition } from "../../workflow/structure.js";
import type { DecisionUsage, RoutedStatus } from "../decision/request.js";
import type { RoutedStructure } from "./events.js";
/** A report with what it adds to the context. */
export interface ReportFacts {
  readonly operation: "advance" | "resume";
  readonly assumedStep?: string;
  readonly report: JsonObject;
  readonly contextUpdates: JsonObject;
  readonly digest: string;
  /** The context with the updates merged in: bounded by who asks. */
  readonly context: JsonObject;
}

/** What the checks of the step that is entered begin with. */
interface Begins {
  readonly snapshots?: readonly Snapshot[];
}

/** What may be asked of a routed session. */
export type RoutedCommand =
  | ({
      readonly type: "start";
      readonly structure: RoutedStructure;
      readonly context: JsonObject;
      readonly digest: string;
      /** Missing where the decider picks it. */
      readonly firstStep?: string;
    } & Begins)
  | ({
      readonly type: "report";
      readonly warnings?: readonly Problem[];
      readonly verification?: readonly Verification[];
      /** The gate asks for a person's word on this evidence. */
      readonly approval?: { readonly question: ApprovalDefinition; readonly evidenceHash: string };
    } & ReportFacts)
  | ({
      readonly type: "refuse";
      readonly problems: readonly Problem[];
      readonly verification?: readonly Verification[];
      /** Whether it was an attempt at the gate. */
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
      /** Which question it answers. */
      readonly pending: number;
      readonly next: string;
      readonly contextUpdates: JsonObject;
      readonly context: JsonObject;
      readonly status: RoutedStatus;
      readonly reasoning?: string;
      readonly usage?: DecisionUsage;
      readonly milliseconds: number;
      readonly notes: readonly string[];
      /** Whether the step that is entered counts its visits. */
      readonly counted: boolean;
      /** A client that came back goes on with the step that it was on: what the step began with stays. */
      readonly stays: boolean;
    } & Begins)
  | {
      readonly type: "fail";
      readonly pending: number;
      readonly code: string;
      readonly reason: string;
      readonly milliseconds?: number;
    }
  | { readonly type: "suspend"; readonly reason?: string }
  | ({ readonly type: "retry"; readonly maxAttemptsTotal: number } & Begins)
  | { readonly type: "cancel"; readonly reason?: string }
  | { readonly type: "delete"; readonly reason?: string };
