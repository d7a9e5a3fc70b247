/** The clock, and the guard of session targets. Hosts may replace both. */

/** Tells the time. */
export interface Clock {
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
}

/**
 * Checks the target path of a session against the file system, such as a link that leads out of the project
 * root. Rules that need no file system are checked without it.
 */
export interface TargetGuard {
  /**
   * Resolves for a path inside the root. The path is already checked, relative, and uses `/`.
   * @throws {PhasegateError} `PATH_REFUSED` when the path leads out of the root.
   */
  check(path: string): Promise<void>;
}
