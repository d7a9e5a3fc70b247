import type { PgClient, PgListeningClient } from "./pg-types.js";

/** How statements get to the server. */
export interface Connections {
  /**
   * Runs work on a client that nobody else uses meanwhile. Throws `NotConnected` if there is none, and else what the work
   * throws.
   */
  use<T>(work: (client: PgClient) => Promise<T>): Promise<T>;
  /** Whether a lost connection is followed by another one. */
  readonly canReconnect: boolean;
  /**
   * A connection of its own, to be connected and ended by the caller; undefined where none can be made. Throws
   * `NotConnected` while no server can be found to make it to.
   */
  listening(): Promise<PgListeningClient | undefined>;
  /** Is told why a connection that was listening has failed. */
  failed(error: unknown): void;
  /** Lets go of what was made here. */
  close(): Promise<void>;
}
