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
