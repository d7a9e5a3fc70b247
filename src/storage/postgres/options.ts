import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";
/** Where the sessions are: one of the three. */
export type PostgresPlace =
  /**
   * A connection string, as `postgres://user:password@host:5432/database`: connections are made and closed here. It may name
   * several hosts, and `target_session_attrs`, as libpq has them: the first host that fits is used, and looked for again when
   * it is lost.
   */
  | { readonly url: string; readonly pool?: never; readonly client?: never }
  /** A `Pool` of `pg`, which stays the host's. */
  | { readonly pool: PgPool; readonly url?: never; readonly client?: never }
  /** A connected `Client` of `pg`, in no transaction, which stays the host's. `watch` then looks again and again. */
  | { readonly client: PgClient; readonly url?: never; readonly pool?: never };

/** How to open a `PostgresStorage`. Times are in milliseconds. */
export type PostgresStorageOptions = PostgresPlace & {
  /** The schema that holds all tables: `[a-z_][a-z0-9_]*`, at most 48 characters; `phasegate` if not given. */
  readonly schema?: string;
  /** Makes the tables, or brings them up to date; on if not given. Off, for a role that may not, refuses to open then. */
  readonly migrate?: boolean;
  /** The largest commit, in bytes, payloads included; 64 MiB if not given. */
  readonly maxCommitBytes?: number;
  /** How long calls go on trying while the server can't be reached, or is read-only; 10,000 if not given, 0 for not at all. */
  readonly retryMs?: number;
  /** How often `watch` looks where it is not woken; 1,000 if not given. */
  readonly pollMs?: number;
  /** Whether the server keeps the plans of what is asked often; on if not given. Off for a pooler that can't. */
  readonly preparedStatements?: boolean;
  /** With `url`: at most so many connections, besides one for each `watch`; 10 if not given. */
  readonly maxConnections?: number;
  /** With `url`: how long connecting may take; 5,000 if not given. */
  readonly connectTimeoutMs?: number;
  /** With `url`: how long a statement may take; 30,000 if not given, 0 for no limit. */
  readonly statementTimeoutMs?: number;
};

/** The same with all that was left out. */
export interface PostgresSettings {
  readonly schema: string;
  readonly migrate: boolean;
  readonly maxCommitBytes: number;
  readonly retryMs: number;
  readonly pollMs: number;
  readonly preparedStatements: boolean;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

const DEFAULTS: PostgresSettings = {
  schema: "phasegate",
  migrate: true,
  maxCommitBytes: 64 * 1024 * 1024,
  retryMs: 10_000,
  pollMs: 1000,
  preparedStatements: true,
  maxConnections: 10,
  connectTimeoutMs: 5000,
  statementTimeoutMs: 30_000,
};
/** What a timer takes; more would end at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Fills in what was left out; throws `INVALID_INPUT` for what can't be. No message holds the place. */
export function readOptions(options: PostgresStorageOptions): PostgresSettings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: PostgresSettings = { ...DEFAULTS, ...given };
  if (["url", "pool", "client"].filter((place) => given[place] !== undefined).length !== 1) {
    throw refused("url", "exactly one of url, pool and client");
  }
  if (!isSchemaName(settings.schema)) {
    throw refused("schema", "[a-z_][a-z0-9_]*, at most 48 characters, not beginning with pg_", settings.schema);
  }
  for (const field of ["maxCommitBytes", "maxConnections", "connectTimeoutMs", "pollMs"] as const) {
    checkNumber(field, settings[field], 1);
  }
  for (const field of ["retryMs", "statementTimeoutMs"] as const) checkNumber(field, settings[field], 0);
  return settings;
}

/** Names beginning with `pg_` are the server's own. */
function isSchemaName(schema: unknown): boolean {
  return typeof schema === "string" && /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/.test(schema);
}

function checkNumber(field: string, value: unknown, least: number): void {
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= LONGEST_MS) return;
  throw refused(field, `a whole number from ${least} to ${LONGEST_MS}`, value);
}

function refused(field: string, expected: string, value?: unknown): PhasegateError {
  const what = value === undefined ? "where the sessions are is not said" : `${field} is not valid: ${shown(value)}`;
  return new PhasegateError("INVALID_INPUT", `PostgresStorage can't be opened: ${what}`, {
    remedy: `Give ${expected}.`,
    details: { field, expected },
  });
}

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
