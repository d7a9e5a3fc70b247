import type { ErrorCode } from "../errors.js";
import { type Listener, Notifier } from "../kernel/notifier.js";

/** What a workspace tells its host as things happen, each with what it carries. */
export interface WorkspaceNotificationMap {
  /** A tool was called; what it was called with, and what it has answered, stands in no notification. */
  called: { readonly tool: string; readonly milliseconds: number; readonly success: boolean };
  sessionCreated: { readonly sessionId: string; readonly workflow?: string | undefined };
  sessionReopened: { readonly sessionId: string };
  saved: { readonly sessionId: string; readonly path: string; readonly bytes: number; readonly replaced: boolean };
  sessionCompleted: { readonly sessionId: string; readonly status: "completed" | "failed" };
  /** A refusal that touches security: a path that leads out, somebody else's session, a log that was changed. */
  security: { readonly operation: string; readonly code: ErrorCode; readonly message: string };
  /** A failure of what the workspace runs on, which no caller can mend: of its storage or a listener, or an unexpected one. */
  internalError: { readonly operation: string; readonly error: unknown };
}

/** The name of a notification. */
export type WorkspaceNotificationName = keyof WorkspaceNotificationMap;
/** A listener; what it throws, or rejects with, stops neither the others nor the call. */
export type WorkspaceListener<N extends WorkspaceNotificationName> = Listener<WorkspaceNotificationMap[N]>;

/** What a workspace tells its host. */
export class WorkspaceNotifications extends Notifier<WorkspaceNotificationMap> {}
