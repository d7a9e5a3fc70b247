/**
 * Sessions in PostgreSQL, for any number of hosts on one database. Needs the optional peer `pg`.
 *
 * @packageDocumentation
 */
export type { PgClient, PgNotice, PgPool, PgPoolClient, PgQuery, PgRow } from "./adapters/postgres/pg-types.js";
export type { PostgresPlace, PostgresStorageOptions } from "./adapters/postgres/postgres-options.js";
export { PostgresStorage } from "./adapters/postgres/postgres-storage.js";
