/**
 * The public interface of a workspace: files and tools for workflows that a model leads itself. The entry file of this
 * folder; what is decided where:
 * - create-workspace.ts: opens a workspace; no tool call rejects, and unexpected errors never reach an agent
 * - options.ts: options, limits and their defaults; notifications.ts: the notifications
 * - roots/roots.ts: where a path leads; every file is read through the sandbox of its root, and no session that the caller
 *   does not see is reached
 * - roots/paths.ts: paths refused on any system, what `{variables}` stand for; no root is inside the output root
 * - preload/preload-workflow.ts: all files of a workflow in one call (that file lists the rest of its folder)
 * - steps/next-step.ts: steps of a skill one by one; a gate is never skipped, and 12 failures close it
 * - session/sessions.ts: whose a session is; in which order its folder, manifest and log are written (that file lists the rest)
 * - bundles/bundle.ts: what a bundle.yaml may contain; a broken bundle does not hide the others
 * - tools/tool.ts: the tools that agents call (that file lists the rest)
 * - instructions.ts: the system prompt, at most 900 tokens
 */

import type * as z from "zod";
import type { WatchQuery } from "../engine/watch.js";
import type { AuditReport, Receipt } from "../log/commit.js";
import type { Actor, Authorize } from "../ports/actor.js";
import type { WatchOptions } from "../ports/storage-adapter.js";
import type { Listener } from "../runtime/notifier.js";
import type { OperationMetrics } from "../runtime/operations.js";
import type { WorkspaceNotificationMap } from "./notifications.js";
import type { WorkflowSummary } from "./preload/find.js";
import type { preloadWorkflowTool, WorkflowPreloaded } from "./preload/preload-workflow.js";
import type { RecordedCommit, RecordedEntry } from "./session/machine.js";
import type { Manifest } from "./session/manifest.js";
import type { SessionFigures } from "./session/sessions.js";
import type { nextStepTool, StepAnswered } from "./steps/next-step.js";
import type {
  completeSessionTool,
  createSessionTool,
  OutputSaved,
  SessionCompleted,
  SessionOpened,
  saveOutputTool,
} from "./tools/sessions.js";
import type {
  FileRead,
  FilesListed,
  listFilesTool,
  readFileTool,
  ToolFailure,
  ToolListing,
  ToolResult,
} from "./tools/tool.js";

/**
 * Files for workflows that a model leads itself: it reads what it needs and saves what it makes, in sandboxed folders.
 * The functions of the workspace itself belong to one built-in connection, for hosts with a single client.
 */
export interface Workspace extends WorkspaceConnection, ActorWorkspace {
  /**
   * Returns this workspace for one actor of a server that several share. The actor owns the sessions that it creates.
   * Sessions that `authorize` does not let it see do not exist for it: their folders are not listed, and answers are those
   * for an unknown id. By default agents see their own sessions alone.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when the actor's name, team or roles are invalid.
   */
  as(actor: Actor, authorize?: Authorize): ActorWorkspace;
  /**
   * Adds a listener for a notification. Returns a function that removes it.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when there is no notification of that name.
   */
  on<N extends keyof WorkspaceNotificationMap>(name: N, listener: Listener<WorkspaceNotificationMap[N]>): () => void;
  /** Returns numbers of calls, sessions and violations, and durations in milliseconds, since the workspace was created. */
  metrics(): WorkspaceMetrics;
  /** Closes the storage. Rejects with what the storage throws. */
  close(): Promise<void>;
}

/** What a workspace has for each actor, with the sessions that the actor may see: `workspace.as(actor)`. */
export interface ActorWorkspace {
  /**
   * Lists the workflows below the bundle root, the core root and the read roots. A workflow whose first file cannot be
   * read is listed without its description.
   */
  workflows(): Promise<readonly WorkflowSummary[]>;
  /** The names of all variables that paths may contain, without braces. */
  readonly variables: readonly string[];
  /** Opens a connection. Give each client its own. */
  connect(options?: ConnectOptions): WorkspaceConnection;
  /**
   * Returns a session of any connection. Its folder is looked up when a method is called.
   *
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when the id does not have the format of a session id.
   */
  session(id: string): WorkspaceSession;
  /**
   * Yields commits of recorded sessions as any process appends them, from the moment of the call until the signal
   * aborts.
   *
   * @param query Filters by the session after the commit; default: all recorded sessions.
   * @throws {PhasegateError} `UNSUPPORTED` when the workspace has no storage, or the storage has no `watch`.
   * @throws {PhasegateError} `TAMPERED` (from `next`) when a commit was changed in the storage.
   * @throws {PhasegateError} `STORAGE_FAILED` (from `next`) when the storage fails.
   */
  watch(query?: WatchQuery, options?: WatchOptions): AsyncIterableIterator<RecordedCommit>;
}

