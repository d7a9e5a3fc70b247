import type { StorageAdapter } from "../../ports/storage-adapter.js";
import type { Connection } from "./connection.js";
import { numberIn, textIn } from "./stored-text.js";

type Durability = StorageAdapter["capabilities"]["durability"];

/** From which `synchronous` on a commit survives a loss of power, for each journal that survives a killed process. */
const POWER_FROM: Readonly<Record<string, number>> = { wal: 2, truncate: 2, persist: 2, delete: 3 };

/** What the database, as it is set, promises: a host's own may be set in any way. */
export function readCapabilities(connection: Connection, maxCommitBytes: number): StorageAdapter["capabilities"] {
  const main = connection.prepare("SELECT file FROM pragma_database_list WHERE name = 'main'").get() ?? {};
  if (main.file === "" || main.file === null) return { durability: "memory", multiProcess: false, maxCommitBytes };
  const locking = textIn(connection.prepare("PRAGMA locking_mode").get() ?? {}, "locking_mode");
  return { durability: durabilityOf(connection), multiProcess: locking === "normal", maxCommitBytes };
}

function durabilityOf(connection: Connection): Durability {
  const journal = textIn(connection.prepare("PRAGMA journal_mode").get() ?? {}, "journal_mode");
  const synchronous = numberIn(connection.prepare("PRAGMA synchronous").get() ?? {}, "synchronous");
  const enough = POWER_FROM[journal];
  // Without a journal a process that dies in the middle of a transaction leaves half of it.
  if (enough === undefined) return "memory";
  return synchronous >= enough ? "power" : "process";
}
