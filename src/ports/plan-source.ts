/** The text of a plan as it is now. */
export interface PlanText {
  /** Where it lies, relative to the project root: the file that was found, where a folder was asked for. */
  readonly path: string;
  readonly text: string;
  /** Names this state of the text: another text has another one. */
  readonly hash: string;
}

/** Where plans come from, and where ticks are written back. */
export interface PlanSource {
  /**
   * The plan at a path relative to the project root: a file, or a folder with a `tasks.md`. Undefined if
   * there is none; throws `PATH_REFUSED` for a path that leads out, and `PLAN_PARSE` for what is over the
   * size limit or no text.
   */
  read(path: string): Promise<PlanText | undefined>;
  /**
   * Puts another text in the place of the one with this hash, whole or not at all. False, and nothing is
   * changed, if the text isn't that one any more.
   */
  replace(path: string, hash: string, text: string): Promise<boolean>;
}
