import { FileStorage } from "../../src/adapters/fs/storage/file-storage.js";
import { SqliteStorage } from "../../src/adapters/sqlite/sqlite-storage.js";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";

/** The durable storages that one machine has, each with the name of a place for it in a folder. */
export const DURABLE = { FileStorage: "state", SqliteStorage: "state.db" } as const;

/** Opens a place by its name: a file of SQLite's, or a folder. */
export function openStorage(place: string): Promise<StorageAdapter> {
  return place.endsWith(".db") ? SqliteStorage.open(place) : FileStorage.open(place);
}
