import { createRequire } from "node:module";
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
/** What the bin's exit codes mean; `--help` prints them. */
export const EXIT = {
  /** Done, or served until the end. */
  ok: 0,
  /** There are problems, or no such session. */
  problems: 1,
  /** Wrong usage: an option is missing, unknown or of the wrong kind. */
  usage: 2,
  /** The environment failed: a folder that isn't there, a disk, a package that isn't installed. */
  environment: 3,
} as const;

/** One of the bin's exit codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Takes the exit code of a command that has run to its end. */
export type SetExitCode = (code: ExitCode) => void;

/** A command that can't go on, with what to do about it. */
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

/** The exit code for whatever a command threw. */
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
      return EXIT.problems;
    default:
      return EXIT.environment;
  }
}

/** The version of this package, by its own name: the path to its package.json differs from build to build. */
export function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)("phasegate/package.json");
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return String(found);
}
