import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { CopyOptions, CopyReport } from "./log-copy.js";
/**
 * Copies sessions from one storage to another, commit by commit and to the letter, payloads included; each log's chain is
 * checked on the way, and nothing is copied that doesn't hold. A session that the target has the beginning of is gone on
 * with, so a copying that was interrupted is simply called again; one that the target has another log of is refused, with
 * its id, and the others are copied. Throws `STORAGE_FAILED` as soon as one of the two does.
 *
 * What was removed is nowhere to be found: ids that were used up in the source are free in the target. A deleted session
 * whose removal is not finished is copied with its tombstone, and `cleanup` finishes it there. What is deleted in the
 * source after it was copied stays in the target.
 */
export async function copySessions(
  from: StorageAdapter,
  to: StorageAdapter,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const { copyLogs } = await import("./log-copy.js");
  return copyLogs(from, to, options);
}
