import process from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { serveOverStdio } from "../mcp/stdio.js";
import type { WorkflowRegistration } from "../mcp/tools.js";
import { EXIT, type ExitCode, packageVersion } from "./exit-codes.js";
import { type Logs, openLogs } from "./log.js";
import { requireFolder } from "./options.js";
import { serveHttp } from "./serve-http.js";
import { logFilesOf, type ServeOptions } from "./serve-options.js";
import {
  preparePhased,
  prepareRouted,
  prepareWorkspace,
  type ServedPhased,
  type ServedRouted,
  type ServedWorkspace,
  sharedOptions,
} from "./serve-products.js";
import { openState } from "./state.js";
import type { Terminal } from "./terminal.js";

/** A message carries evidence, and JSON may write a character in six bytes. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
const BYTES_FOR_ONE = 6;
/** How long calls under way may take once the end has come. */
const DRAIN_MS = 10_000;
/** Clients on this machine send a request in far less. */
const HTTP_TIMES = { headers: 10_000, request: 60_000, drain: DRAIN_MS };

/** What is served: one of them, or several. */
interface Served {
  readonly phased: ServedPhased | undefined;
  readonly routed: ServedRouted | undefined;
  readonly workspace: ServedWorkspace | undefined;
}

/** Something that is being served. */
interface Serving {
  /** Why it ended; `abandoned` if calls were still under way, `broken` if nobody can be answered any more. */
  readonly ended: Promise<"closed" | "input ended" | "broken" | "abandoned">;
  close(): void;
}

/** How serving has ended, and whether something that it started may still run. */
interface Outcome {
  readonly code: ExitCode;
  readonly running: boolean;
}

/** Serves until the client or a signal ends it, and ends in order: answers first, then the storage. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const { code, running } = await serveClosing(options, terminal);
  // A call that never ends, or an answer that nobody reads, would keep the process alive.
  if (running) terminal.exit?.(code);
  return code;
}

async function serveClosing(options: ServeOptions, terminal: Terminal): Promise<Outcome> {
  const logs = openLogs(options.logLevel, terminal, logFilesOf(options, process.env));
  try {
    return await serveLogged(options, terminal, logs);
  } finally {
    logs.close();
    // Or an open pipe on the other side would keep the process alive.
    terminal.stdin.destroy();
  }
}

async function serveLogged(options: ServeOptions, terminal: Terminal, logs: Logs): Promise<Outcome> {
  const { log } = logs;
  const { workflows, routed: folder, project, http, state } = options;
  const openPhased = workflows.length === 0 ? undefined : await preparePhased(options, log);
  const openRouted = folder === undefined ? undefined : await prepareRouted(options, folder, logs);
  const openWorkspace = await prepareWorkspace(options, log);
  if (project !== undefined) await requireFolder(project, "the project folder");
  const shared = await sharedOptions(options);
  const storage = state === undefined ? undefined : await openState(state, { create: true });
  try {
    const engines = storage === undefined ? undefined : { ...shared, storage };
    const served: Served = {
      phased: engines && (await openPhased?.(engines)),
      routed: engines && (await openRouted?.(engines)),
      workspace: await openWorkspace?.(storage),
    };
    const serving =
      http === undefined || served.routed === undefined
        ? connect(served, options, terminal, log)
        : await serveHttp(served.routed.engine, http, log, HTTP_TIMES);
    const release = endOnSignals(serving, log);
    const reason = await serving.ended;
    release();
    log.info({ reason }, "stopped");
    const code = reason === "broken" ? EXIT.environment : EXIT.ok;
    return { code, running: reason === "broken" || reason === "abandoned" };
  } finally {
    await storage?.close?.();
  }
}

function connect(
  { phased, routed, workspace }: Served,
  { maxEvidence }: ServeOptions,
  { stdin, stdout }: Terminal,
  log: Logger,
): Serving {
  let registration: WorkflowRegistration | undefined;
  const factory = () => {
    // The server before it was made to answer a probe, and is gone.
    registration?.dispose();
    const server = new McpServer({ name: "phasegate", version: packageVersion() });
    registration = phased?.register(server);
    routed?.register(server);
    workspace?.register(server);
    return server;
  };
  const connection = serveOverStdio(factory, {
    input: stdin,
    output: stdout,
    maxMessageBytes: Math.max(MESSAGE_BYTES, maxEvidence * BYTES_FOR_ONE),
    drainMs: DRAIN_MS,
    onError: (err) => log.warn({ err }, "connection"),
  });
  const ended = connection.ended.finally(() => registration?.dispose());
  return { ended, close: () => connection.close() };
}

/** A second signal ends the process at once, as it would without us. */
function endOnSignals(serving: Serving, log: Logger): () => void {
  const end = (signal: NodeJS.Signals) => {
    release();
    log.info({ signal }, "ending");
    serving.close();
  };
  const release = () => {
    process.off("SIGTERM", end).off("SIGINT", end);
  };
  process.on("SIGTERM", end).on("SIGINT", end);
  return release;
}
