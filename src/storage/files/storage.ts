/**
 * FileStorage: sessions in a folder, one immutable file per commit, without locks. This class opens the folder and
 * delegates to one file per operation. This is the entry file of the folder.
 *
 * What is decided where:
 * - layout.ts: the paths of a store, and why a plain file copy of it is consistent.
 * - publish.ts: a version is claimed by a hard link, or by a rename where there are none.
 * - append.ts: markers and payloads are on the disk before the commit, and the commit before the answer.
 * - commit-file.ts: a commit is two lines of JSON; a pack is several commits with an index at the end.
 * - file-system.ts: which calls run on the caller's thread. disk.ts: what a commit depends on is synced, and the renames that
 *   Windows may refuse at first are repeated.
 * - list.ts: a list is made of markers, and each entry is checked against its session.
 * - read.ts: `head` is a hint only; the newest version is the last one that exists.
 * - markers.ts: lists are ordered by file names; a marker may be false but is never missing.
 * - compact.ts: packed versions are deleted only after the copy window; markers and heads are rebuilt from the commits.
 * - parts.ts: what the operations share, and when a watcher counts as dead.
 * - storage.ts: a removed id is marked as used before its folder goes to the trash.
 * - parts.ts: temp files and trash are deleted by age, measured by the file system's clock.
 * - watch.ts: watching is polling, with a wake-up for this process's own commits.
 * - failures.ts: which system errors become which error codes.
 */
