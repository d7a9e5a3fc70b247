/** Ids of tasks, each of which is there once. */
export class UniqueIds {
  readonly #given: ReadonlySet<string>;
  readonly #used = new Set<string>();
  readonly #copies = new Map<string, number>();

  /** `given`: all ids that the source has, so that none that is made up is one of them. */
  constructor(given: Iterable<string>) {
    this.#given = new Set(given);
  }

  /** The id, if no task before has it; else the first of `1.1-2`, `1.1-3`, … that is free. */
  take(id: string): string {
    return this.#used.has(id) ? this.#another(id) : this.#use(id);
  }

  /** An id for a task without one: never one that the source gives to another task. */
  make(id: string): string {
    return this.#used.has(id) || this.#given.has(id) ? this.#another(id) : this.#use(id);
  }

  #another(id: string): string {
    let copy = this.#copies.get(id) ?? 2;
    while (this.#used.has(`${id}-${copy}`) || this.#given.has(`${id}-${copy}`)) copy += 1;
    this.#copies.set(id, copy + 1);
    return this.#use(`${id}-${copy}`);
  }

  #use(id: string): string {
    this.#used.add(id);
    return id;
  }
}
