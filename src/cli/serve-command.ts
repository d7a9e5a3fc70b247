import { delimiter } from "node:path";
import process from "node:process";
import { Command } from "commander";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { complete, type GivenOptions, serveOptions } from "./serve-options.js";
import type { Terminal } from "./terminal.js";

const HELP = `
Answers on stdout are protocol and nothing else; the log goes to stderr, a JSON object a line. The
server ends in order, with exit code 0, on SIGTERM, on SIGINT and when its client closes stdin. Flags
win over the environment; PHASEGATE_WORKFLOWS holds folders joined by '${delimiter}'.

Of routed workflows these variables are read, too: WORKFLOW_DB_PATH (an SQLite file, where --state isn't given),
LOG_LEVEL, USE_STUB_AI_CLIENT=true (--decider linear), GEMINI_API_KEY, GEMINI_MODEL_NAME,
GEMINI_REQUEST_TIMEOUT_SECONDS; and ORCHESTRATOR_LOG_FILE and AI_INTERACTIONS_LOG_FILE, the names of the log
files. Setting one of these two, or --log-dir, has log files written, beside stderr; the second holds what
models were asked and have answered.

Example, as an MCP client's configuration:
  { "mcpServers": { "workflows": {
      "command": "npx",
      "args": ["phasegate", "serve"],
      "env": { "PHASEGATE_WORKFLOWS": "workflows", "PHASEGATE_STATE": ".phasegate" } } } }`;

/** `phasegate serve`. */
export function serveCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("serve")
    .summary("serve workflows over MCP on stdio, or over HTTP")
    .description(
      "Serves phased and routed workflows, and a workspace, over MCP (Model Context Protocol) on stdin and stdout.",
    );
  for (const option of serveOptions()) command.addOption(option);
  return command.addHelpText("after", HELP).action(async (given: GivenOptions) => {
    const options = complete(given, (name) => command.getOptionValueSource(name), process.env);
    const serve = await loadServe();
    setExitCode(await serve(options, terminal));
  });
}

/** The MCP SDK is an optional peer: only who serves needs it. */
async function loadServe(): Promise<typeof import("./serve.js").serve> {
  try {
    return (await import("./serve.js")).serve;
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    if (!missing || !cause.message.includes("@modelcontextprotocol/server")) throw cause;
    const hint = "Install it beside phasegate: npm install @modelcontextprotocol/server";
    throw new CommandFailure("serve needs the package @modelcontextprotocol/server", EXIT.environment, hint, { cause });
  }
}
