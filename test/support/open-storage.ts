import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { FileStorage } from "../../src/storage/files/storage.js";
import { SqliteStorage } from "../../src/storage/sqlite/storage.js";

/** The durable storages that one machine has, each with the name of a place for it in a folder. */
export const DURABLE = { FileStorage: "state", SqliteStorage: "state.db" } as const;

/** Opens a place by its name: a file of SQLite's, a folder, or the URL of a server with a schema behind `#`. */
export async function openStorage(place: string): Promise<StorageAdapter> {
  if (place.startsWith("postgres:")) return openPostgres(place);
  return place.endsWith(".db") ? SqliteStorage.open(place) : FileStorage.open(place);
}

async function openPostgres(place: string): Promise<StorageAdapter> {
  const { PostgresStorage } = await import("../../src/storage/postgres/storage.js");
  const [url = "", schema = ""] = place.split("#");
  return PostgresStorage.open({ url, schema, maxConnections: 2 });
}
