import type * as z from "zod";
import type { AuditReport, Receipt } from "../log/commit.js";
import type { WatchQuery } from "../phased/watch.js";
import type { OperationMetrics } from "../runtime/operations.js";
import type { WorkspaceListener, WorkspaceNotificationName } from "./options.js";
import type { WorkflowSummary } from "./preload/list.js";
import type { SessionFigures } from "./session/keeper.js";
import type { Manifest } from "./session/manifest.js";
import type { RecordedCommit, RecordedEntry } from "./session/recorder.js";
import type { FileRead, FilesListed, listFilesTool, readFileTool } from "./tools/files.js";
import type {
  completeSessionTool,
  createSessionTool,
  nextStepTool,
  OutputSaved,
  preloadWorkflowTool,
  SessionCompleted,
  SessionOpened,
  StepAnswered,
  saveOutputTool,
  WorkflowPreloaded,
} from "./tools/sessions.js";
import type { ToolFailure, ToolListing, ToolResult } from "./tools/tool.js";

/** What a tool takes. */
type Takes<T extends { readonly input: z.ZodObject }> = z.input<T["input"]>;

/** The tools as functions. None of them rejects: what is wrong comes back as `{ success: false, error, remedy }`. */
export interface WorkspaceFunctions {
  /** Loads all files of a workflow; of a skill with steps, the current one. */
  preloadWorkflow(request: Takes<typeof preloadWorkflowTool>): Promise<WorkflowPreloaded | ToolFailure>;
  /** Gives the next step of a skill, if the gate of the current one is passed. */
  nextStep(request: Takes<typeof nextStepTool>): Promise<StepAnswered | ToolFailure>;
  /** Reads a text file, or a part of one. */
  readFile(request: Takes<typeof readFileTool>): Promise<FileRead | ToolFailure>;
  /** Lists a folder. */
  listFiles(request?: Takes<typeof listFilesTool>): Promise<FilesListed | ToolFailure>;
  /** Begins a session, or goes on with one. */
  createSession(request?: Takes<typeof createSessionTool>): Promise<SessionOpened | ToolFailure>;
  /** Saves a file of a session of this connection. */
  saveOutput(request: Takes<typeof saveOutputTool>): Promise<OutputSaved | ToolFailure>;
  /** Ends a session. */
  completeSession(request?: Takes<typeof completeSessionTool>): Promise<SessionCompleted | ToolFailure>;
  /** Calls a tool by the name that agents know it by. */
  call(name: string, input: unknown): Promise<ToolResult>;
}

/** One client of a workspace: it may write the sessions that it has created or reopened, and no others. */
export interface WorkspaceConnection extends WorkspaceFunctions {
  /** The session that it created or reopened last; undefined before the first. */
  readonly sessionId: string | undefined;
  /** The tools that it has. */
  readonly tools: readonly ToolListing[];
}

/** What a host says of a connection. */
export interface ConnectOptions {
  /** Which sessions of others it may go on with; all if not given. */
  readonly mayReopen?: (sessionId: string) => boolean;
}

/** A session as its host sees it. Methods reject with `SESSION_NOT_FOUND` where there is none. */
export interface WorkspaceSession {
  readonly id: string;
  /** What its manifest says. */
  manifest(): Promise<Manifest>;
  /** What was done in it, oldest first. Throws `UNSUPPORTED` where the workspace records nothing. */
  history(): Promise<readonly RecordedEntry[]>;
  /** Checks its log, against a receipt kept elsewhere if there is one. Throws `UNSUPPORTED` as `history` does. */
  audit(receipt?: Receipt): Promise<AuditReport>;
}

/** How a workspace is used. */
export interface WorkspaceMetrics {
  /** Counts and durations of each tool that was called. */
  readonly tools: Readonly<Record<string, OperationMetrics>>;
  /** Refusals that touch security. */
  readonly violations: number;
  readonly sessions: SessionFigures;
}

/**
 * Files for workflows that a model leads: it reads what it needs, and saves what it makes, inside sandboxes. The functions of a
 * workspace itself are those of one connection, for hosts that have no more.
 */
export interface Workspace extends WorkspaceConnection {
  /** The workflows below the bundle's, the core's and the host's own roots, with what they say of themselves. */
  workflows(): Promise<readonly WorkflowSummary[]>;
  /** The names of all variables that paths may begin with or hold, without braces. */
  readonly variables: readonly string[];
  /** A connection of its own for each client. */
  connect(options?: ConnectOptions): WorkspaceConnection;
  /** A session, whichever connection it belongs to. */
  session(id: string): WorkspaceSession;
  /**
   * Commits of recorded sessions as any process appends them. Begins with the call, ends when the signal aborts. Throws
   * `UNSUPPORTED` where nothing is recorded, or the storage can't be watched.
   */
  watch(
    query?: WatchQuery,
    options?: { readonly signal?: AbortSignal },
  ): AsyncIterableIterator<RecordedCommit, undefined>;
  /** Listens to notifications; the function that comes back stops it. */
  on<N extends WorkspaceNotificationName>(name: N, listener: WorkspaceListener<N>): () => void;
  /** Figures since the workspace was made. */
  metrics(): WorkspaceMetrics;
  /** Lets go of the storage. */
  close(): Promise<void>;
}
