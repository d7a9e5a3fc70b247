/** How a command ends: the exit codes of `phasegate`, the failure that ends it with one of them, and signals. */
import { createRequire } from "node:module";
import process from "node:process";
import type { Logger } from "pino";
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
import { isJsonObject } from "../workflow/json.js";

/** The exit codes; `--help` prints them. */
export const EXIT = {
  ok: 0,
  problems: 1,
  usage: 2,
  environment: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type SetExitCode = (code: ExitCode) => void;

/** A failure that ends a command: what is wrong, its exit code, and what to do about it. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(message: string, exitCode: ExitCode, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

export function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint);
}

/** Returns the exit code for anything that a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  return isPhasegateError(error) ? codeOf(error) : EXIT.environment;
}

function codeOf({ code }: AnyPhasegateError): ExitCode {
  switch (code) {
    case "INVALID_INPUT":
      return EXIT.usage;
    case "SESSION_NOT_FOUND":
    case "WORKFLOW_NOT_FOUND":
    case "DEFINITION_INVALID":
    case "PLAN_PARSE":
    case "TAMPERED":
    case "APPROVAL_REFUSED":
    case "INVALID_TRANSITION":
    case "NOT_ALLOWED":
    case "PHASE_LOCKED":
    case "PHASE_ALREADY_COMPLETED":
    case "PHASE_OUT_OF_RANGE":
    case "ATTEMPTS_EXHAUSTED":
    case "SESSION_LIMIT":
      return EXIT.problems;
    default:
      return EXIT.environment;
  }
}

export function packageVersion(): string {
  return String(packageManifest().version ?? "");
}

/** Returns this package's manifest. It is found by the package's name: the path differs from build to build. */
export function packageManifest(): Readonly<Record<string, unknown>> {
  const manifest: unknown = createRequire(import.meta.url)("phasegate/package.json");
  return isJsonObject(manifest) ? manifest : {};
}

/** Ends on the first signal. A second one ends the process at once, as it would by default. */
export function endOnSignals(serving: { close(): void }, log: Pick<Logger, "info">): () => void {
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
