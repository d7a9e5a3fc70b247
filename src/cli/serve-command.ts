import { delimiter } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { ACTION_NAMES, type Action, isAction } from "../tool/actions.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { type LogLevel, logLevelOption, notEmpty, stateOption, wholeNumber } from "./option-values.js";
import type { SetExitCode } from "./program.js";
import type { Terminal } from "./terminal.js";

/** What `serve` was asked for, by flags or by the environment. */
export interface ServeOptions {
  readonly workflows: readonly string[];
  readonly state: string;
  readonly project?: string;
  readonly logLevel: LogLevel;
  readonly toolName: string;
  readonly actions?: readonly Action[];
  readonly enforcement: "strict" | "as-defined";
  readonly maxAttempts: number;
  readonly maxAttemptsTotal: number;
  readonly maxSessions: number;
  readonly maxEvidence: number;
  readonly maxTokens: number;
  readonly poll: number;
}

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
  for (const option of [...folderOptions(), ...toolOptions(), ...limitOptions()]) command.addOption(option);
  return command.addHelpText("after", HELP).action(async (given: ServeOptions) => {
    const fromEnvironment = command.getOptionValueSource("workflows") === "env";
    const workflows = fromEnvironment ? given.workflows.flatMap((paths) => paths.split(delimiter)) : given.workflows;
    const serve = await loadServe();
    setExitCode(await serve({ ...given, workflows: workflows.filter((path) => path !== "") }, terminal));
  });
}

function folderOptions(): Option[] {
  return [
    new Option("--workflows <dir...>", "folders of workflows; the first one that has a workflow wins")
      .env("PHASEGATE_WORKFLOWS")
      .argParser((value: string, before: readonly string[] = []) => [...before, notEmpty(value)])
      .makeOptionMandatory(),
    stateOption().makeOptionMandatory(),
    new Option("--project <dir>", "folder that targets must lie in, links included")
      .env("PHASEGATE_PROJECT")
      .argParser(notEmpty),
    logLevelOption(),
  ];
}

function toolOptions(): Option[] {
  return [
    new Option("--tool-name <name>", "name of the tool")
      .env("PHASEGATE_TOOL_NAME")
      .argParser(notEmpty)
      .default("pos_workflow"),
    new Option("--actions <list>", "actions that agents get, joined by ','; all if not given")
      .env("PHASEGATE_ACTIONS")
      .argParser(actionList),
    new Option("--enforcement <how>", "how gate files with strict: false are read")
      .env("PHASEGATE_ENFORCEMENT")
      .choices(["strict", "as-defined"])
      .default("strict"),
    limit("--poll <seconds>", "how often changed workflows are looked for; 0 for never", "POLL", 5, 0),
  ];
}

function limitOptions(): Option[] {
  return [
    limit("--max-attempts <n>", "failures in a row before a session fails", "MAX_ATTEMPTS", 3),
    limit("--max-attempts-total <n>", "failures an agent may have at one phase", "MAX_ATTEMPTS_TOTAL", 12),
    limit("--max-sessions <n>", "active sessions at once; 0 for no limit", "MAX_SESSIONS", 100, 0),
    limit("--max-evidence <bytes>", "bytes of JSON in one submission", "MAX_EVIDENCE", 10 * 1024 * 1024),
    limit("--max-tokens <n>", "longest answer, in tokens of 4 characters", "MAX_TOKENS", 6000, 1000),
  ];
}

function limit(flags: string, description: string, name: string, preset: number, least = 1): Option {
  return new Option(flags, description).env(`PHASEGATE_${name}`).argParser(wholeNumber(least)).default(preset);
}

function actionList(value: string): Action[] {
  const names = value.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !isAction(name));
  if (unknown.length === 0) return names.filter(isAction);
  throw new InvalidArgumentError(`Unknown: ${unknown.join(", ")}. There are ${ACTION_NAMES.join(", ")}.`);
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
