/**
 * Sessions in a SQLite database, through the `node:sqlite` that comes with Node 22.13 and later. The module is loaded when
 * the first database is opened.
 *
 * @packageDocumentation
 */
export { SqliteStorage, type SqliteStorageOptions } from "./storage/sqlite/storage.js";
