import { setTimeout as delay } from "node:timers/promises";
import type { Connections } from "./connections.js";
import { asStorageFailure, isLost, isReadOnly, isRolledBack } from "./failures.js";
import type { PgClient, PgQuery, PgRow } from "./types.js";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** How long a call may still go on trying. */
export class Patience {
  readonly #until: number;
  #pause = FIRST_PAUSE_MS;

  constructor(milliseconds: number) {
    this.#until = performance.now() + milliseconds;
  }

  /** Waits before the next try, longer each time and never the same for two; false if there is no time for one. */
  async another(): Promise<boolean> {
    const pause = this.#pause * (0.5 + Math.random());
    if (performance.now() + pause > this.#until) return false;
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    await delay(pause);
    return true;
  }
}

/** Asks what may be asked twice, and asks again while the server can't be reached or had to roll back. */
export class Asking {
  readonly #connections: Connections;
  readonly #retryMs: number;

  constructor(connections: Connections, retryMs: number) {
    this.#connections = connections;
    this.#retryMs = retryMs;
  }

  /** The rows of a statement that reads. */
  async rows<R extends PgRow>(operation: string, query: PgQuery): Promise<R[]> {
    return (await this.repeatable(operation, (client) => client.query<R>(query))).rows;
  }

  /** Runs work that changes nothing more when it is done twice. Throws `STORAGE_FAILED`. */
  async repeatable<T>(operation: string, work: (client: PgClient) => Promise<T>): Promise<T> {
    const patience = this.patience();
    for (;;) {
      try {
        return await this.#connections.use(work);
      } catch (error) {
        if (!this.mayRepeat(error) || !(await patience.another())) throw asStorageFailure(operation, error);
      }
    }
  }

  /** What a call that decides for itself tries with. */
  patience(): Patience {
    return new Patience(this.#retryMs);
  }

  /** Whether another try can go better, where a second one does no harm. */
  mayRepeat(error: unknown): boolean {
    return isRolledBack(error) || ((isLost(error) || isReadOnly(error)) && this.#connections.canReconnect);
  }
}
