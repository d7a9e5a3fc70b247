/** Options and limits of a workspace. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { PhasegateError } from "../errors.js";
import { checkOwner, type Owner, ownerCheck } from "../ports/actor.js";
import { type Clock, clockCheck, fullClock, systemClock } from "../ports/clock.js";
import { type StorageAdapter, storageCheck } from "../ports/storage-adapter.js";
import { type Telemetry, telemetryCheck } from "../ports/telemetry.js";
import {
  check,
  checkOptions,
  having,
  isOpen,
  key,
  type OptionChecks,
  optionally,
  text,
  texts,
} from "../workflow/host-options.js";
import { shown } from "../workflow/names.js";
import type { VariableValue } from "./roots/paths.js";
import { ROOT_NAMES, type WorkspaceFolders } from "./roots/paths.js";

/** The options of `createWorkspace`. */
export interface WorkspaceOptions extends WorkspaceFolders {
  /**
   * More variables for paths, by name without braces: a text, or a location below a root. Variables that are texts,
   * such as `date` or `user_name`, are also filled in in loaded workflows. Default: none.
   */
  readonly variables?: Readonly<Record<string, VariableValue>>;
  /** Limits that differ from {@link DEFAULT_WORKSPACE_LIMITS}. Default: none. */
  readonly limits?: Partial<WorkspaceLimits>;
  /** The storage in which sessions are recorded. Default: sessions are not recorded. */
  readonly storage?: StorageAdapter;
  /**
   * A key that makes the hash chain of recorded sessions an HMAC, so that nobody without the key can change a log
   * without detection. Default: plain SHA-256.
   */
  readonly hashKey?: string | Uint8Array;
  /** Who owns the sessions that are created without {@link Workspace.as}. Default: nobody. */
  readonly owner?: Owner;
  /** The source of the time. Default: the system clock. */
  readonly clock?: Clock;
  /** Watches the workspace: `createTelemetry` of `phasegate/otel` makes one. Default: none. */
  readonly telemetry?: Telemetry | undefined;
}

/** The limits of a workspace. Each is a whole number, 1 or more. */
export interface WorkspaceLimits {
  /** The most that one call of `read_file` returns, in bytes. Default 1 MiB. */
  readonly readBytes: number;
  /** The largest file that `save_output` accepts, in bytes. Default 1 MiB. */
  readonly fileBytes: number;
  /** The most bytes in all files of a session. Default 50 MiB. */
  readonly sessionBytes: number;
  /** The most files in a session. Default 1,000. */
  readonly sessionFiles: number;
  /** The most entries in one answer of `list_files`. Default 200. */
  readonly listEntries: number;
  /**
   * The most that one page of `preload_workflow` returns, in tokens (characters / 4). A page has at least one file,
   * even if that is larger. Default 25,000.
   */
  readonly preloadTokens: number;
}

/** The default limits of a workspace. */
export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  readBytes: 1024 * 1024,
  fileBytes: 1024 * 1024,
  sessionBytes: 50 * 1024 * 1024,
  sessionFiles: 1000,
  listEntries: 200,
  preloadTokens: 25_000,
};

const CHECKS: OptionChecks<WorkspaceOptions> = {
  bundleRoot: text,
  coreRoot: optionally(text),
  projectRoot: optionally(text),
  outputRoot: text,
  readRoots: optionally(check("folders by name", (value) => isOpen(value) && texts.accepts(Object.values(value)))),
  variables: optionally(having("an object of variables")),
  limits: optionally(having("an object of limits")),
  storage: optionally(storageCheck),
  hashKey: optionally(key),
  owner: optionally(ownerCheck),
  clock: optionally(clockCheck),
  telemetry: optionally(telemetryCheck),
};

/** Checks the options and adds the defaults. Throws `INVALID_INPUT`. */
export function resolveWorkspaceOptions(options: WorkspaceOptions) {
  checkOptions("createWorkspace", options, CHECKS);
  const { variables = {}, readRoots = {}, hashKey, clock = systemClock, owner } = options;
  if (owner !== undefined) checkOwner(owner);
  const taken: string[] = [...Object.values(ROOT_NAMES), ...Object.keys(readRoots)];
  for (const name of Object.keys(readRoots)) checkName(name, Object.values(ROOT_NAMES));
  for (const name of Object.keys(variables)) checkName(name, taken);
  return {
    variables,
    limits: limitsOf(options.limits ?? {}),
    clock: fullClock(clock),
    hashKey: typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey,
  };
}

function limitsOf(given: Partial<WorkspaceLimits>): WorkspaceLimits {
  const limits = { ...DEFAULT_WORKSPACE_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1) throw invalid(`limits.${name}`, "a whole number, 1 or more");
  }
  return limits;
}

function checkName(name: string, taken: readonly string[]): void {
  if (!/^[A-Za-z_][\w.-]*$/.test(name)) throw invalid(`the variable ${shown(name)}`, "letters, digits, '_', '-', '.'");
  if (taken.includes(name)) throw invalid(`the variable ${shown(name)}`, "a name that is not the name of a root");
}

function invalid(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is not valid: expected ${expected}`, {
    remedy: "Correct the options of createWorkspace.",
    details: { field, expected },
  });
}
