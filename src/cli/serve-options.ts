import { basename, delimiter } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import { ACTION_NAMES, type Action, isAction } from "../tools/phased/actions.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import {
  includeRootOption,
  isLogLevel,
  type LogLevel,
  logLevelOption,
  notEmpty,
  stateOption,
  toolName,
  wholeNumber,
} from "./options.js";
import { type TrustOptions, trustOptions, type VerifierOptions, verifierOptions } from "./trust.js";
/** What `serve` was asked for, by flags or by the environment. */
export interface ServeOptions extends TrustOptions, VerifierOptions, RoutedOptions, WorkspaceFolderOptions {
  /** Empty where only others are served. */
  readonly workflows: readonly string[];
  /** Missing where a workspace alone is served, and not recorded. */
  readonly state?: string;
  readonly project?: string;
  readonly logLevel: LogLevel;
  readonly toolName: string;
  readonly actions?: readonly Action[];
  readonly enforcement: "strict" | "as-defined";
  readonly agentSync: "keeps-gates" | "any";
  readonly maxAttempts: number;
  readonly maxAttemptsTotal: number;
  readonly maxSessions: number;
  readonly maxEvidence: number;
  readonly maxTokens: number;
  readonly poll: number;
  readonly allowUnsignedApprovals?: true;
}

/** The options of `serve`, in the order in which its help lists them. */
export function serveOptions(): Option[] {
  return [
    ...folderOptions(),
    ...routedOptions(),
    ...workspaceOptions(),
    ...verifierOptions(),
    ...toolOptions(),
    ...approvalOptions(),
    ...limitOptions(),
  ];
}

function folderOptions(): Option[] {
  return [
    new Option("--workflows <dir...>", "folders of workflows; the first one that has a workflow wins")
      .env("PHASEGATE_WORKFLOWS")
      .argParser((value: string, before: readonly string[] = []) => [...before, notEmpty(value)]),
    stateOption(),
    new Option("--project <dir>", "folder that targets lie in, and that gates have looked at")
      .env("PHASEGATE_PROJECT")
      .argParser(notEmpty),
    logLevelOption(),
  ];
}

function toolOptions(): Option[] {
  return [
    new Option("--tool-name <name>", "name of the tool")
      .env("PHASEGATE_TOOL_NAME")
      .argParser(toolName)
      .default("pos_workflow"),
    new Option("--actions <list>", "actions that agents get, joined by ','; all if not given")
      .env("PHASEGATE_ACTIONS")
      .argParser(actionList),
    new Option("--enforcement <how>", "how gate files with strict: false are read")
      .env("PHASEGATE_ENFORCEMENT")
      .choices(["strict", "as-defined"])
      .default("strict"),
    new Option(
      "--agent-sync <what>",
      "syncs of a plan that agents may ask for: those that take nothing from gates and tasks, or any",
    )
      .env("PHASEGATE_AGENT_SYNC")
      .choices(["keeps-gates", "any"])
      .default("keeps-gates"),
    limit("--poll <seconds>", "how often changed workflows are looked for; 0 for never", "POLL", 5, 0),
  ];
}

