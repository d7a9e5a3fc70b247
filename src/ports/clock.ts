/** Where the time comes from. */
export interface Clock {
  /** Now, in milliseconds since 1970. */
  now(): number;
}

/**
 * Checks where a session's target lies. The rules that need no file system hold without one; a
 * guard adds those that do: a link that leads out of the project root.
 */
export interface TargetGuard {
  /** Resolves for a path (already checked, relative, `/`) inside the root; throws `PATH_REFUSED`. */
  check(path: string): Promise<void>;
}
