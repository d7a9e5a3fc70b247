/** Copies sessions between storages. The implementation is loaded on the first call. */

import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { CopyOptions, CopyReport } from "./log-copy.js";

/**
 * Copies sessions from one storage to another, commit by commit and unchanged, including payloads. Each
 * log's chain is checked on the way, and only intact commits are copied. A session that the target has
 * partly is continued, so an interrupted copy is simply called again. A session of which the target has a
 * different log is refused, and the others are copied. Removed sessions leave no trace: ids that were used
 * up in the source are free in the target. A deleted session whose removal is not finished is copied with
 * its tombstone, and `cleanup` finishes it there. A session that is deleted in the source after it was
 * copied stays in the target.
 * @throws {PhasegateError} `STORAGE_FAILED` when one of the storages fails.
 * @throws {PhasegateError} `INVALID_INPUT` when `sessionIds` contains something that can't be an id.
 */
export async function copySessions(
  from: StorageAdapter,
  to: StorageAdapter,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const { copyLogs } = await import("./log-copy.js");
  return copyLogs(from, to, options);
}
