import { InvalidArgumentError, Option } from "commander";

/** The levels of the log, most of all first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
/** A level of the log. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Whether a text is a level of the log. */
export function isLogLevel(level: string): level is LogLevel {
  return LOG_LEVELS.some((one) => one === level);
}

/** Reads a whole number of at least `least`. */
export function wholeNumber(least: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^[0-9]+$/.test(value) && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`);
  };
}

/** Reads a text that is not empty: an empty path would be the current folder. */
export function notEmpty(value: string): string {
  if (value !== "") return value;
  throw new InvalidArgumentError("It must not be empty.");
}

/** Reads the name of an MCP tool, as clients and models take it. */
export function toolName(value: string): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(value)) return value;
  throw new InvalidArgumentError("It must be 1 to 64 letters, digits, '_', '-' and '.'.");
}

/** Where the sessions are, which most commands need. From the environment, a password stands in no list of processes. */
export function stateOption(): Option {
  return new Option("--state <where>", "the sessions: a folder, sqlite:FILE, or postgres://…")
    .env("PHASEGATE_STATE")
    .argParser(notEmpty);
}

/** `--json`, for machines. */
export function jsonOption(): Option {
  return new Option("--json", "print JSON, for machines");
}

/** How much is told on stderr; at `debug`, errors come with their stack. */
export function logLevelOption(): Option {
  return new Option("--log-level <level>", "how much is told on stderr")
    .env("PHASEGATE_LOG_LEVEL")
    .choices(LOG_LEVELS)
    .default("info");
}

/** Where routed workflows may include files from, beside their own folders. */
export function includeRootOption(): Option {
  return new Option(
    "--include-root <folder...>",
    "folders that routed workflows may include files from, relative to the one that holds the workflows; '.' for all",
  ).argParser((value: string, before: readonly string[] = []) => [...before, notEmpty(value)]);
}
