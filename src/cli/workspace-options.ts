import { Option } from "commander";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { notEmpty } from "./option-values.js";

/** What `serve` was asked for about workflows that the client's model leads. */
export interface WorkspaceFolderOptions {
  readonly bundle?: string;
  readonly core?: string;
  readonly output?: string;
}

/** The options of `serve` for a workspace. */
export function workspaceOptions(): Option[] {
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
