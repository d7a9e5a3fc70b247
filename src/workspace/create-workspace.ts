import { isPhasegateError, PhasegateError } from "../errors.js";
import { readWhole } from "../log/commit.js";
import { watchKind } from "../phased/watch.js";
import { audienceOf } from "../runtime/notifier.js";
import { Operations } from "../runtime/operations.js";
import { nearest, shown } from "../workflow/names.js";
import type { Connection } from "./connection.js";
import { resolveWorkspaceOptions, WorkspaceNotifications, type WorkspaceOptions } from "./options.js";
import { listWorkflows } from "./preload/list.js";
import { skillPlaces } from "./preload/skills.js";
import { openFolders, placesOf, ROOT_NAMES } from "./roots/folders.js";
import { Roots } from "./roots/roots.js";
import { isSessionFolder, SessionFolders } from "./session/folders.js";
import { SessionCounts, SessionKeeper } from "./session/keeper.js";
import { recordedMachine, type WorkspaceAct } from "./session/machine.js";
import { noSession, type RecordedEntry, Recorder, recordedEntries } from "./session/recorder.js";
import { listFilesTool, readFileTool } from "./tools/files.js";
import {
  completeSessionTool,
  createSessionTool,
  nextStepTool,
  preloadWorkflowTool,
  saveOutputTool,
} from "./tools/sessions.js";
import { WORKSPACE_TOOLS } from "./tools/table.js";
import { errorOf, type ToolFailure, type ToolResult, type ToolSuccess, type WorkspaceTool } from "./tools/tool.js";
import type { ConnectOptions, Workspace, WorkspaceConnection, WorkspaceSession } from "./workspace.js";
/**
 * Opens a workspace. Its roots stay where they lead now. Throws `INVALID_INPUT` for a folder that isn't there, for roots
 * inside the output root, and for options that can't be.
 */
export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { variables, limits, clock, hashKey } = resolveWorkspaceOptions(options);
  const { storage } = options;
  const notifications = new WorkspaceNotifications();
  const operations = new Operations({ context: () => undefined, notifications });
  const counts = new SessionCounts();
  const opened = await openFolders(options);
  const project = options.projectRoot === undefined ? [] : await placesOf(options.projectRoot);
  const roots = new Roots({ roots: opened, project, variables });
  const folders = new SessionFolders(roots.sandbox({ root: ROOT_NAMES.output, path: "." }), limits, clock);
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
    operations,
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
          if (isPhasegateError(error)) notifications.report("watch", error);
          throw error;
        }
      });
    },
    on: (name, listener) => notifications.on(name, listener),
    metrics: () => ({ tools: operations.metrics.report(), violations, sessions: counts.report() }),
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

/** What all connections of a workspace share. */
interface Shared extends Pick<Connection, "roots" | "limits" | "clock" | "sessions"> {
  readonly tools: readonly WorkspaceTool[];
  readonly notifications: WorkspaceNotifications;
  readonly operations: Operations<undefined>;
  /** Counts a refusal that touches security. */
  violated(): void;
}

/** What is done before there is a session is kept up to so many acts. */
const KEPT_MAX = 200;

/** One client: its sessions, and its way to the tools. */
class ToolConnection implements Connection {
  readonly #shared: Shared;
  readonly #mayReopen: (sessionId: string) => boolean;
  readonly #own = new Set<string>();
  #kept: readonly WorkspaceAct[] = [];
  #sessionId: string | undefined;

  constructor(shared: Shared, mayReopen: (sessionId: string) => boolean) {
    this.#shared = shared;
    this.#mayReopen = mayReopen;
  }

  get roots(): Connection["roots"] {
    return this.#shared.roots;
  }

  get limits(): Connection["limits"] {
    return this.#shared.limits;
  }

  get clock(): Connection["clock"] {
    return this.#shared.clock;
  }

  get sessions(): Connection["sessions"] {
    return this.#shared.sessions;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  get kept(): readonly WorkspaceAct[] {
    return this.#kept;
  }

  owns(id: string): boolean {
    return this.#own.has(id);
  }

  mayReopen(id: string): boolean {
    return this.#mayReopen(id);
  }

  adopt(id: string, recorded: number): void {
    this.#own.add(id);
    this.#sessionId = id;
    this.#kept = this.#kept.slice(recorded);
  }

  async record(act: WorkspaceAct, sessionId = this.#sessionId): Promise<void> {
    if (sessionId !== undefined) return this.#shared.sessions.record(sessionId, act);
    this.#kept = [...this.#kept, act].slice(-KEPT_MAX);
  }

  /** Calls a tool by its name. Never rejects: whatever is wrong is an answer. */
  async call(name: string, input: unknown): Promise<ToolResult> {
    const tool = this.#shared.tools.find((known) => known.name === name);
    return tool === undefined ? noTool(name, this.#shared.tools) : this.run(tool, input);
  }

  /** Runs a tool of the table. */
  async run<Done extends ToolSuccess>(tool: WorkspaceTool<Done>, input: unknown): Promise<Done | ToolFailure> {
    const { operations, notifications } = this.#shared;
    const begun = performance.now();
    let success = false;
    try {
      const done = await operations.run(tool.name, () => this.#counted(tool, input ?? {}));
      success = true;
      return done;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      return { success: false, error: error.message, remedy: error.remedy };
    } finally {
      notifications.notify("called", { tool: tool.name, milliseconds: performance.now() - begun, success });
    }
  }

  /** Checks a call and runs it. Counts a refusal that touches security before the host is notified of it. */
  async #counted<Done extends ToolSuccess>(tool: WorkspaceTool<Done>, input: unknown): Promise<Done> {
    try {
      const prepared = tool.prepare(this, input);
      if (!prepared.ok) throw errorOf(tool, prepared);
      return await prepared.run();
    } catch (error) {
      if (isPhasegateError(error) && audienceOf(error) === "guard") this.#shared.violated();
      throw error;
    }
  }
}

function noTool(name: string, tools: readonly WorkspaceTool[]): ToolFailure {
  const names = tools.map((tool) => tool.name);
  const near = nearest(name, names);
  const remedy = near === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${near}?`;
  return { success: false, error: `there is no tool ${shown(name)}`, remedy };
}
