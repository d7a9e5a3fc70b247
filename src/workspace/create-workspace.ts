/**
 * Opens a workspace and connects clients to it. A tool call never rejects: every error becomes an answer with a remedy,
 * and the cause of an unexpected one is reported to the host only.
 */

import { watchSessions } from "../engine/watch.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { readWhole } from "../log/commit.js";
import { byOwner, type Caller, callerOf } from "../ports/actor.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { audienceOf } from "../runtime/notifier.js";
import { Operations } from "../runtime/operations.js";
import { callable, checkOptions, optionally } from "../workflow/host-options.js";
import { meantOr, shown } from "../workflow/names.js";
import { resolveWorkspaceOptions, WorkspaceNotifications, type WorkspaceOptions } from "./options.js";
import { listWorkflows } from "./preload/find.js";
import { openFolders, placesOf, ROOT_NAMES } from "./roots/paths.js";
import { Roots } from "./roots/roots.js";
import { isSessionFolder, noSession, SessionFolders } from "./session/folders.js";
import { type Connection, SessionCounts, SessionKeeper } from "./session/keeper.js";
import {
  type RecordedCommit,
  type RecordedEntry,
  Recorder,
  recordedEntries,
  recordedMachine,
  type WorkspaceAct,
} from "./session/machine.js";
import {
  completeSessionTool,
  createSessionTool,
  nextStepTool,
  preloadWorkflowTool,
  saveOutputTool,
  WORKSPACE_TOOLS,
} from "./tools/sessions.js";
import {
  errorOf,
  listFilesTool,
  readFileTool,
  type ToolFailure,
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
  const roots = new Roots({ roots: opened, project, variables });
  const folders = new SessionFolders(roots.sandbox({ root: ROOT_NAMES.output, path: "." }), limits, clock);
  const recording = { clock, hashKey };
  const recorder = storage === undefined ? undefined : new Recorder({ ...recording, storage, telemetry });
  let violations = 0;
  const shared: Shared = {
    roots,
    limits,
    clock,
    sessions: new SessionKeeper({ folders, recorder, notifications, counts, owner }),
    tools: WORKSPACE_TOOLS,
    notifications,
    operations,
    violated: () => {
      violations += 1;
    },
  };
  const recorded = { folders, recorder, storage, hashKey };
  const whole = sharedWorkspace(shared, recorded, undefined);
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
      const sessions = shared.sessions.limitedTo(caller);
      const limited = {
        sessions,
        roots: roots.limitedTo((id) => sessions.sees(id)),
        // A session that does not exist takes as long as one that the caller can't see.
        operations: operations.within(() => undefined),
      };
      return sharedWorkspace({ ...shared, ...limited }, recorded, caller);
    },
    on: (name, listener) => notifications.on(name, listener),
    metrics: () => ({ tools: operations.metrics.report(), violations, sessions: counts.report() }),
    close: async () => storage?.close?.(),
  };
}

/** Where sessions are recorded. */
interface Recorded {
  readonly folders: SessionFolders;
  readonly recorder: Recorder | undefined;
  readonly storage: StorageAdapter | undefined;
  readonly hashKey: Uint8Array | undefined;
}

