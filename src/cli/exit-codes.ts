/** How a command ends: the exit codes of `phasegate`, the failure that ends it with one of them, and signals. */
import { createRequire } from "node:module";
import process from "node:process";
import type { Logger } from "pino";
import { type ErrorCode, isPhasegateError } from "../errors.js";

export const EXIT = {
  ok: 0,
  problems: 1,
  usage: 2,
  environment: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export type SetExitCode = (code: ExitCode) => void;

export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;
  /** Commands that are run next, in this order: each is printed in a line of its own. */
  readonly commands: readonly string[];

  constructor(
    message: string,
    exitCode: ExitCode,
    hint?: string,
    { commands = [], ...options }: ErrorOptions & { readonly commands?: readonly string[] } = {},
  ) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
    this.hint = hint;
    this.commands = commands;
  }
}

export function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint);
}

/** What is wrong with the session, the workflow or the decision, and not with the environment. */
const PROBLEMS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(["SESSION_NOT_FOUND", "WORKFLOW_NOT_FOUND", "DEFINITION_INVALID", "PLAN_PARSE", "TAMPERED"] as const),
  ...(["APPROVAL_REFUSED", "INVALID_TRANSITION", "NOT_ALLOWED", "PHASE_LOCKED", "PHASE_ALREADY_COMPLETED"] as const),
  ...(["PHASE_OUT_OF_RANGE", "ATTEMPTS_EXHAUSTED", "SESSION_LIMIT"] as const),
]);

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  if (!isPhasegateError(error)) return EXIT.environment;
  if (error.code === "INVALID_INPUT") return EXIT.usage;
  return PROBLEMS.has(error.code) ? EXIT.problems : EXIT.environment;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns what to do about anything that a command threw, if that is known. */
export function hintOf(error: unknown): string | undefined {
  if (error instanceof CommandFailure) return error.hint;
  if (!isPhasegateError(error)) return undefined;
  const isUnknown = isPhasegateError(error, "SESSION_NOT_FOUND") && error.details.nearest === undefined;
  return isUnknown ? "See `phasegate sessions`." : error.remedy;
}

export function packageVersion(): string {
  return String(packageManifest().version ?? "");
}

/** The manifest is found by the package's name: the path differs from build to build. */
function packageManifest(): Readonly<Record<string, unknown>> {
  const manifest: unknown = createRequire(import.meta.url)("phasegate/package.json");
  return Object(manifest);
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