/** A client of a workspace. It may write only sessions that it created or reopened. */
export interface WorkspaceConnection extends WorkspaceFunctions {
  /** The session that it created or reopened last; undefined before the first. */
  readonly sessionId: string | undefined;
  /** The tools that it can call. */
  readonly tools: readonly ToolListing[];
}

/** The tools as functions. None of them rejects: errors come back as `{ success: false, error, code, remedy }`. */
export interface WorkspaceFunctions {
  /**
   * Loads all files of a workflow. A skill with steps gives only the current step. `workflow`: its name, or the path of its
   * folder; `cursor`: from the page before; `reload`: returns files again that were returned before.
   */
  preloadWorkflow(request: z.input<typeof preloadWorkflowTool.input>): Promise<WorkflowPreloaded | ToolFailure>;
  /**
   * Returns the next step of a skill if the gate of the current step is passed. `workflow`: as it was preloaded; `evidence`:
   * what the gate asks for; `step`: which one, if there are several to choose from.
   */
  nextStep(request: z.input<typeof nextStepTool.input>): Promise<StepAnswered | ToolFailure>;
  /** Reads a text file, or a part of it: `limit` bytes from the byte `offset` on. */
  readFile(request: z.input<typeof readFileTool.input>): Promise<FileRead | ToolFailure>;
  /** Lists a folder; by default the root of the bundle. `after`: the last name of the page before. */
  listFiles(request?: z.input<typeof listFilesTool.input>): Promise<FilesListed | ToolFailure>;
  /** Creates a session, or continues one with `reopen`. `session_id`: a UUID or YYYY-MM-DD-HHMMSS. */
  createSession(request?: z.input<typeof createSessionTool.input>): Promise<SessionOpened | ToolFailure>;
  /** Saves a whole file in a session of this connection. `path`: `<session_id>/report.md`. */
  saveOutput(request: z.input<typeof saveOutputTool.input>): Promise<OutputSaved | ToolFailure>;
  /** Ends a session; by default the last one of this connection, as completed. */
  completeSession(request?: z.input<typeof completeSessionTool.input>): Promise<SessionCompleted | ToolFailure>;
  /** Calls a tool by its name, such as `read_file`. */
  call(name: string, input: unknown): Promise<ToolResult>;
}

/** The host's settings for a connection. */
export interface ConnectOptions {
  /** Returns true if the connection may reopen this session of another one. Default: it may reopen all. */
  readonly mayReopen?: (sessionId: string) => boolean;
}

/** A session as the host sees it. */
export interface WorkspaceSession {
  /** The session's id, which is also the name of its folder. */
  readonly id: string;
  /**
   * Reads its manifest.
   *
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when it has no folder, or no manifest in it.
   * @throws {PhasegateError} `INVALID_INPUT` when its `manifest.json` is not a valid manifest.
   * @throws {PhasegateError} `TOO_LARGE` when its `manifest.json` is larger than 8 MiB.
   * @throws {PhasegateError} `PATH_REFUSED` when its folder leads out of the output root.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
   */
  manifest(): Promise<Manifest>;
  /**
   * Returns what happened in it, oldest first.
   *
   * @throws {PhasegateError} `UNSUPPORTED` when the workspace has no storage.
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when there is no log of the session.
   * @throws {PhasegateError} `TAMPERED` when its log was changed in the storage.
   * @throws {PhasegateError} `STORAGE_FAILED` when the storage fails.
   */
  history(): Promise<readonly RecordedEntry[]>;
  /**
   * Checks its whole log. A receipt that is kept elsewhere proves that commits were not removed.
   *
   * @throws {PhasegateError} `UNSUPPORTED` when the workspace has no storage.
   * @throws {PhasegateError} `SESSION_NOT_FOUND` when there is no log of the session and no receipt is given.
   * @throws {PhasegateError} `STORAGE_FAILED` when the storage fails.
   */
  audit(receipt?: Receipt): Promise<AuditReport>;
}

/** Figures of a workspace. */
export interface WorkspaceMetrics {
  /** Numbers of calls, and durations in milliseconds, by tool; only tools that were called. */
  readonly tools: Readonly<Record<string, OperationMetrics>>;
  /** The number of security refusals: see the notification `security`. */
  readonly violations: number;
  /** Numbers of sessions. */
  readonly sessions: SessionFigures;
}
