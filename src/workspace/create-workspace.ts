/**
 * Opens a workspace and connects clients. No tool call rejects; only the host sees the cause of an unexpected error.
 */

import type * as z from "zod";
import { watchSessions } from "../engine/watch.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { readWhole } from "../log/commit.js";
import { byOwner, type Caller, callerOf } from "../ports/actor.js";
import type { FullClock } from "../ports/clock.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { audienceOf } from "../runtime/notifier.js";
import { Operations } from "../runtime/operations.js";
import { callable, checkOptions, optionally } from "../workflow/host-options.js";
import { meantOr, shown } from "../workflow/names.js";
import { WorkspaceNotifications } from "./notifications.js";
import { resolveWorkspaceOptions, type WorkspaceOptions } from "./options.js";
import { listWorkflows } from "./preload/find.js";
import { preloadWorkflowTool } from "./preload/preload-workflow.js";
import { isSessionFolder, openFolders, placesOf, ROOT_NAMES } from "./roots/paths.js";
import { createRoots } from "./roots/roots.js";
import { Connection, type ConnectionParts } from "./session/connection.js";
import { noSession, SessionFolders } from "./session/folders.js";
import {
  type RecordedCommit,
  type RecordedEntry,
  Recorder,
  recordedEntries,
  recordedMachine,
} from "./session/machine.js";
import { SessionCounts, Sessions } from "./session/sessions.js";
import { nextStepTool } from "./steps/next-step.js";
import { completeSessionTool, createSessionTool, saveOutputTool, WORKSPACE_TOOLS } from "./tools/sessions.js";
import {
  errorOf,
  listFilesTool,
  readFileTool,
  type ToolFailure,
  type ToolListing,
  type ToolResult,
  type ToolSuccess,
  type WorkspaceTool,
} from "./tools/tool.js";
import type { ActorWorkspace, Workspace, WorkspaceConnection, WorkspaceSession } from "./workspace.js";

/**
 * Opens a workspace. A root that is a link stays the folder to which the link leads now.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when a folder does not exist or cannot be opened.
 * @throws {PhasegateError} `INVALID_INPUT` when a root is inside the output root, or is the output root.
 * @throws {PhasegateError} `INVALID_INPUT` when a variable, a read root or a limit is not valid.
 */
export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { variables, limits, clock, hashKey } = resolveWorkspaceOptions(options);
  const { telemetry, owner } = options;
  const storage = options.storage && (telemetry?.storage(options.storage) ?? options.storage);
  const notifications = new WorkspaceNotifications();
  const operations = new Operations({ context: () => undefined, notifications, clock, engine: "recorded", telemetry });
  const counts = new SessionCounts();
  const opened = await openFolders(options);
  const project = options.projectRoot === undefined ? [] : await placesOf(options.projectRoot);
  const roots = createRoots({ roots: opened, project, variables });
  const folders = new SessionFolders(roots.sandbox({ root: ROOT_NAMES.output, path: "." }), limits, clock);
  const recorder = storage && new Recorder({ storage, clock, hashKey, telemetry });
  const sessions = new Sessions({ folders, recorder, notifications, counts, owner });
  let violations = 0;
  const violated = () => {
    violations += 1;
  };
  const recorded = { folders, recorder, storage, hashKey };
  const shared: Shared = { roots, limits, sessions, notifications, clock, operations, violated, recorded };
  const whole = workspaceFor(shared, undefined);
  const own = whole.connect();
  return {
    ...own,
    ...whole,
    get sessionId() {
      return own.sessionId;
    },
    as(actor, authorize = byOwner) {
      const report = (error: unknown) => notifications.notify("internalError", { operation: "authorize", error });
      const caller = callerOf(actor, authorize, report);
      const seen = sessions.limitedTo(caller);
      const limited = {
        sessions: seen,
        roots: roots.limitedTo((id) => seen.sees(id)),
        // A session that does not exist takes as long as one that the caller can't see.
        operations: operations.within(() => undefined),
      };
      return workspaceFor({ ...shared, ...limited }, caller);
    },
    on: (name, listener) => notifications.on(name, listener),
    metrics: () => ({ tools: operations.metrics.report(), violations, sessions: counts.report() }),
    close: async () => storage?.close?.(),
  };
}

interface Shared extends ConnectionParts {
  readonly clock: FullClock;
  readonly operations: Operations<undefined>;
  readonly recorded: {
    readonly folders: SessionFolders;
    readonly recorder?: Recorder;
    readonly storage?: StorageAdapter;
    readonly hashKey?: Uint8Array;
  };
  violated(): void;
}

