import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { temporaryRoots } from "../files/temporary-root.js";
/** Returns a function that names new databases, in folders that are deleted after the tests of a file. */
export function newDatabases(): () => Promise<string> {
  const newRoot = temporaryRoots();
  return async () => join(await newRoot(), "sessions.db");
}

/** Returns rows as plain objects, as a person at a SQL prompt sees them. */
export function query(file: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(file);
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    database.close();
  }
}
