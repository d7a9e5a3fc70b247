import { utf8ToBytes } from "@noble/hashes/utils.js";
import { shown } from "../definition/names.js";
import { PhasegateError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { DEFAULT_WORKSPACE_LIMITS, type WorkspaceLimits } from "./limits.js";
import type { VariableValue } from "./roots/variables.js";
import { ROOT_NAMES, type WorkspaceFolders } from "./roots/workspace-folders.js";

/** What a workspace is made of. */
export interface WorkspaceOptions extends WorkspaceFolders {
  /**
   * More variables for paths, by name without braces: a word, or a place below a root. In texts that are loaded, words are
   * put in, too: `date`, `user_name`.
   */
  readonly variables?: Readonly<Record<string, VariableValue>>;
  /** Limits that differ from {@link DEFAULT_WORKSPACE_LIMITS}. */
  readonly limits?: Partial<WorkspaceLimits>;
  /** Where sessions are recorded; nowhere if not given. */
  readonly storage?: StorageAdapter;
  /** Makes the hash chain of recorded sessions an HMAC: with it, nobody without the key can change what was recorded. */
  readonly hashKey?: string | Uint8Array;
  /** Where the time comes from; the system's if not given. */
  readonly clock?: Clock;
}

/** Options with what they leave out, checked. */
export interface ResolvedWorkspaceOptions {
  readonly variables: Readonly<Record<string, VariableValue>>;
  readonly limits: WorkspaceLimits;
  readonly clock: Clock;
  readonly hashKey?: Uint8Array;
}

/** Checks what a host has given. Throws `INVALID_INPUT`. */
export function resolveWorkspaceOptions(options: WorkspaceOptions): ResolvedWorkspaceOptions {
  const { variables = {}, readRoots = {}, hashKey, clock = { now: () => Date.now() } } = options;
  const taken: string[] = [...Object.values(ROOT_NAMES), ...Object.keys(readRoots)];
  for (const name of Object.keys(readRoots)) checkName(name, Object.values(ROOT_NAMES));
  for (const name of Object.keys(variables)) checkName(name, taken);
  return {
    variables,
    limits: limitsOf(options.limits ?? {}),
    clock,
    ...(hashKey === undefined ? {} : { hashKey: typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey }),
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
  if (taken.includes(name)) throw invalid(`the variable ${shown(name)}`, "a name that no root has");
}

function invalid(field: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is not valid: expected ${expected}`, {
    remedy: "Correct the options of createWorkspace.",
    details: { field, expected },
  });
}
