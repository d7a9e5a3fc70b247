/**
 * Sessions in PostgreSQL, for any number of hosts on one database. Needs the optional peer `pg`.
 *
 * @packageDocumentation
 */

export type {
  PgClient,
  PgNotice,
  PgPool,
  PgPoolClient,
  PgQuery,
  PgRow,
  PostgresPlace,
  PostgresStorageOptions,
} from "./storage/postgres/options.js";
export { PostgresStorage } from "./storage/postgres/storage.js";
