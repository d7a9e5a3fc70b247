import { delimiter } from "node:path";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { type Environment, logLevelOf } from "./routed-options.js";
import type { ServeOptions } from "./serve-options.js";

/** The options of `serve` as they come from the command line. */
export type GivenOptions = Omit<ServeOptions, "workflows" | "state"> &
  Partial<Pick<ServeOptions, "workflows" | "state">>;

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
  if (named.length === 0 && given.routed === undefined) throw nothing();
  if (state === undefined) throw usage("--state is missing", "Name a folder or sqlite:FILE for the sessions.");
  if (given.http !== undefined) requireRoutedAlone(named, given.routed);
  return { ...given, workflows: named, state, ...(level === undefined ? {} : { logLevel: level }) };
}

function requireRoutedAlone(workflows: readonly string[], routed: string | undefined): void {
  if (routed !== undefined && workflows.length === 0) return;
  throw usage("--http serves routed workflows alone", "Give --routed, and serve --workflows by another process.");
}

function nothing(): CommandFailure {
  return usage(
    "there is nothing to serve",
    "Give --workflows with folders of phased workflows, --routed with one of routed ones, or both.",
  );
}

function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint);
}
