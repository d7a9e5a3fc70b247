/**
 * Work that nobody waits for and whose failure does no harm: in order for each key, and waited for at the end.
 */
export class Background {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs a task after those of the same key. */
  run(key: string, task: () => Promise<void>): void {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const tail = before.then(task).catch(ignore);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}

function ignore(): void {}
