/**
 * Storages: the types that an adapter works with, what adapters share (filters, pages, cursors, checks, errors), the types of a
 * session's log and of statistics, and the copying of sessions from one storage to another. Needs nothing of Node's.
 *
 * @packageDocumentation
 */
import type { CopyOptions, CopyReport } from "./phased/log-copy.js";
import type { StorageAdapter } from "./ports/storage-adapter.js";

export type { Receipt } from "./log/commit.js";
export type { CopyOptions, CopyProgress, CopyReport } from "./phased/log-copy.js";
export type { SessionEvent } from "./phased/state/events.js";
export type { SessionHead } from "./phased/state/head.js";
export type { SessionCommit } from "./phased/state/machine.js";
export type { Statistics, StatisticsCursor, StatisticsRequest } from "./phased/statistics.js";
export type { PhaseStatistics } from "./phased/sums.js";
export type {
  AppendOptions,
  Changes,
  Commit,
  Page,
  Payload,
  ReadOptions,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionSummary,
} from "./ports/storage-adapter.js";
export { storageFailure, tampered, unknownOutcome } from "./storage/common/failures.js";
export {
  checkCommit,
  commitConflict,
  comparePositions,
  decodeCursor,
  decodePosition,
  encodePosition,
  matchesQuery,
  pageLimit,
  readSummary,
  sessionPage,
} from "./storage/common/session-query.js";

/**
 * Copies sessions from one storage to another, commit by commit and unchanged, including payloads. Each log's chain is
 * checked on the way, and only intact commits are copied. A session that the target has partly is continued, so an
 * interrupted copy is simply called again. A session of which the target has a different log is refused, and the others
 * are copied. Removed sessions leave no trace: ids that were used up in the source are free in the target. A deleted
 * session whose removal is not finished is copied with its tombstone, and `cleanup` finishes it there. A session that
 * is deleted in the source after it was copied stays in the target.
 * @throws {PhasegateError} `STORAGE_FAILED` when one of the storages fails.
 * @throws {PhasegateError} `INVALID_INPUT` when `sessionIds` contains something that can't be an id.
 */
export async function copySessions(
  from: StorageAdapter,
  to: StorageAdapter,
  options: CopyOptions = {},
): Promise<CopyReport> {
  const { copyLogs } = await import("./phased/log-copy.js");
  return copyLogs(from, to, options);
}
