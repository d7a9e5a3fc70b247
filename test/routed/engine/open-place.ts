import type { StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";

/** Opens a place by how it is named: a database's URL with a schema behind `#`, a file of SQLite's, or a folder. */
export function openPlace(place: string): Promise<StorageAdapter> {
  const [url = "", schema = "public"] = place.split("#");
  if (url.startsWith("postgres:")) return PostgresStorage.open({ url, schema });
  return place.endsWith(".db") ? SqliteStorage.open(place) : FileStorage.open(place);
}
