import { utf8ToBytes } from "@noble/hashes/utils.js";
import { type ErrorCode, PhasegateError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { type Listener, Notifier } from "../runtime/notifier.js";
import { shown } from "../workflow/names.js";
import { ROOT_NAMES, type WorkspaceFolders } from "./roots/folders.js";
import type { VariableValue } from "./roots/paths.js";
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
interface ResolvedWorkspaceOptions {
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

/** What a workspace allows; each is an option with this default. */
export interface WorkspaceLimits {
  /** The most that one call of `read_file` gives, in bytes. Default 1 MiB. */
  readonly readBytes: number;
  /** The most that `save_output` takes for one file, in bytes. Default 1 MiB. */
  readonly fileBytes: number;
  /** The most that a session's files may hold together, in bytes. Default 50 MiB. */
  readonly sessionBytes: number;
  /** How many files a session may have. Default 1,000. */
  readonly sessionFiles: number;
  /** The longest list of one answer, in entries. Default 200. */
  readonly listEntries: number;
  /** The most that one page of `preload_workflow` gives, in tokens (characters / 4); at least one file. Default 25,000. */
  readonly preloadTokens: number;
}

/** The limits of a workspace whose host says nothing else. */
export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  readBytes: 1024 * 1024,
  fileBytes: 1024 * 1024,
  sessionBytes: 50 * 1024 * 1024,
  sessionFiles: 1000,
  listEntries: 200,
  preloadTokens: 25_000,
};

/** What a workspace tells its host as things happen, each with what it carries. */
export interface WorkspaceNotificationMap {
  /** A tool was called; what it was called with, and what it has answered, stands in no notification. */
  called: { readonly tool: string; readonly milliseconds: number; readonly success: boolean };
  sessionCreated: { readonly sessionId: string; readonly workflow?: string | undefined };
  sessionReopened: { readonly sessionId: string };
  saved: { readonly sessionId: string; readonly path: string; readonly bytes: number; readonly replaced: boolean };
  sessionCompleted: { readonly sessionId: string; readonly status: "completed" | "failed" };
  /** A refusal that touches security: a path that leads out, somebody else's session, a log that was changed. */
  security: { readonly operation: string; readonly code: ErrorCode; readonly message: string };
  /** A failure of what the workspace runs on, which no caller can mend: of its storage or a listener, or an unexpected one. */
  internalError: { readonly operation: string; readonly error: unknown };
}

/** The name of a notification. */
export type WorkspaceNotificationName = keyof WorkspaceNotificationMap;
/** A listener; what it throws, or rejects with, stops neither the others nor the call. */
export type WorkspaceListener<N extends WorkspaceNotificationName> = Listener<WorkspaceNotificationMap[N]>;

/** What a workspace tells its host. */
export class WorkspaceNotifications extends Notifier<WorkspaceNotificationMap> {}
