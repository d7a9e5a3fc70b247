/**
 * The options of PostgresStorage, their defaults and checks, and the part of `pg` that is used. `pg` is declared here
 * structurally, so that a host's compiler needs no types of a package that it may not have. A `Pool` and a `Client`
 * of `pg` 8 fit.
 */
import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";
import { numberOptions } from "../common/failures.js";

/** The location of the sessions: exactly one of `url`, `pool` and `client`. */
export type PostgresPlace =
  /**
   * A connection string, such as `postgres://user:password@host:5432/database`; the storage makes and closes the
   * connections. It may have several hosts and `target_session_attrs`, as in libpq: the first host that fits is used,
   * and searched again when it is lost.
   */
  | { readonly url: string; readonly pool?: never; readonly client?: never }
  /** A `Pool` of `pg`, which the host closes. */
  | { readonly pool: PgPool; readonly url?: never; readonly client?: never }
  /** A connected `Client` of `pg`, in no transaction, which the host closes. `watch` then polls only. */
  | { readonly client: PgClient; readonly url?: never; readonly pool?: never };

/** Options of `PostgresStorage.open`. Times are in milliseconds. */
export type PostgresStorageOptions = PostgresPlace & {
  /** The schema of all tables: `[a-z_][a-z0-9_]*`, at most 48 characters, not starting with `pg_`. Default: `phasegate`. */
  readonly schema?: string;
  /** Creates or migrates the tables. Default: true. If false, `open` throws `STORAGE_FAILED` when this is necessary. */
  readonly migrate?: boolean;
  /** Maximum size of a commit with its payloads, in bytes. Default: 64 MiB. */
  readonly maxCommitBytes?: number;
  /** How long calls are retried while the server is unreachable or read-only. Default: 10,000; 0 turns retries off. */
  readonly retryMs?: number;
  /** Polling interval of `watch` without a notification. Default: 1,000. */
  readonly pollMs?: number;
  /** Uses prepared statements. Default: true. Turn it off for a pooler that does not support them. */
  readonly preparedStatements?: boolean;
  /** With `url`: maximum number of connections, plus one for each `watch`. Default: 10. */
  readonly maxConnections?: number;
  /** With `url`: connection timeout. Default: 5,000. */
  readonly connectTimeoutMs?: number;
  /** With `url`: statement timeout. Default: 30,000; 0 turns it off. */
  readonly statementTimeoutMs?: number;
};

export type PostgresSettings = ReturnType<typeof readOptions>;

/** The maximum of a timer; a larger value would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;
const NUMBERS = {
  maxCommitBytes: { value: 64 * 1024 * 1024, min: 1, max: LONGEST_MS },
  retryMs: { value: 10_000, min: 0, max: LONGEST_MS },
  pollMs: { value: 1000, min: 1, max: LONGEST_MS },
  maxConnections: { value: 10, min: 1, max: LONGEST_MS },
  connectTimeoutMs: { value: 5000, min: 1, max: LONGEST_MS },
  statementTimeoutMs: { value: 30_000, min: 0, max: LONGEST_MS },
};

/** Applies the defaults and checks the options. Throws `INVALID_INPUT`. No message contains the address. */
export function readOptions(options: PostgresStorageOptions) {
  const { url, pool, client, schema = "phasegate", migrate = true, preparedStatements = true } = options;
  const places = Object.entries({ url, pool, client }).flatMap(([name, given]) => (given === undefined ? [] : [name]));
  if (places.length !== 1) {
    const what = places.length === 0 ? "there is no url, pool or client" : `${places.join(" and ")} are given`;
    throw refused("url", "exactly one of url, pool and client", what);
  }
  // Names that begin with pg_ are reserved by the server.
  if (typeof schema !== "string" || !/^(?!pg_)[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    const expected = "[a-z_][a-z0-9_]*, at most 48 characters, not beginning with pg_";
    throw refused("schema", expected, `schema is not valid: ${shown(schema)}`);
  }
  return { schema, migrate, preparedStatements, ...numberOptions(options, NUMBERS) };
}

function refused(field: string, expected: string, what: string): PhasegateError {
  return new PhasegateError("INVALID_INPUT", `PostgresStorage can't be opened: ${what}`, {
    remedy: `Give ${expected}.`,
    details: { field, expected },
  });
}

/** A statement with its parameters. A name makes it a prepared statement. */
export interface PgQuery {
  /** The SQL, with `$1`, `$2`, … for its parameters. */
  text: string;
  /** The parameters. None if missing. */
  values?: unknown[];
  /** The name of the prepared statement. */
  name?: string;
}

/** The longest time for a migration, in milliseconds: it may write all rows of a table again, or wait for another host's. */
export const MIGRATION_MS = 3_600_000;

/** A statement of a migration: the client, too, waits for it that long. */
export function patient(text: string, values: unknown[] = []) {
  return { text, values, query_timeout: MIGRATION_MS };
}

/** A row by column name. */
export type PgRow = Record<string, unknown>;

/** A warning of the server. */
export interface PgNotice {
  /** The server function that issued it. */
  readonly routine?: string | undefined;
}

/** A connected `Client` of `pg`, in no transaction. */
export interface PgClient {
  /** Runs a statement. */
  query<R extends PgRow>(query: PgQuery): Promise<{ rows: R[]; rowCount: number | null }>;
  /** Reports a lost connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Reports a warning of the server. */
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
}

/** A client from a pool. */
export interface PgPoolClient extends PgClient {
  /** Returns the client to the pool. With an error, the connection is closed. */
  release(error?: Error | boolean): void;
}

/** A `Pool` of `pg`. */
export interface PgPool {
  /** Returns a client. */
  connect(): Promise<PgPoolClient>;
  /** Reports a lost idle connection. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Reports a client that is being given out. */
  on(event: "acquire", listener: (client: PgClient) => void): unknown;
  /** The pool's options: `watch` makes a separate connection with them. */
  readonly options?: object;
}

/** A connection for notifications. */
export interface PgListeningClient extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
  on(event: "notification" | "end", listener: () => void): unknown;
}
