import process from "node:process";
import { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { FileContent } from "../adapters/fs/content/file-content.js";
import { FilePlans } from "../adapters/fs/plans/file-plans.js";
import { createEngine, type Engine } from "../engine/engine.js";
import { registerWorkflowTool, type WorkflowRegistration } from "../mcp/register-workflow-tool.js";
import { type StdioConnection, serveOverStdio } from "../mcp/serve-over-stdio.js";
import { createProjectRoot } from "../walls/project-root.js";
import { readTrust } from "./approval-options.js";
import { createLogger } from "./create-logger.js";
import { EXIT, type ExitCode } from "./exit-codes.js";
import { logEngine, logWorkflows } from "./log-engine.js";
import { openState } from "./open-state.js";
import { packageVersion } from "./package-version.js";
import { requireFolder } from "./require-folder.js";
import type { ServeOptions } from "./serve-options.js";
import type { Terminal } from "./terminal.js";
import { openVerifiers } from "./verifier-options.js";

/** A message carries evidence, and JSON may write a character in six bytes. */
const MESSAGE_BYTES = 32 * 1024 * 1024;
const BYTES_FOR_ONE = 6;
/** How long calls under way may take once the end has come. */
const DRAIN_MS = 10_000;

/** Serves until the client or a signal ends it, and ends in order: answers first, then the storage. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<ExitCode> {
  const log = createLogger(options.logLevel, terminal);
  const content = await openContent(options);
  const engine = await openEngine(options, content);
  try {
    logEngine(engine, log);
    await logWorkflows(content, log);
    const connection = connect(engine, content, options, terminal, log);
    const release = endOnSignals(connection, log);
    const reason = await connection.ended;
    release();
    log.info({ reason }, "stopped");
    return reason === "broken" ? EXIT.environment : EXIT.ok;
  } finally {
    await engine.close();
    // Or an open pipe on the other side would keep the process alive.
    terminal.stdin.destroy();
  }
}

async function openContent({ workflows }: ServeOptions): Promise<FileContent> {
  const roots = await Promise.all(workflows.map((path) => requireFolder(path, "the workflows folder")));
  return new FileContent({ roots });
}

async function openEngine(options: ServeOptions, content: FileContent): Promise<Engine> {
  const { state, project, enforcement, agentSync, maxAttempts, maxAttemptsTotal, maxSessions, maxEvidence } = options;
  const targets =
    project === undefined ? undefined : await createProjectRoot(await requireFolder(project, "the project folder"));
  return createEngine({
    storage: await openState(state, { create: true }),
    content,
    enforcement,
    ...(await readTrust(options)),
    verifiers: await openVerifiers(options, process.env),
    allowUnsignedApprovals: options.allowUnsignedApprovals === true,
    agentSync,
    limits: {
      maxAttempts,
      maxAttemptsTotal,
      maxEvidenceBytes: maxEvidence,
      maxActiveSessions: maxSessions === 0 ? Number.POSITIVE_INFINITY : maxSessions,
    },
    // Plans lie where targets do: without a project folder, workflows whose phases come out of one can't be started.
    ...(targets === undefined || project === undefined ? {} : { targets, plans: new FilePlans({ root: project }) }),
  });
}

function connect(
  engine: Engine,
  content: FileContent,
  options: ServeOptions,
  { stdin, stdout }: Terminal,
  log: Logger,
): StdioConnection {
  let registration: WorkflowRegistration | undefined;
  const factory = () => {
    // The server before it was made to answer a probe, and is gone.
    registration?.dispose();
    const server = new McpServer({ name: "phasegate", version: packageVersion() });
    registration = registerWorkflowTool(server, engine, {
      name: options.toolName,
      maxTokens: options.maxTokens,
      ...(options.actions === undefined ? {} : { actions: options.actions }),
      ...(options.poll === 0 ? {} : { poll: { content, everyMs: options.poll * 1000 } }),
    });
    return server;
  };
  return serveOverStdio(factory, {
    input: stdin,
    output: stdout,
    maxMessageBytes: Math.max(MESSAGE_BYTES, options.maxEvidence * BYTES_FOR_ONE),
    drainMs: DRAIN_MS,
    onError: (err) => log.warn({ err }, "connection"),
  });
}

/** A second signal ends the process at once, as it would without us. */
function endOnSignals(connection: StdioConnection, log: Logger): () => void {
  const end = (signal: NodeJS.Signals) => {
    release();
    log.info({ signal }, "ending");
    connection.close();
  };
  const release = () => {
    process.off("SIGTERM", end).off("SIGINT", end);
  };
  process.on("SIGTERM", end).on("SIGINT", end);
  return release;
}
