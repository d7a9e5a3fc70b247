/**
 * Sessions in a Durable Object of Cloudflare, in its SQLite database. Needs nothing of Node's.
 *
 * @packageDocumentation
 */
export type {
  DurableObjectDatabase,
  DurableObjectRows,
  DurableObjectSql,
  DurableObjectValue,
} from "./storage/durable-objects/database.js";
export { DurableStorage, type DurableStorageOptions } from "./storage/durable-objects/storage.js";
