/**
 * What the page and its server say to each other: the answers of the API as JSON, the messages of the stream, and the bodies
 * of requests. The page imports these types alone, and none of the engine's code.
 */

import type { ApprovalAudit } from "../approval/guard.js";
import type { RegistrationOptions } from "../approval/passkey.js";
import type { BrokenSession, ListedSession, WaitsFor } from "../engine/lists.js";
import type { Problem } from "../gate/verdict.js";
import type { Drawing } from "../graph/graph.js";
import type { AuditReport } from "../log/commit.js";
import type { ApprovedPass } from "../phased/approval/ledger.js";
import type { Verification } from "../phased/state/events.js";
import type { AttemptNote, PhaseAttempt } from "../phased/state/history.js";
import type { PhaseStatistics, WorkflowStatistics } from "../phased/sums.js";
import type { RoutedEntry } from "../routed/state/history.js";
import type { RoutedPass } from "../routed/types.js";
import type { JsonObject, JsonValue } from "../workflow/json.js";
import type { RecordedEntry } from "../workspace/session/machine.js";

/** The bodies of `POST api/sessions/ID/challenge`, `…/answer` and `…/action`, as they are checked. */
export type { ActionBody, AnswerBody, ChallengeBody } from "./requests.js";
/** What the answers are made of. */
export type {
  AttemptNote,
  BrokenSession,
  Drawing,
  JsonObject,
  JsonValue,
  ListedSession,
  PhaseStatistics,
  Problem,
  Verification,
  WorkflowStatistics,
};

/** The three kinds of sessions. */
export type Kind = "phased" | "routed" | "recorded";

/** `GET api/about`: what this inspector can do. */
export interface About {
  readonly kinds: readonly Kind[];
  /** What the host has switched on of retry, skip, override, pause, resume and delete. */
  readonly actions: readonly HostAction[];
  /** Who may approve, and with which kind of key. */
  readonly approvers: readonly { readonly name: string; readonly keys: readonly ("ed25519" | "passkey")[] }[];
  /** True if an approval without a signature counts. */
  readonly unsigned: boolean;
  /** Who has logged in; missing where the inspector has one secret for all. */
  readonly actor?: string;
  /** What the sessions are stored in, for the title: `.phasegate`, `sqlite:state.db`. */
  readonly title: string;
}

/** The filters of `GET api/sessions`: its query parameters, and those of the page's own URL. */
export interface SessionFilter {
  readonly kind?: Kind;
  /** Several, joined by commas. */
  readonly status?: string;
  readonly workflow?: string;
  /** A phase's number, or a step's name. */
  readonly phase?: string;
  readonly waiting?: WaitsFor | "any";
  /** Only active sessions without a commit for so many seconds. */
  readonly stuck?: string;
  /** The name of the owner, exactly. */
  readonly owner?: string;
  /** In the id, the workflow or the target; upper and lower case are the same. */
  readonly text?: string;
}

/** `GET api/sessions?…&cursor=`: newest first. */
export interface SessionList {
  readonly items: readonly ListedSession[];
  readonly broken: readonly BrokenSession[];
  /** Continues the list; missing at its end. A page may be empty before the end: a filter that the storage does not have is applied to a bounded number of sessions at a time. */
  readonly cursor?: string;
  /** The number of matches, where it is known. */
  readonly total?: number;
}

/** `GET api/sessions/ID`. */
export type SessionDetail = ShownDetail | BrokenDetail;

/** A session that can be shown. */
export type ShownDetail = PhasedDetail | RoutedDetail | RecordedDetail;

/** A session that can't be shown, and why. Its log can be audited. */
export interface BrokenDetail extends BrokenSession {
  readonly kind: "broken";
}

/** What happens in a session without a commit, as far as the inspector's own process does it. */
export interface Activity {
  /** The checks of its gate that run now. */
  readonly verifying?: readonly string[];
  /** The commits that repeated calls were answered with, by their versions, and how often. */
  readonly replays?: Readonly<Record<number, number>>;
}

interface Detail extends Activity {
  readonly summary: ListedSession;
  readonly version: number;
  /** The receipt: the hash of the last commit; missing where it is not at hand. */
  readonly hash?: string;
  /** The gate that was passed with an approval that this host does not accept. */
  readonly unapproved?: string;
}

