/** The commands of a routed session. */

import type { ApprovalSignature } from "../../approval/message.js";
import type { Problem } from "../../gate/verdict.js";
import type { Snapshot, Verification } from "../../phased/state/events.js";
import type { JsonObject } from "../../workflow/json.js";
import type { ApprovalDefinition } from "../../workflow/structure.js";
import type { DecisionUsage, RoutedStatus } from "../decision/request.js";
import type { RoutedStructure } from "./events.js";

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
    } & Begins)
  | ({
      readonly type: "report";
      readonly warnings?: readonly Problem[];
      readonly verification?: readonly Verification[];
      /** The gate requires an approval of this evidence. */
      readonly approval?: { readonly question: ApprovalDefinition; readonly evidenceHash: string };
    } & ReportFacts)
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
  | { readonly type: "suspend"; readonly reason?: string }
  | ({ readonly type: "retry"; readonly maxAttemptsTotal: number } & Begins)
  | { readonly type: "cancel"; readonly reason?: string }
  | { readonly type: "delete"; readonly reason?: string };
