import type { SessionId } from "../../definition/names.js";
import type { SessionSize } from "../../ports/storage-adapter.js";
import type { Connection } from "./connection.js";
import { numberIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** So many free pages are given back in one transaction, which nobody can write beside. */
const PAGES_AT_ONCE = 256;

/** How much a session takes: its commits and payloads, without what finds them again. */
export function sizeOf(
  connection: Connection,
  { sessions, commits, payloads }: TableNames,
  id: SessionId,
): SessionSize | undefined {
  const row = connection
    .prepare(
      `SELECT count(*) AS commits, sum(octet_length(c.summary) + octet_length(c.body))
        + coalesce((SELECT sum(octet_length(p.body)) FROM ${payloads} p WHERE p.session = s.number), 0) AS bytes
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number WHERE s.session_id = ? GROUP BY s.number`,
    )
    .get(id);
  return row && { commits: numberIn(row, "commits"), bytes: numberIn(row, "bytes") };
}

/**
 * Gives pages that nothing stands in back to the file system, some at a time, and brings the write-ahead log into the
 * database. A database that was not made for it (a host's own) keeps its free pages for what comes.
 */
export async function giveRoomBack(connection: Connection): Promise<void> {
  for (let free = await freePages(connection); free > 0; ) {
    await connection.patiently("compact", () => {
      connection.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    });
    const left = await freePages(connection);
    if (left >= free) break;
    free = left;
  }
  // As far as it can be done now: somebody who reads keeps the rest for the next time.
  await connection.patiently("compact", () => connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
}

function freePages(connection: Connection): Promise<number> {
  return connection.patiently("compact", () =>
    numberIn(connection.prepare("PRAGMA freelist_count").get() ?? {}, "freelist_count"),
  );
}
