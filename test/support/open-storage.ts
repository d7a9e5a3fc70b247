import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { FileStorage } from "../../src/storage/files/storage.js";
import { SqliteStorage } from "../../src/storage/sqlite/storage.js";

/** The durable local storages, each with the name of its place in a folder. */
export const DURABLE = { FileStorage: "state", SqliteStorage: "state.db" } as const;

/** Opens a storage by its name: a SQLite file, a folder, or the URL of a server with a schema after `#`. */
export async function openStorage(place: string): Promise<StorageAdapter> {
  if (place.startsWith("postgres:")) return openPostgres(place);
  return place.endsWith(".db") ? SqliteStorage.open(place) : FileStorage.open(place);
}

async function openPostgres(place: string): Promise<StorageAdapter> {
  const { PostgresStorage } = await import("../../src/storage/postgres/storage.js");
  const [url = "", schema = ""] = place.split("#");
  return PostgresStorage.open({ url, schema, maxConnections: 2 });
}
