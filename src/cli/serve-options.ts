import { InvalidArgumentError, Option } from "commander";
import { ACTION_NAMES, type Action, isAction } from "../tool/actions.js";
import { type TrustOptions, trustOptions } from "./approval-options.js";
import { type LogLevel, logLevelOption, notEmpty, stateOption, toolName, wholeNumber } from "./option-values.js";
import { type RoutedOptions, routedOptions } from "./routed-options.js";
import { type VerifierOptions, verifierOptions } from "./verifier-options.js";
import { type WorkspaceFolderOptions, workspaceOptions } from "./workspace-options.js";

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