import { basename, dirname, resolve } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type {
  AppendOptions,
  Commit,
  Page,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
  WatchOptions,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { numberOption } from "../common/number-option.js";
import { CommitAppender } from "./append.js";
import { SessionCompactor, StoreRepair } from "./compact.js";
import { Disk, ignoreMissing } from "./disk.js";
import { guardedEach, storageFailed, throwFailure } from "./failures.js";
import type { FileSystem } from "./file-system.js";
import { StoreLayout, TOP_FOLDERS } from "./layout.js";
import { SessionLister, SessionLog, sizeOf } from "./list.js";
import { activeMarker, allMarker } from "./markers.js";
import { createStoreParts, type StoreParts } from "./parts.js";
import { openFormat, refuseOldLayout, writeFormat } from "./publish.js";
import { SessionWatch } from "./watch.js";

/** Options of {@link FileStorage.open}. */
export interface FileStorageOptions {
  /** Maximum size of a commit with its payloads, in bytes. Default: 64 MiB; at most 256 MiB. */
  readonly maxCommitBytes?: number;
  /** Polling interval of `watch` for commits of other processes, in milliseconds. Default: 200. */
  readonly watchIntervalMs?: number;
  /**
   * The longest time a tool such as `rsync` may take to copy one session's folder, in milliseconds. Default: one
   * hour. Files of compacted versions are kept for this time, and commits with payloads are not compacted earlier, so
   * that such a copy is complete.
   */
  readonly copyWindowMs?: number;
  /**
   * The file system calls. By default, links and short reads and writes run on the caller's thread, which is quickest on
   * a local disk. With `node:fs/promises`, all calls go to Node's pool of threads: use it where the disk may hang. Tests
   * pass one whose calls fail.
   */
  readonly fs?: FileSystem;
  /** Replaces `process.platform`, for tests. */
  readonly platform?: string;
}

const LIMITS = {
  maxCommitBytes: { value: 64 * 1024 * 1024, min: 1, max: 256 * 1024 * 1024 },
  watchIntervalMs: { value: 200, min: 1, max: 3_600_000 },
  copyWindowMs: { value: 3_600_000, min: 0, max: 2 ** 31 - 1 },
};

type Limits = Readonly<Record<keyof typeof LIMITS, number>>;

/**
 * Stores sessions in a folder, one file per commit. An acknowledged commit survives a power failure. Any number of
 * processes may use the folder at once. No lock is held, so none can be left behind.
 *
 * If `append` fails with outcome `unknown` (the last sync failed after the commit got its version), the commit may
 * exist, but only complete. A commit returned by `read` is on the disk, whoever wrote it.
 *
 * Lists omit a session whose newest commit is damaged; reading it throws `TAMPERED`. `countActive` counts such a
 * session, and reads sessions only if their markers reach `upTo`. Files have mode 0600 and folders 0700.
 *
 * Every method throws `PhasegateError` `STORAGE_FAILED` when the file system fails.
 */
export class FileStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #parts: StoreParts;
  readonly #appender: CommitAppender;
  readonly #compactor: SessionCompactor;
  readonly #lister: SessionLister;
  readonly #log: SessionLog;
  readonly #remover: SessionRemover;
  readonly #repair: StoreRepair;

  readonly #watchIntervalMs: number;

  private constructor(parts: StoreParts, { maxCommitBytes, watchIntervalMs, copyWindowMs }: Limits) {
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes };
    this.#parts = parts;
    this.#watchIntervalMs = watchIntervalMs;
    this.#compactor = new SessionCompactor(parts, copyWindowMs);
    this.#appender = new CommitAppender(parts, this.#compactor, maxCommitBytes);
    this.#lister = new SessionLister(parts.trees, parts.markerCheck);
    this.#log = new SessionLog(parts);
    this.#remover = new SessionRemover(parts);
    this.#repair = new StoreRepair(parts, this.#compactor);
  }

  /**
   * Opens the sessions in a folder and makes the folder if necessary. If the folder is a copy of another store, the
   * list index is rebuilt first, as by `repair`.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when an option is not valid.
   * @throws {PhasegateError} `STORAGE_FAILED` when the folder cannot be used.
   * @throws {PhasegateError} `FORMAT_TOO_NEW` when a newer version of phasegate made it.
   */
  static async open(root: string, options: FileStorageOptions = {}): Promise<FileStorage> {
    const limits = {
      maxCommitBytes: numberOption("maxCommitBytes", options.maxCommitBytes, LIMITS.maxCommitBytes),
      watchIntervalMs: numberOption("watchIntervalMs", options.watchIntervalMs, LIMITS.watchIntervalMs),
      copyWindowMs: numberOption("copyWindowMs", options.copyWindowMs, LIMITS.copyWindowMs),
    };
    try {
      const disk = new Disk(options.fs, options.platform);
      await disk.makeFolders(resolve(root));
      const layout = new StoreLayout(await disk.fs.realpath(root));
      for (const name of TOP_FOLDERS) await makeTop(disk, layout.top(name));
      await disk.syncFolder(layout.root);
      await refuseOldLayout(disk, layout);
      await disk.now(layout.top("trash"));
      const { publisher, isCopy } = await openFormat(disk, layout);
      const parts = createStoreParts(disk, layout, publisher, limits.maxCommitBytes);
      const storage = new FileStorage(parts, limits);
      if (isCopy) {
        await storage.#repair.rebuild();
        await writeFormat(disk, layout, publisher);
      }
      parts.background.run("trash", () => parts.watchers.any().then((isWatched) => parts.trash.empty(isWatched)));
      parts.background.run("packed", () => storage.#compactor.deleteAllPacked());
      return storage;
    } catch (error) {
      return throwFailure("open", error);
    }
  }

  /**
   * Returns the newest commit of a session; undefined if there is none.
   *
   * @throws {PhasegateError} `TAMPERED` when the commit is damaged.
   */
  async read(id: SessionId): Promise<Commit | undefined> {
    return this.#parts.newest.commit(id).catch((error) => throwFailure("read", error));
  }

  /**
   * Appends a commit.
   *
   * @throws {PhasegateError} `CONFLICT` when the version is taken, does not follow the newest one, or the session was
   * removed.
   * @throws {PhasegateError} `INVALID_INPUT` when the commit is malformed.
   * @throws {PhasegateError} `TOO_LARGE` when it exceeds `maxCommitBytes`.
   */
  async append(commit: Commit, { follows }: AppendOptions = {}): Promise<void> {
    return this.#appender.append(commit, follows).catch((error) => throwFailure("append", error));
  }

  /** Begins a session with several commits in one file, all or none. Throws as `append` does. */
  async begin(commits: readonly Commit[]): Promise<void> {
    return this.#appender.begin(commits).catch((error) => throwFailure("append", error));
  }

  /**
   * Returns the version in the session's `head`; 0 if there is none. It is written up to a second after a commit, and never
   * before it.
   */
  async hint(id: SessionId): Promise<number> {
    return this.#parts.newest.hint(id).catch((error) => throwFailure("read", error));
  }

  /**
   * Yields a session's commits in order, starting after version `after`.
   *
   * @throws {PhasegateError} `TAMPERED` when a commit is damaged or missing.
   */
  async *log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    const commits = this.#log.read(id, options.after ?? 0, options.limit ?? Number.POSITIVE_INFINITY);
    yield* guardedEach("read", commits);
  }

  /**
   * Returns a payload's text; undefined if the session has none with this hash.
   *
   * @throws {PhasegateError} `TAMPERED` when it is damaged.
   */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#parts.payloads.read(id, hash).catch((error) => throwFailure("read", error));
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return this.#lister.list(query).catch((error) => throwFailure("list", error));
  }

  /** Yields the sessions whose newest commit is damaged. Reads every session. */
  async *damaged(): AsyncGenerator<SessionId> {
    yield* guardedEach("list", this.#lister.damaged());
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    try {
      const { markerCheck, trees } = this.#parts;
      const count = await trees.countActive(upTo);
      return count < upTo ? count : await markerCheck.countActive(upTo);
    } catch (error) {
      return throwFailure("count", error);
    }
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    return this.#remover.remove(id).catch((error) => throwFailure("remove", error));
  }

  /**
   * Yields commits as they are appended. Polls every `watchIntervalMs`, and immediately for commits of this adapter.
   * Inactive sessions are polled in turns, so another process's commit that ends a session may be seen some rounds
   * later. Damaged sessions are skipped.
   *
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system fails; this ends the watch.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<Commit> {
    const watch = new SessionWatch(this.#parts, query, signal, this.#watchIntervalMs);
    // A failure is that of the first commit's call.
    watch.ready.then(
      () => onReady?.(),
      () => {},
    );
    return guardedEach("watch", watch.commits());
  }

  /** Returns the size of a session's files; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    return sizeOf(this.#parts, id).catch((error) => throwFailure("measure", error));
  }

  /**
   * Moves a session's commits into one file; about ten milliseconds per thousand commits. Does nothing if fewer than
   * two commits are outside of it. The old files are deleted after `copyWindowMs`, by any process that uses the store
   * then, so that a copy made meanwhile is complete.
   *
   * @throws {PhasegateError} `TAMPERED` when a commit is damaged or missing.
   */
  async compact(id: SessionId): Promise<void> {
    return this.#compactor.compact(id).catch((error) => throwFailure("compact", error));
  }

  /**
   * Rebuilds the list index from the sessions and reports damaged sessions. Commits do not change, and others may use
   * the folder meanwhile.
   */
  async repair(): Promise<RepairReport> {
    return this.#repair.repair().catch((error) => throwFailure("repair", error));
  }

  /** Waits for background work, such as writing hints and deleting old files. */
  async close(): Promise<void> {
    await this.#parts.background.idle();
  }
}

