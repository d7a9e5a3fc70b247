import type { Connections } from "./connections.js";
import { hearClient } from "./hear-client.js";
import type { PgClient } from "./pg-types.js";

/** One connection of the host's: whoever needs it waits for the one before. */
export class ClientConnections implements Connections {
  readonly canReconnect = false;
  readonly #client: PgClient;
  #before: Promise<unknown> = Promise.resolve();

  constructor(client: PgClient) {
    this.#client = client;
    hearClient(client);
  }

  use<T>(work: (client: PgClient) => Promise<T>): Promise<T> {
    const result = this.#before.then(() => work(this.#client));
    this.#before = result.catch(ignore);
    return result;
  }

  async listening(): Promise<undefined> {}

  failed(): void {}

  async close(): Promise<void> {
    await this.#before;
  }
}

function ignore(): void {}
