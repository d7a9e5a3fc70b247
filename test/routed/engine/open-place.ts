import type { StorageAdapter } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";

/** Opens a storage by its name: a database URL with a schema after `#`, a SQLite file, or a folder. */
export function openPlace(place: string): Promise<StorageAdapter> {
  const [url = "", schema = "public"] = place.split("#");
  if (url.startsWith("postgres:")) return PostgresStorage.open({ url, schema });
  return place.endsWith(".db") ? SqliteStorage.open(place) : FileStorage.open(place);
}