/**
 * Makes one of the top folders. Refuses a link in its place: whatever is deleted in it, such as old trash, would be
 * deleted at the link's target.
 */
async function makeTop(disk: Disk, path: string): Promise<void> {
  if (await disk.makeFolder(path)) return;
  const real = await disk.fs.realpath(path).catch(ignoreMissing);
  if (real === path && (await disk.stat(path))?.isDirectory() === true) return;
  const cause = `${basename(path)} is no folder of its own, but a link or a file`;
  throw storageFailed("open", cause, `Look where ${basename(path)} in the session folder leads, then delete it.`);
}

/**
 * Removes sessions: the id is marked as used, the folder is moved to the trash in one step, then it is deleted. The
 * next removal completes one that died in between; lists remove its markers.
 */
class SessionRemover {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /** Removes a session, if it exists. */
  async remove(id: SessionId): Promise<void> {
    const { background, disk, known, layout, trash, watchers } = this.#parts;
    const at = layout.place(id);
    if (!(await disk.exists(at.folder))) return;
    const summary = await this.#summary(id);
    await markUsed(this.#parts, id);
    const folder = await trash.put(at);
    known.forget(id);
    await this.#removeMarkers(summary);
    // Watchers read the last commits from the trash.
    if (await watchers.any()) return;
    if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
  }

  // A damaged session must be removable too. Lists remove its markers later.
  async #summary(id: SessionId): Promise<SessionSummary | undefined> {
    try {
      return (await this.#parts.newest.header(id))?.summary;
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return undefined;
      throw error;
    }
  }

  async #removeMarkers(summary: SessionSummary | undefined): Promise<void> {
    if (summary === undefined) return;
    const { trees } = this.#parts;
    await Promise.all([trees.remove(allMarker(summary)), trees.remove(activeMarker(summary))]);
  }
}

/** Marks an id as used, synced, before its folder disappears: no session can begin under it again. */
async function markUsed(parts: Pick<StoreParts, "disk" | "folders" | "layout">, id: SessionId): Promise<void> {
  const { disk, folders, layout } = parts;
  const mark = layout.removed(id);
  await folders.within(dirname(mark), async () => {
    await disk.touch(mark);
    await disk.syncFolder(dirname(mark));
  });
}
