import { delimiter } from "node:path";
import { Command } from "commander";
import { CommandFailure, EXIT, type SetExitCode } from "./exit-codes.js";
import { type ServeOptions, serveOptions } from "./serve-options.js";
import type { Terminal } from "./terminal.js";

const HELP = `
Answers on stdout are protocol and nothing else; the log goes to stderr, a JSON object a line. The
server ends in order, with exit code 0, on SIGTERM, on SIGINT and when its client closes stdin. Flags
win over the environment; PHASEGATE_WORKFLOWS holds folders joined by '${delimiter}'.

Example, as an MCP client's configuration:
  { "mcpServers": { "workflows": {
      "command": "npx",
      "args": ["phasegate", "serve"],
      "env": { "PHASEGATE_WORKFLOWS": "workflows", "PHASEGATE_STATE": ".phasegate" } } } }`;

/** `phasegate serve`. */
export function serveCommand(terminal: Terminal, setExitCode: SetExitCode): Command {
  const command = new Command("serve")
    .summary("serve the workflow tool over MCP on stdio")
    .description("Serves the workflow tool over MCP (Model Context Protocol) on stdin and stdout.");
  for (const option of serveOptions()) command.addOption(option);
  return command.addHelpText("after", HELP).action(async (given: ServeOptions) => {
    const fromEnvironment = command.getOptionValueSource("workflows") === "env";
    const workflows = fromEnvironment ? given.workflows.flatMap((paths) => paths.split(delimiter)) : given.workflows;
    const serve = await loadServe();
    setExitCode(await serve({ ...given, workflows: workflows.filter((path) => path !== "") }, terminal));
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
