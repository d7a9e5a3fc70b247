/** The notifications of a workspace. */
import type { ErrorCode } from "../errors.js";
import { type Levels, Notifier } from "../runtime/notifier.js";

/** The notifications of a workspace, by name, with their payloads. */
export interface WorkspaceNotificationMap {
  /** A tool was called, and how long it took. Neither its input nor its answer is part of the notification. */
  called: { readonly tool: string; readonly milliseconds: number; readonly success: boolean };
  /** A session was created. */
  sessionCreated: { readonly sessionId: string; readonly workflow?: string | undefined };
  /** A session was reopened. */
  sessionReopened: { readonly sessionId: string };
  /** A file was read, whole or in part. `path` begins with its root; `bytes` is what was returned. */
  fileRead: { readonly path: string; readonly bytes: number; readonly sessionId?: string };
  /** A file was saved. `path` begins with `{output-root}`; `replaced` is true if the file existed. */
  saved: { readonly sessionId: string; readonly path: string; readonly bytes: number; readonly replaced: boolean };
  /** A session was ended, `milliseconds` after it was created. */
  sessionCompleted: {
    readonly sessionId: string;
    readonly status: "completed" | "failed";
    readonly milliseconds: number;
  };
  /** A call of a tool was refused. `sessionId` is the session that it names, else the connection's, if it has one. */
  refused: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    readonly sessionId?: string;
  };
  /** A security refusal: a path out of its root, a session of another connection, a log that was changed. */
  security: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    /** The session whose log was changed; missing for any other refusal. */
    readonly sessionId?: string;
  };
  /** A failure that no caller can correct: of the storage, of a listener, or an unexpected error. */
  internalError: { readonly operation: string; readonly error: unknown };
}

/** All notifications of a workspace, each with the level at which it is logged. */
export const WORKSPACE_LEVELS: Levels<keyof WorkspaceNotificationMap> = {
  sessionCreated: "info",
  sessionReopened: "info",
  called: "debug",
  fileRead: "info",
  saved: "info",
  sessionCompleted: "info",
  refused: "info",
  security: "warn",
  internalError: "error",
};

/** The notifications of one workspace. */
export class WorkspaceNotifications extends Notifier<WorkspaceNotificationMap> {
  constructor() {
    super(WORKSPACE_LEVELS);
  }
}
