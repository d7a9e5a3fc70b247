/** Reads a session's log a few commits at a time: their bodies are in memory together, and no statement stays open between two. */
import type { Commit } from "../../ports/storage-adapter.js";
import type { Row } from "./database.js";

const READ_AHEAD = 8;

interface Reading {
  /** Returns at most so many rows after a version. */
  readonly rows: (after: number, count: number) => Promise<readonly Row[]>;
  readonly commitIn: (row: Row) => Commit;
}

/** Yields the commits in order, at most `limit`, from the one after the version `after` on. */
export async function* readLog(
  { after = 0, limit = Number.POSITIVE_INFINITY }: { readonly after?: number; readonly limit?: number },
  { rows: read, commitIn }: Reading,
): AsyncGenerator<Commit> {
  let [last, left] = [after, limit];
  while (left > 0) {
    const count = Math.min(READ_AHEAD, left);
    const rows = await read(last, count);
    for (const row of rows) {
      const commit = commitIn(row);
      last = commit.version;
      yield commit;
    }
    if (rows.length < count) return;
    left -= rows.length;
  }
}