/** Returns what a workspace is for the host, or for one caller. */
function sharedWorkspace(shared: Shared, recorded: Recorded, caller: Caller | undefined): ActorWorkspace {
  const { roots, sessions, notifications, clock } = shared;
  const { folders, recorder, storage, hashKey } = recorded;
  // Not among the tools: their metrics are of what agents have called.
  const asked = new Operations({ context: () => undefined, notifications, clock, engine: "recorded" });
  const reading = caller === undefined ? asked : asked.within(() => undefined);
  return {
    variables: roots.known,
    workflows: () => listWorkflows(roots),
    connect: (options = {}) => {
      checkOptions("connect", options, { mayReopen: optionally(callable) });
      return connection(new ToolConnection(shared, options.mayReopen ?? (() => true)));
    },
    session(id) {
      const whole = session(id, folders, recorder);
      const seen = <T>(operation: string, read: () => Promise<T>) =>
        reading.run(operation, async () => {
          await sessions.require(operation, id);
          return read();
        });
      return {
        id,
        manifest: () => seen("manifest", whole.manifest),
        history: () => seen("history", whole.history),
        audit: (receipt) => seen("audit", () => whole.audit(receipt)),
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

/** The part of a workspace that all its connections share. */
interface Shared extends Pick<Connection, "roots" | "limits" | "clock" | "sessions"> {
  readonly tools: readonly WorkspaceTool[];
  readonly notifications: WorkspaceNotifications;
  readonly operations: Operations<undefined>;
  /** Counts a security refusal. */
  violated(): void;
}

/** The most pending acts of a connection without a session; the oldest are dropped. */
const KEPT_MAX = 200;

/** A client: its sessions, and its calls of tools. */
class ToolConnection implements Connection {
  readonly roots: Connection["roots"];
  readonly limits: Connection["limits"];
  readonly clock: Connection["clock"];
  readonly sessions: Connection["sessions"];
  readonly #shared: Shared;
  readonly #mayReopen: (sessionId: string) => boolean;
  readonly #own = new Set<string>();
  #kept: readonly WorkspaceAct[] = [];
  #sessionId: string | undefined;

  constructor(shared: Shared, mayReopen: (sessionId: string) => boolean) {
    this.roots = shared.roots;
    this.limits = shared.limits;
    this.clock = shared.clock;
    this.sessions = shared.sessions;
    this.#shared = shared;
    this.#mayReopen = mayReopen;
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
    const answer: unknown = this.#mayReopen(id);
    if (typeof answer === "boolean") return answer;
    // One that rejects would end the process.
    if (answer instanceof Promise) answer.catch(() => {});
    throw new TypeError("mayReopen must return true or false, and no promise");
  }

  adopt(id: string, recorded: number): void {
    this.#own.add(id);
    this.#sessionId = id;
    this.#kept = this.#kept.slice(recorded);
  }

  async record(act: WorkspaceAct, sessionId = this.#sessionId): Promise<void> {
    if (act.type === "read") {
      const { path, bytes } = act;
      const of = sessionId === undefined ? {} : { sessionId };
      this.#shared.notifications.notify("fileRead", { path, bytes, ...of });
    }
    if (sessionId !== undefined) return this.#shared.sessions.record(sessionId, act);
    this.#kept = [...this.#kept, act].slice(-KEPT_MAX);
  }

  /** Calls a tool by its name. Never rejects. */
  async call(name: string, input: unknown): Promise<ToolResult> {
    const tool = this.#shared.tools.find((known) => known.name === name);
    return tool === undefined ? noTool(name, this.#shared.tools) : this.run(tool, input);
  }

  /** Runs a tool, and measures the call. Never rejects. */
  async run<Done extends ToolSuccess>(tool: WorkspaceTool<Done>, input: unknown): Promise<Done | ToolFailure> {
    const { operations, notifications, clock } = this.#shared;
    const begun = clock.elapsed();
    let success = false;
    try {
      const done = await operations.run(tool.name, () => this.#counted(tool, input ?? {}));
      success = true;
      return done;
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      const sessionId = namedSession(input) ?? this.#sessionId;
      notifications.failed(tool.name, error, sessionId === undefined ? {} : { sessionId });
      return { success: false, error: error.message, code: error.code, remedy: error.remedy };
    } finally {
      notifications.notify("called", { tool: tool.name, milliseconds: clock.elapsed() - begun, success });
    }
  }

  /** Checks a call and runs it. Counts a security refusal before the host is notified of it. */
  async #counted<Done extends ToolSuccess>(tool: WorkspaceTool<Done>, input: unknown): Promise<Done> {
    try {
      const outcome = await tool.run(this, input);
      if ("body" in outcome) return outcome.body;
      throw errorOf(tool, outcome);
    } catch (error) {
      if (isPhasegateError(error) && audienceOf(error) === "guard") this.#shared.violated();
      throw error;
    }
  }
}

/** Returns the session that a call names, if it has the form of an id. */
function namedSession(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("session_id" in input)) return undefined;
  const { session_id: id } = input;
  return typeof id === "string" && isSessionFolder(id) ? id : undefined;
}

function noTool(name: string, tools: readonly WorkspaceTool[]): ToolFailure {
  const names = tools.map((tool) => tool.name);
  const remedy = meantOr(name, names, `The tools are ${names.join(", ")}.`);
  return { success: false, error: `there is no tool ${shown(name)}`, code: "INVALID_INPUT", remedy };
}
