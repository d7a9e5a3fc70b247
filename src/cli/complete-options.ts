import { delimiter } from "node:path";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { type Environment, logLevelOf } from "./routed-options.js";
import type { ServeOptions } from "./serve-options.js";
import { workspaceFoldersOf } from "./workspace-options.js";

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
