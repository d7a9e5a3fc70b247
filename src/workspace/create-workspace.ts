import { Metrics } from "../engine/metrics.js";
import { reportFailure } from "../engine/report-failure.js";
import { watchKind } from "../engine/watch-commits.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { readWhole } from "../kernel/read-commit.js";
import { WorkspaceNotifications } from "./notifications.js";
import { resolveWorkspaceOptions, type WorkspaceOptions } from "./options.js";
import { listWorkflows } from "./preload/list-workflows.js";
import { skillPlaces } from "./preload/skill-places.js";
import { Roots } from "./roots/roots.js";
import { openFolders, placesOf, ROOT_NAMES } from "./roots/workspace-folders.js";
import { type RecordedEntry, recordedEntries } from "./session/recorded-entries.js";
import { recordedMachine } from "./session/recorded-machine.js";
import { Recorder } from "./session/recorder.js";
import { SessionCounts } from "./session/session-counts.js";
import { SessionFolders } from "./session/session-folders.js";
import { isSessionFolder } from "./session/session-id.js";
import { SessionKeeper } from "./session/session-keeper.js";
import { noSession } from "./session/session-refusals.js";
import { completeSessionTool } from "./tools/complete-session.js";
import { createSessionTool } from "./tools/create-session.js";
import { listFilesTool } from "./tools/list-files.js";
import { nextStepTool } from "./tools/next-step.js";
import { preloadWorkflowTool } from "./tools/preload-workflow.js";
import { readFileTool } from "./tools/read-file.js";
import { saveOutputTool } from "./tools/save-output.js";
import { WORKSPACE_TOOLS } from "./tools/tool-table.js";
import type { ConnectOptions, Workspace, WorkspaceConnection, WorkspaceSession } from "./workspace.js";
import { type Shared, ToolConnection } from "./workspace-connection.js";

/**
 * Opens a workspace. Its roots stay where they lead now. Throws `INVALID_INPUT` for a folder that isn't there, for roots
 * inside the output root, and for options that can't be.
 */
export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { variables, limits, clock, hashKey } = resolveWorkspaceOptions(options);
  const { storage } = options;
  const notifications = new WorkspaceNotifications();
  const metrics = new Metrics();
  const counts = new SessionCounts();
  const opened = await openFolders(options);
  const project = options.projectRoot === undefined ? [] : await placesOf(options.projectRoot);
  const roots = new Roots({ roots: opened, project, variables });
  const folders = new SessionFolders(roots.wall({ root: ROOT_NAMES.output, path: "." }), limits, clock);
  const recording = { clock, ...(hashKey === undefined ? {} : { hashKey }) };
  const recorder = storage === undefined ? undefined : new Recorder({ ...recording, storage });
  let violations = 0;
  const shared: Shared = {
    roots,
    limits,
    clock,
    sessions: new SessionKeeper({ folders, recorder, notifications, counts }),
    tools: WORKSPACE_TOOLS,
    notifications,
    metrics,
    violated: () => {
      violations += 1;
    },
  };
  const connect = ({ mayReopen = () => true }: ConnectOptions = {}) =>
    connection(new ToolConnection(shared, mayReopen));
  const own = connect();
  return {
    ...own,
    get sessionId() {
      return own.sessionId;
    },
    variables: roots.known,
    workflows: () => listWorkflows(skillPlaces({ roots })),
    connect,
    session: (id) => session(id, folders, recorder),
    watch(query = {}, { signal } = {}) {
      if (storage === undefined) throw notRecorded("watch");
      return watchKind(storage, { ...query, kind: recordedMachine.kind }, signal, async (next) => {
        try {
          const commit = await next();
          return commit && readWhole(recordedMachine, commit, hashKey);
        } catch (error) {
          if (isPhasegateError(error)) reportFailure(notifications, "watch", error);
          throw error;
        }
      });
    },
    on: (name, listener) => notifications.on(name, listener),
    metrics: () => ({ tools: metrics.report(), violations, sessions: counts.report() }),
    close: async () => storage?.close?.(),
  };
}

function connection(own: ToolConnection): WorkspaceConnection {
  return {
    get sessionId() {
      return own.sessionId;
    },
    tools: WORKSPACE_TOOLS,
    preloadWorkflow: (request) => own.run(preloadWorkflowTool, request),
    nextStep: (request) => own.run(nextStepTool, request),
    readFile: (request) => own.run(readFileTool, request),
    listFiles: (request = {}) => own.run(listFilesTool, request),
    createSession: (request = {}) => own.run(createSessionTool, request),
    saveOutput: (request) => own.run(saveOutputTool, request),
    completeSession: (request = {}) => own.run(completeSessionTool, request),
    call: (name, input) => own.call(name, input),
  };
}

function session(id: string, folders: SessionFolders, recorder: Recorder | undefined): WorkspaceSession {
  if (!isSessionFolder(id)) throw noSession(id, []);
  return {
    id,
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
      // A log that has gone is told by a receipt; without one, there was never any.
      if (report.versions === 0 && receipt === undefined && report.intact) throw noSession(id, []);
      return report;
    },
  };
}

function notRecorded(operation: string): PhasegateError<"UNSUPPORTED"> {
  return new PhasegateError("UNSUPPORTED", `${operation} needs sessions that are recorded`, {
    remedy: "Give createWorkspace a storage.",
    details: { operation },
  });
}
