/**
 * What the page and its server say to each other besides what read/model.ts has: answers of the API as JSON, the messages of
 * the stream, and the bodies of requests. The page imports these types alone, and none of the engine's code.
 */
import type { RegistrationOptions } from "../approval/passkey.js";
import type { OlderSessions } from "../phased/revisions.js";
import type { Drawing, Kind, ListedSession } from "../read/model.js";
import type { ChildWorkflow } from "../workflow/child-workflow.js";
import type { ApprovalDefinition, FieldDefinition, RuleDefinition, VerifyDefinition } from "../workflow/structure.js";
import type { HostAction } from "./requests.js";

export type { FieldType, RuleDefinition, VerifyDefinition } from "../workflow/structure.js";
export type { ActionBody, AnswerBody, ChallengeBody, HostAction } from "./requests.js";

/** `GET api/about`: what this inspector can do. */
export interface About {
  readonly kinds: readonly Kind[];
  /** What the host has switched on. */
  readonly actions: readonly HostAction[];
  /** Who may approve, and with which kind of key. */
  readonly approvers: readonly { readonly name: string; readonly keys: readonly ("ed25519" | "passkey")[] }[];
  readonly unsigned: boolean;
  /** Who has logged in; missing where the inspector has one secret for all. */
  readonly actor?: string;
  /** What the sessions are stored in: `.phasegate`, `sqlite:state.db`. */
  readonly title: string;
}

/** `GET api/workflows`. */
export interface WorkflowList {
  readonly items: readonly WorkflowLine[];
}

export type WorkflowLine = BrokenWorkflow | (WorkflowFacts & { readonly steps: number; readonly warnings: number });

interface WorkflowFacts {
  readonly status: "ready";
  readonly kind: Kind;
  readonly type: string;
  readonly name: string;
  readonly description: string;
}

export interface BrokenWorkflow {
  readonly status: "broken";
  readonly kind: Kind;
  readonly type: string;
  readonly diagnostics: readonly DiagnosticText[];
}

/** A diagnostic as text, with the lines of the file around it. */
export interface DiagnosticText {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** `file:line:column`. */
  readonly place: string;
  readonly frame?: string;
}

/** `GET api/workflows/TYPE`. */
export type WorkflowView = WorkflowDetail | BrokenWorkflow;

export interface WorkflowDetail extends WorkflowFacts {
  readonly version: string;
  /** The open sessions that are on an older revision; of a phased workflow. */
  readonly older?: OlderSessions;
  readonly drawing: Drawing;
  /** The same picture, to copy. */
  readonly mermaid: string;
  readonly svg: string;
  readonly diagnostics: readonly DiagnosticText[];
  /** How further phases are made of a plan: the option that names it, the templates of their texts, and what is checked at each. */
  readonly planned?: {
    readonly option: string;
    readonly templates: readonly string[];
    readonly gate: readonly GateLine[];
  };
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
export type GateLine =
  /** Any evidence passes; or a schema in code decides; or rules that evidence breaks only warn. */
  | { readonly what: "open" | "schema" | "lenient" }
  | (Omit<FieldDefinition, "rules"> & {
      readonly what: "field";
      readonly rules: readonly RuleDefinition[];
      /** The checks of its value. */
      readonly checks: readonly VerifyDefinition[];
    })
  /** Of a phase from a plan: a task, and an item of its validation gate. */
  | { readonly what: "task"; readonly id: string; readonly optional: boolean }
  | { readonly what: "item"; readonly text: string }
  /** A rule or a check of the evidence as a whole. */
  | { readonly what: "rule"; readonly rule: RuleDefinition }
  | { readonly what: "check"; readonly check: VerifyDefinition }
  /** The phase is a workflow of its own. */
  | { readonly what: "workflow"; readonly child: ChildWorkflow }
  | { readonly what: "approval"; readonly approval: ApprovalDefinition };

/** The answer to `POST api/sessions/ID/challenge`: what the passkey of `by` signs. All but the time is in base64url. */
export interface Challenge {
  readonly signedAt: string;
  readonly challenge: string;
  readonly rpId: string;
  /** The ids of the person's passkeys. */
  readonly credentials: readonly string[];
}

/** The answer to `POST api/passkeys/begin`, whose body is `{invitation}`: the approver, and what the browser needs. */
export interface InvitationView {
  readonly name: string;
  readonly options: RegistrationOptions;
}

/** The body of `POST api/passkeys/end`: the secret, and the browser's `RegistrationResponseJSON`. Its answer is `{name}`. */
export interface RegistrationBody {
  readonly invitation: string;
  readonly response: unknown;
}

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
