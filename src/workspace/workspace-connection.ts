import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { Metrics } from "../engine/metrics.js";
import { hearerOf, reportFailure } from "../engine/report-failure.js";
import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../errors.js";
import type { Connection } from "./connection.js";
import type { WorkspaceNotifications } from "./notifications.js";
import type { WorkspaceAct } from "./session/acts.js";
import type { ToolFailure, ToolResult, ToolSuccess, WorkspaceTool } from "./tools/workspace-tool.js";

/** What all connections of a workspace share. */
export interface Shared extends Pick<Connection, "roots" | "limits" | "clock" | "sessions"> {
  readonly tools: readonly WorkspaceTool[];
  readonly notifications: WorkspaceNotifications;
  readonly metrics: Metrics;
  /** Counts a refusal that touches security. */
  violated(): void;
}

/** What is done before there is a session is kept up to so many acts. */
const KEPT_MAX = 200;

/** One client: its sessions, and its way to the tools. */
export class ToolConnection implements Connection {
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
  async run<Done extends ToolSuccess>(
    { name, run }: { readonly name: string; run(input: unknown, connection: Connection): Promise<Done> },
    input: unknown,
  ): Promise<Done | ToolFailure> {
    const begun = performance.now();
    let success = false;
    try {
      const done = await run(input, this);
      success = true;
      return done;
    } catch (error) {
      const { message, remedy } = this.#known(name, error);
      return { success: false, error: message, remedy };
    } finally {
      const milliseconds = performance.now() - begun;
      this.#shared.metrics.record(name, milliseconds, success);
      this.#shared.notifications.notify("called", { tool: name, milliseconds, success });
    }
  }

  #known(operation: string, error: unknown): AnyPhasegateError | PhasegateError {
    const { notifications, violated } = this.#shared;
    if (!isPhasegateError(error)) {
      notifications.notify("internalError", { operation, error });
      return new PhasegateError("INTERNAL", `${operation} failed for a reason of the host's, not of the request`, {
        remedy: "Try once more; if it fails again, tell the person who runs this server: its log has the cause.",
        details: {},
      });
    }
    if (hearerOf(error) === "guard") violated();
    reportFailure(notifications, operation, error);
    return error;
  }
}

function noTool(name: string, tools: readonly WorkspaceTool[]): ToolFailure {
  const names = tools.map((tool) => tool.name);
  const near = nearest(name, names);
  const remedy = near === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${near}?`;
  return { success: false, error: `there is no tool ${shown(name)}`, remedy };
}
