import process from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import type { WorkflowRegistration } from "../mcp/register-workflow-tool.js";
import { serveOverStdio } from "../mcp/serve-over-stdio.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { type Logs, openLogs } from "./create-logger.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import { openState } from "./open-state.js";
import { packageVersion } from "./package-version.js";
import { requireFolder } from "./require-folder.js";
import { logFilesOf } from "./routed-options.js";
import { serveHttp } from "./serve-http.js";
import type { ServeOptions } from "./serve-options.js";
import { openPhased, type ServedPhased } from "./serve-phased.js";
import { openRouted, type ServedRouted } from "./serve-routed.js";
import { sharedOptions } from "./serve-shared.js";
import { openWorkspace, type ServedWorkspace } from "./serve-workspace.js";
import type { Terminal } from "./terminal.js";

/** A message carries evidence, and JSON may write a character in six bytes. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
const BYTES_FOR_ONE = 6;
/** How long calls under way may take once the end has come. */
const DRAIN_MS = 10_000;

/** What is served: one of them, or several. */
interface Served {
  readonly phased: ServedPhased | undefined;
  readonly routed: ServedRouted | undefined;
  readonly workspace: ServedWorkspace | undefined;
}

/** Something that is being served. */
interface Serving {
  readonly ended: Promise<string>;
  close(): void;
}

/** Serves until the client or a signal ends it, and ends in order: answers first, then the storage. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const logs = openLogs(options.logLevel, terminal, logFilesOf(options, process.env));
  try {
    return await serveLogged(options, terminal, logs);
  } finally {
    logs.close();
    // Or an open pipe on the other side would keep the process alive.
    terminal.stdin.destroy();
  }
}

async function serveLogged(options: ServeOptions, terminal: Terminal, logs: Logs): Promise<ExitCode> {
  const { log } = logs;
  await requireFolders(options);
  const storage = options.state === undefined ? undefined : await openState(options.state, { create: true });
  try {
    const served = await openServed(options, storage, logs);
    const { http } = options;
    const serving =
      http === undefined || served.routed === undefined
        ? connect(served, options, terminal, log)
        : await serveHttp(served.routed.engine, http, log);
    const release = endOnSignals(serving, log);
    const reason = await serving.ended;
    release();
    log.info({ reason }, "stopped");
    return reason === "broken" ? EXIT.environment : EXIT.ok;
  } finally {
    await storage?.close?.();
  }
}

async function openServed(options: ServeOptions, storage: StorageAdapter | undefined, logs: Logs): Promise<Served> {
  const { workflows, routed: folder } = options;
  const shared = storage === undefined ? undefined : await sharedOptions(options, storage);
  const isPhased = workflows.length > 0;
  return {
    phased: shared === undefined || !isPhased ? undefined : await openPhased(options, shared, logs.log),
    routed: shared === undefined || folder === undefined ? undefined : await openRouted(options, folder, shared, logs),
    workspace: await openWorkspace(options, storage, logs.log),
  };
}

/** Before the state is made: who has misspelt a folder finds nothing new beside it. */
async function requireFolders({ workflows, routed, project, bundle, core }: ServeOptions): Promise<void> {
  for (const folder of workflows) await requireFolder(folder, "the workflows folder");
  if (routed !== undefined) await requireFolder(routed, "the folder of routed workflows");
  if (bundle !== undefined) await requireFolder(bundle, "the bundle");
  if (core !== undefined) await requireFolder(core, "the core folder");
  if (project !== undefined) await requireFolder(project, "the project folder");
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
  return serveOverStdio(factory, {
    input: stdin,
    output: stdout,
    maxMessageBytes: Math.max(MESSAGE_BYTES, maxEvidence * BYTES_FOR_ONE),
    drainMs: DRAIN_MS,
    onError: (err) => log.warn({ err }, "connection"),
  });
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
