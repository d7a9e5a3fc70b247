/** How sessions went since the workspace was made. */
export interface SessionFigures {
  /** Sessions that were created or reopened; one that was over and is reopened counts again. */
  readonly begun: number;
  readonly completed: number;
  readonly failed: number;
  /** The share of those begun that are completed, 0 to 1; undefined before the first. */
  readonly completionRate: number | undefined;
}

/** Sessions that are over are counted and forgotten, so that this grows with those under way alone. */
export class SessionCounts {
  readonly #open = new Set<string>();
  #completed = 0;
  #failed = 0;

  /** A session was created or reopened. */
  begun(id: string): void {
    this.#open.add(id);
  }

  /** A session is over. */
  ended(id: string, status: "completed" | "failed"): void {
    this.#open.delete(id);
    if (status === "completed") this.#completed += 1;
    else this.#failed += 1;
  }

  /** The figures so far. */
  report(): SessionFigures {
    const begun = this.#open.size + this.#completed + this.#failed;
    const completionRate = begun === 0 ? undefined : this.#completed / begun;
    return { begun, completed: this.#completed, failed: this.#failed, completionRate };
  }
}
