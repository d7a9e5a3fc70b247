/**
 * What is asked of `pg`: said here, so that a host's compiler needs no types of a package that it may not have. A
 * `Pool` and a `Client` of `pg` 8 fit.
 */

/** A statement with its parameters; a name makes the server keep its plan. */
export interface PgQuery {
  text: string;
  values?: unknown[];
  name?: string;
}

/** A row by its columns' names. */
export type PgRow = Record<string, unknown>;

/** A warning of the server's that is no failure. */
export interface PgNotice {
  /** The server's function that gave it. */
  readonly routine?: string | undefined;
}

/** A connected `Client` of `pg`, in no transaction. */
export interface PgClient {
  /** Runs a statement. */
  query<R extends PgRow>(query: PgQuery): Promise<{ rows: R[]; rowCount: number | null }>;
  /** Hears that the connection was lost. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Hears what the server warns of. */
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
}

/** A client that a pool has lent. */
export interface PgPoolClient extends PgClient {
  /** With an error, the connection is closed and not used again. */
  release(error?: Error | boolean): void;
}

/** A `Pool` of `pg`. */
export interface PgPool {
  /** Lends a client. */
  connect(): Promise<PgPoolClient>;
  /** Hears that a connection at rest was lost. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Hears that a client is being lent. */
  on(event: "acquire", listener: (client: PgClient) => void): unknown;
  /** How the pool connects: `watch` makes a connection of its own by the same settings. */
  readonly options?: object;
}

/** A connection that waits for notifications. */
export interface PgListeningClient extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
  on(event: "notification" | "end", listener: () => void): unknown;
}