/** A phased session. */
export interface PhasedDetail extends Detail {
  readonly kind: "phased";
  readonly workflowName: string;
  readonly revision: string;
  readonly options: JsonObject;
  readonly phases: readonly PhaseLine[];
  /** What the workflow lets the host do at the current phase. */
  readonly may: { readonly skip: boolean; readonly override: boolean };
  readonly drawing: Drawing;
  readonly plan?: { readonly path: string; readonly changed?: string; readonly unreadable?: string };
  readonly awaiting?: Waiting;
  /** What the person has to know first: attempts used up, a plan that changed, a missing snapshot. */
  readonly notices: readonly string[];
}

/** A phase on the timeline. */
export interface PhaseLine {
  readonly number: number;
  readonly name: string;
  readonly state: "done" | "skipped" | "overridden" | "working" | "refused" | "waiting" | "paused" | "failed" | "ahead";
  readonly waived: boolean;
  readonly tasks: readonly {
    readonly number: number;
    readonly name: string;
    readonly state: "done" | "open" | "given_up" | "skipped" | "waived" | "dropped";
  }[];
  /** The numbers of its attempts so far. */
  readonly attempts: number;
  readonly startedAt?: string;
  readonly completedAt?: string;
}

/** `GET api/sessions/ID/attempts?cursor=`: newest first, a page of them. */
export interface AttemptList {
  readonly items: readonly AttemptLine[];
  readonly cursor?: string;
  readonly total: number;
}

/** An attempt without its evidence. */
export interface AttemptLine extends Omit<PhaseAttempt, "evidence"> {
  /** Its position among all attempts, from 0: names it in `api/sessions/ID/attempts/INDEX`. */
  readonly index: number;
}

/** `GET api/sessions/ID/attempts/INDEX`. */
export interface AttemptDetail extends AttemptLine {
  /** What was submitted, as JSON; missing while nothing is. */
  readonly evidence?: JsonObject;
  /** What changed since the attempt before at the same phase; missing for the first one. */
  readonly differences?: readonly Difference[];
  /** What later phases get of the phase, where that is not the evidence itself: the output of the gate's schema. */
  readonly artifact?: JsonValue;
}

/** A value that is not as it was. Long texts are given as a difference of lines. */
export interface Difference {
  /** The path of the value, with dots. */
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
  /** For texts of several lines: the lines, each with ` `, `-` or `+` before it; `…` for lines that are left out. */
  readonly lines?: readonly string[];
}

/** `GET api/sessions/ID/commits?cursor=`: the log, newest first. */
export interface CommitList {
  readonly items: readonly CommitLine[];
  readonly cursor?: string;
  readonly total: number;
}

/** One commit, in words. */
export interface CommitLine {
  readonly version: number;
  readonly at: string;
  readonly hash: string;
  /** The types of its events. */
  readonly events: readonly string[];
  /** Who did it, where that is recorded. */
  readonly by?: string;
  readonly note?: string;
}

/** A routed session. */
export interface RoutedDetail extends Detail {
  readonly kind: "routed";
  readonly drawing: Drawing;
  readonly context: JsonObject;
  /** Oldest first. */
  readonly entries: readonly RoutedEntry[];
  readonly awaiting?: Waiting;
  readonly reason?: string;
}

/** A recorded session. */
export interface RecordedDetail extends Detail {
  readonly kind: "recorded";
  readonly agent?: string;
  readonly entries: readonly RecordedEntry[];
}

/** A request in the inbox: who asks what. What it is about is in {@link Waiting}. */
export interface WaitingLine {
  readonly what: "approval" | "waiver";
  readonly sessionId: string;
  readonly kind: Kind;
  readonly workflowType: string;
  readonly target: string;
  readonly phase: number;
  readonly phaseName: string;
  /** The question, or the agent's reason; cut in the inbox. */
  readonly question: string;
  /** Who may answer; anyone that the host accepts if missing. */
  readonly approvers?: readonly string[];
  readonly askedAt: string;
  /** Names the request: an answer must name it again. */
  readonly request: string;
}

/** `GET api/sessions/ID/waiting`: what a session waits for a person for, with all that the person has to see. */
export interface Waiting extends WaitingLine {
  /** What is to be waived, and what the gate says of it. */
  readonly fields?: readonly { readonly name: string; readonly text: string }[];
  /** Only for an approval: the hash of the evidence. */
  readonly evidenceHash?: string;
  /** What is to be approved; for a waiver, what was submitted last. */
  readonly evidence?: JsonObject;
  /** Only for an approval: the fields of the evidence that no check has looked at. */
  readonly unchecked?: readonly string[];
  /** What changed since the last refusal. */
  readonly differences?: readonly Difference[];
  readonly verification: readonly Verification[];
  readonly warnings: readonly Problem[];
  /** What was wrong with the attempt before, or what a person has denied. */
  readonly before?: { readonly problems: readonly Problem[]; readonly notes: readonly AttemptNote[] };
}