function approvalOptions(): Option[] {
  return [
    ...trustOptions(),
    // Not from the environment: a variable that says "false" is set as well.
    new Option("--allow-unsigned-approvals", "let the client's user approve, who can't sign; recorded as unsigned"),
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

/** Who picks the next step. */
export type DeciderName = "gemini" | "sampling" | "linear";

/** What `serve` was asked for about routed workflows. */
export interface RoutedOptions {
  readonly routed?: string;
  readonly includeRoot?: readonly string[];
  readonly decider?: DeciderName;
  readonly firstStep: "first" | "decider";
  readonly routedTools: "separate" | "single";
  readonly http?: number;
  readonly logDir?: string;
}

/** The options of `serve` for routed workflows. */
function routedOptions(): Option[] {
  return [
    new Option("--routed <dir>", "folder of routed workflows").env("WORKFLOW_DEFINITIONS_DIR").argParser(notEmpty),
    includeRootOption(),
    new Option(
      "--decider <who>",
      "who picks the next step; if not given, gemini where there is a key, else sampling (the client's model)",
    ).choices(["gemini", "sampling", "linear"]),
    new Option("--first-step <how>", "what routed work begins with").choices(["first", "decider"]).default("first"),
    new Option("--routed-tools <how>", "a tool for each call, or one for all")
      .choices(["separate", "single"])
      .default("separate"),
    new Option("--http <port>", "serve routed workflows over HTTP on 127.0.0.1, instead of MCP").argParser(port),
    new Option("--log-dir <dir>", "folder for log files, beside stderr")
      .env("ORCHESTRATOR_LOG_DIR")
      .argParser(notEmpty),
  ];
}

function port(value: string): number {
  const number = wholeNumber(0)(value);
  if (number < 65_536) return number;
  throw new InvalidArgumentError("It must be less than 65536; 0 is any that is free.");
}

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Which files are written: nothing, unless somebody has asked for some. */
export interface LogFiles {
  readonly folder: string;
  readonly main: string;
  readonly ai: string;
}

/** Where seed 003's variables say that logs go; undefined where none of them is set. */
export function logFilesOf({ logDir }: RoutedOptions, env: Environment): LogFiles | undefined {
  const main = fileName(env, "ORCHESTRATOR_LOG_FILE");
  const ai = fileName(env, "AI_INTERACTIONS_LOG_FILE");
  if (logDir === undefined && main === undefined && ai === undefined) return undefined;
  return { folder: logDir ?? "logs", main: main ?? "orchestrator.log", ai: ai ?? "ai_interactions.log" };
}

function fileName(env: Environment, variable: string): string | undefined {
  const name = env[variable]?.trim();
  if (name === undefined || name === "") return undefined;
  if (basename(name) === name && name !== "." && name !== "..") return name;
  throw new CommandFailure(`${variable} must be a file's name`, EXIT.usage, "ORCHESTRATOR_LOG_DIR names its folder.");
}

/** Seed 003's words for levels that have others here. */
const LEVELS: Readonly<Record<string, LogLevel>> = { warning: "warn", critical: "error", fatal: "error" };

/** `LOG_LEVEL`, where nothing of ours says a level. */
function logLevelOf(env: Environment): LogLevel | undefined {
  const given = env.LOG_LEVEL?.trim().toLowerCase();
  if (given === undefined || given === "") return undefined;
  const level = Object.hasOwn(LEVELS, given) ? LEVELS[given] : given;
  if (level !== undefined && isLogLevel(level)) return level;
  throw new CommandFailure("LOG_LEVEL is no level of the log", EXIT.usage, "Use debug, info, warn or error.");
}

/** What `serve` was asked for about workflows that the client's model leads. */
interface WorkspaceFolderOptions {
  readonly bundle?: string;
  readonly core?: string;
  readonly output?: string;
}

/** The options of `serve` for a workspace. */
function workspaceOptions(): Option[] {
  return [
    new Option("--bundle <dir>", "folder of workflows that the client's model reads and follows by itself")
      .env("PHASEGATE_BUNDLE")
      .argParser(notEmpty),
    new Option("--core <dir>", "folder that these workflows share").env("PHASEGATE_CORE").argParser(notEmpty),
    new Option("--output <dir>", "folder that they save to, a folder for each session")
      .env("PHASEGATE_OUTPUT")
      .argParser(notEmpty),
  ];
}

/** A workspace that is to be served; undefined if none is. Throws where a part of it is missing. */
export function workspaceFoldersOf({ bundle, core, output }: WorkspaceFolderOptions) {
  if (bundle !== undefined && output !== undefined) return { bundle, output, ...(core === undefined ? {} : { core }) };
  if (bundle === undefined && core === undefined && output === undefined) return undefined;
  const missing = bundle === undefined ? "--bundle" : "--output";
  const hint = "Give --bundle with a folder of workflows, and --output with one for what they make.";
  throw new CommandFailure(`${missing} is missing`, EXIT.usage, hint);
}

/** The options of `serve` as they come from the command line. */
export type GivenOptions = Omit<ServeOptions, "workflows"> & Partial<Pick<ServeOptions, "workflows">>;

/** What was given, with what seed 003's variables say where nothing else does. Throws where nothing is left to serve. */
export function complete(
  given: GivenOptions,
  sourceOf: (option: keyof ServeOptions) => string | undefined,
  env: Environment,
): ServeOptions {
  const paths = given.workflows ?? [];
  const workflows = sourceOf("workflows") === "env" ? paths.flatMap((joined) => joined.split(delimiter)) : paths;
  const level = sourceOf("logLevel") === "default" ? logLevelOf(env) : undefined;
  const file = env.WORKFLOW_DB_PATH?.trim();
  const state = given.state ?? (file ? `sqlite:${file}` : undefined);
  const named = workflows.filter((path) => path !== "");
  const hasEngine = named.length > 0 || given.routed !== undefined;
  const workspace = workspaceFoldersOf(given);
  if (!hasEngine && workspace === undefined) throw nothing();
  if (hasEngine && state === undefined)
    throw usage("--state is missing", "Name a folder or sqlite:FILE for the sessions.");
  if (given.http !== undefined) requireRoutedAlone(named.length > 0 || workspace !== undefined, given.routed);
  return {
    ...given,
    workflows: named,
    ...(state === undefined ? {} : { state }),
    ...(level === undefined ? {} : { logLevel: level }),
  };
}

function requireRoutedAlone(hasOthers: boolean, routed: string | undefined): void {
  if (routed !== undefined && !hasOthers) return;
  throw usage("--http serves routed workflows alone", "Give --routed, and serve the others by another process.");
}

function nothing(): CommandFailure {
  return usage(
    "there is nothing to serve",
    "Give --workflows with folders of phased workflows, --routed with one of routed ones, --bundle and --output, or several.",
  );
}

function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint);
}
