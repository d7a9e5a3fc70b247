import { basename } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { includeRootOption, isLogLevel, type LogLevel, notEmpty, wholeNumber } from "./option-values.js";

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
export function routedOptions(): Option[] {
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
export function logLevelOf(env: Environment): LogLevel | undefined {
  const given = env.LOG_LEVEL?.trim().toLowerCase();
  if (given === undefined || given === "") return undefined;
  const level = Object.hasOwn(LEVELS, given) ? LEVELS[given] : given;
  if (level !== undefined && isLogLevel(level)) return level;
  throw new CommandFailure("LOG_LEVEL is no level of the log", EXIT.usage, "Use debug, info, warn or error.");
}