/** `GET api/inbox`: oldest request first. */
export interface Inbox {
  readonly items: readonly WaitingLine[];
}

/** `GET api/workflows`. */
export interface WorkflowList {
  readonly items: readonly WorkflowLine[];
}

/** A workflow in the list. */
export type WorkflowLine =
  | {
      readonly status: "ready";
      readonly kind: Kind;
      readonly type: string;
      readonly name: string;
      readonly description: string;
      /** The number of phases or steps. */
      readonly steps: number;
      readonly warnings: number;
    }
  | {
      readonly status: "broken";
      readonly kind: Kind;
      readonly type: string;
      readonly diagnostics: readonly DiagnosticText[];
    };

/** A diagnostic as text, with its code frame. */
export interface DiagnosticText {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** `file:line:column`. */
  readonly place: string;
  /** The lines of the file around it. */
  readonly frame?: string;
}

/** `GET api/workflows/TYPE`. */
export type WorkflowView = WorkflowDetail | Extract<WorkflowLine, { readonly status: "broken" }>;

/** A workflow without errors. */
export interface WorkflowDetail {
  readonly status: "ready";
  readonly kind: Kind;
  readonly type: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly drawing: Drawing;
  /** The same picture, to copy. */
  readonly mermaid: string;
  readonly svg: string;
  readonly diagnostics: readonly DiagnosticText[];
  /** Phases or steps. */
  readonly phases: readonly {
    readonly number: number;
    readonly name: string;
    readonly tasks: readonly string[];
    readonly gate: readonly GateLine[];
    readonly documents: readonly string[];
  }[];
}

/** One thing that a gate asks for. */
export interface GateLine {
  readonly what: "field" | "rule" | "check" | "approval" | "open";
  /** The field or the verifier; empty for the evidence as a whole. */
  readonly name: string;
  readonly text: string;
}

/** `GET api/statistics?workflow=`. */
export interface StatisticsView {
  readonly workflows: readonly WorkflowStatistics[];
  readonly unapproved: number;
  /** Sessions that can't be read, and count nowhere. */
  readonly broken: readonly BrokenSession[];
  /** Sessions started and completed a day, oldest first. */
  readonly days: readonly { readonly day: string; readonly started: number; readonly completed: number }[];
  /** The number of sessions that the days count: the newest, if there are more. */
  readonly plotted: number;
}

/** `GET api/sessions/ID/audit`. */
export type AuditView = AuditReport & ApprovalAudit<ApprovedPass | RoutedPass>;

/** The answer to `POST api/sessions/ID/challenge`: what the passkey of `by` signs. */
export interface Challenge {
  readonly signedAt: string;
  /** In base64url. */
  readonly challenge: string;
  readonly rpId: string;
  /** The ids of the person's passkeys, in base64url. */
  readonly credentials: readonly string[];
}

/** The answer to `POST api/passkeys/begin`, whose body is `{invitation}`. */
export interface InvitationView {
  /** The approver whose passkey is registered. */
  readonly name: string;
  /** For the browser. */
  readonly options: RegistrationOptions;
}

/** The body of `POST api/passkeys/end`. Its answer is `{name}`. */
export interface RegistrationBody {
  /** The secret of the invitation. */
  readonly invitation: string;
  /** What the browser has answered: `RegistrationResponseJSON`. */
  readonly response: unknown;
}

/** What the host may do with a session. */
export type HostAction = "retry" | "skip" | "override" | "pause" | "resume" | "delete";

/** The answer to `POST api/login`, which also sets a cookie. */
export interface LoginAnswer {
  /** What the header `x-phasegate` must be. The page keeps it where other servers of this machine can't see it. */
  readonly key: string;
}

/** An answer other than 2xx. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string; readonly remedy?: string };
}

/** A message of `GET api/events` (server-sent events). `id:` numbers them; a lost connection continues behind the last one. */
export type LiveMessage =
  /** A session has new commits, or something happens in it; this is how it is now. */
  | { readonly type: "session"; readonly session: ListedSession }
  /** A session is gone, or can't be shown any more. */
  | { readonly type: "gone"; readonly sessionId: string }
  /** What was missed can't be given again: everything on the page is to be read anew. */
  | { readonly type: "reset" };