function workspaceFor(shared: Shared, caller: Caller | undefined): ActorWorkspace {
  const { roots, sessions, notifications, clock, recorded } = shared;
  const { storage, hashKey } = recorded;
  // Not among the tools: their metrics are of what agents have called.
  const asked = new Operations({ context: () => undefined, notifications, clock, engine: "recorded" });
  const reading = caller === undefined ? asked : asked.within(() => undefined);
  return {
    variables: roots.known,
    workflows: () => listWorkflows(roots),
    connect: (options = {}) => {
      checkOptions("connect", options, { mayReopen: optionally(callable) });
      return connectTo(shared, new Connection(shared, options.mayReopen ?? (() => true)));
    },
    session(id) {
      if (!isSessionFolder(id)) throw noSession(id, []);
      const seen = <T>(operation: string, read: () => Promise<T>) =>
        reading.run(operation, async () => {
          await sessions.require(operation, id);
          return read();
        });
      const { manifest, history, audit } = sessionIn(recorded, id);
      return {
        id,
        manifest: () => seen("manifest", manifest),
        history: () => seen("history", history),
        audit: (receipt) => seen("audit", () => audit(receipt)),
      };
    },
    watch(query = {}, options = {}) {
      if (storage === undefined) throw notRecorded("watch");
      const guard = (work: (context: undefined) => Promise<RecordedCommit | undefined>) => asked.guard("watch", work);
      const read = (_: undefined, commit: Commit) => readWhole(recordedMachine, commit, hashKey);
      return watchSessions({ storage, kind: recordedMachine.kind, caller, guard, read }, query, options);
    },
  };
}

function sessionIn({ folders, recorder }: Shared["recorded"], id: string): Omit<WorkspaceSession, "id"> {
  return {
    manifest: () => folders.manifest(id),
    async history() {
      if (recorder === undefined) throw notRecorded("history");
      const entries: RecordedEntry[] = [];
      for await (const commit of recorder.log(id)) entries.push(...recordedEntries(commit));
      if (entries.length === 0) throw noSession(id, []);
      return entries;
    },
    async audit(receipt) {
      if (recorder === undefined) throw notRecorded("audit");
      const report = await recorder.audit(id, receipt);
      // Only a receipt proves that a missing log once existed.
      if (report.versions === 0 && receipt === undefined && report.intact) throw noSession(id, []);
      return report;
    },
  };
}

function notRecorded(operation: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `${operation} needs recorded sessions`, {
    remedy: "Pass a storage to createWorkspace.",
    details: { operation },
  });
}

function connectTo(shared: Shared, connection: Connection): WorkspaceConnection {
  const { operations, notifications, clock } = shared;
  /** Runs a tool, and measures the call. Never rejects. */
  async function run<Done extends ToolSuccess>(
    tool: ToolListing & Pick<WorkspaceTool<z.ZodObject, Done>, "run">,
    input: unknown,
  ): Promise<Done | ToolFailure> {
    const begun = clock.elapsed();
    let success = false;
    try {
      const done = await operations.run(tool.name, async () => {
        const outcome = await tool.run(connection, input ?? {});
        if ("body" in outcome) return outcome.body;
        const error = errorOf(tool, outcome);
        // Counted before the host is notified of it.
        if (isPhasegateError(error) && audienceOf(error) === "guard") shared.violated();
        throw error;
      });
      success = true;
      return done;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      notifications.failed(tool.name, error, { sessionId: namedSession(input) ?? connection.sessionId });
      return { success: false, error: error.message, code: error.code, remedy: error.remedy };
    } finally {
      notifications.notify("called", { tool: tool.name, milliseconds: clock.elapsed() - begun, success });
    }
  }
  return {
    get sessionId() {
      return connection.sessionId;
    },
    tools: WORKSPACE_TOOLS,
    preloadWorkflow: (request) => run(preloadWorkflowTool, request),
    nextStep: (request) => run(nextStepTool, request),
    readFile: (request) => run(readFileTool, request),
    listFiles: (request) => run(listFilesTool, request),
    createSession: (request) => run(createSessionTool, request),
    saveOutput: (request) => run(saveOutputTool, request),
    completeSession: (request) => run(completeSessionTool, request),
    async call(name, input) {
      const tool = WORKSPACE_TOOLS.find((known) => known.name === name);
      return tool === undefined ? noTool(name) : run(tool, input);
    },
  };
}

/** Returns the session that a call names, if it has the form of an id. */
function namedSession(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("session_id" in input)) return undefined;
  const { session_id: id } = input;
  return typeof id === "string" && isSessionFolder(id) ? id : undefined;
}

function noTool(name: string): ToolResult {
  const names = WORKSPACE_TOOLS.map((tool) => tool.name);
  const remedy = meantOr(name, names, `The tools are ${names.join(", ")}.`);
  return { success: false, error: `there is no tool ${shown(name)}`, code: "INVALID_INPUT", remedy };
}
