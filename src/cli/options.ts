import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import { InvalidArgumentError, Option } from "commander";
import type { SessionChoice } from "../phased/log-copy.js";
import { LIVING, type LivingStatus } from "../phased/options.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** The levels of the log, most of all first. */
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
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

/** The absolute path of a file that must be there; `what` says which one, in messages. */
export async function requireFile(path: string, what: string): Promise<string> {
  const file = resolve(path);
  const found = await stat(file).catch((cause: unknown) => {
    throw new CommandFailure(`${what} can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  });
  if (!found.isDirectory()) return file;
  throw new CommandFailure(`${what} is a folder: ${file}`, EXIT.environment, "Name a file.");
}

/** The absolute path of a folder that must be there; `what` says which one, in messages. */
export async function requireFolder(path: string, what: string): Promise<string> {
  const folder = resolve(path);
  const found = await stat(folder).catch((cause: unknown) => {
    throw new CommandFailure(`${what} can't be read: ${folder}`, EXIT.environment, "Check the path.", { cause });
  });
  if (found.isDirectory()) return folder;
  throw new CommandFailure(`${what} is no folder: ${folder}`, EXIT.environment, "Name a folder.");
}

/** Reads a file that only its owner may read; one that others can read is no secret, and is refused. */
export async function readSecret(file: string, what: string): Promise<string> {
  const failed = (cause: unknown): never => {
    throw new CommandFailure(`${what} can't be read: ${file}`, EXIT.environment, "Check the path.", { cause });
  };
  const { mode } = await stat(file).catch(failed);
  // Windows has no such bits: who may read a file there stands in its access list.
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new CommandFailure(
      `${what} can be read by others: ${file}`,
      EXIT.environment,
      `Run chmod 600 ${file} first.`,
    );
  }
  return readFile(file, "utf8").catch(failed);
}

/** Which sessions a command is about. */
export interface FilterOptions {
  readonly session?: readonly string[];
  readonly status?: readonly LivingStatus[];
  readonly workflow?: string;
  readonly target?: string;
}

/** The options that say which sessions are meant: all of them if none is given. */
export function filterOptions(): Option[] {
  return [
    new Option("--session <id>", "this session; may be repeated").argParser(
      (value: string, before: readonly string[] = []) => [...before, notEmpty(value)],
    ),
    new Option("--status <status>", `sessions of this status (${LIVING.join(", ")}); may be repeated`).argParser(
      (value: string, before: readonly LivingStatus[] = []) => [...before, statusOf(value)],
    ),
    new Option("--workflow <type>", "sessions on this workflow").argParser(notEmpty),
    new Option("--target <path>", "sessions on this target").argParser(notEmpty),
  ];
}

/** What the options say. With ids, the filters don't count. */
export function choiceOf({ session, status, workflow, target }: FilterOptions): SessionChoice {
  if (session !== undefined) return { sessionIds: session };
  return {
    query: {
      ...(status === undefined ? {} : { status }),
      ...(workflow === undefined ? {} : { workflowType: workflow }),
      ...(target === undefined ? {} : { target }),
    },
  };
}

function statusOf(value: string): LivingStatus {
  const status = LIVING.find((known) => known === value);
  if (status !== undefined) return status;
  throw new InvalidArgumentError(`Allowed choices are ${LIVING.join(", ")}.`);
}
