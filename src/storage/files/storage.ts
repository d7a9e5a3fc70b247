/**
 * FileStorage: sessions in a folder, one immutable file per commit, without locks. This class opens the folder and
 * delegates to one file per operation. This is the entry file of the folder.
 *
 * What is decided where:
 * - layout.ts: what the operations share; the paths of a store, and why a plain file copy of it is consistent.
 * - publish.ts: a version is claimed by a hard link, or by a rename where there are none.
 * - append.ts: markers and payloads are on the disk before the commit, and the commit before the answer.
 * - commit-file.ts: a commit is two lines of JSON; a pack is several commits with an index at the end.
 * - file-system.ts: which calls run on the caller's thread. disk.ts: what a commit depends on is synced, and the renames that
 *   Windows may refuse at first are repeated.
 * - list.ts: a list is made of markers, and each entry is checked against its session.
 * - read.ts: `head` is a hint only; the newest version is the last one that exists.
 * - markers.ts: lists are ordered by file names; a marker may be false but is never missing.
 * - compact.ts: packed versions are deleted only after the copy window; markers and heads are rebuilt from the commits.
 * - trash.ts: a removed id is marked as used before its folder goes to the trash; when a watcher counts as dead; temp files and
 *   trash are deleted by age, measured by the file system's clock.
 * - watch.ts: watching is polling, with a wake-up for this process's own commits.
 * - failures.ts: which system errors become which error codes.
 */
import { basename, join, resolve } from "node:path";
import type {
  AppendOptions,
  Commit,
  Page,
  ReadOptions,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
  WatchOptions,
} from "../../ports/storage-adapter.js";
import { RecentMap } from "../../workflow/cache.js";
import type { SessionId } from "../../workflow/names.js";
import { numberOptions } from "../common/failures.js";
import { appendCommit, beginSession } from "./append.js";
import { readPayload } from "./commit-file.js";
import { compactSession, deleteAllPacked, rebuild, repairStore } from "./compact.js";
import { Disk } from "./disk.js";
import { guardedEach, ignoreMissing, notOpened, throwFailure } from "./failures.js";
import type { FileSystem } from "./file-system.js";
import { Background, Folders, type Store, StoreLayout, TOP_FOLDERS } from "./layout.js";
import { damagedSessions, listSessions, readLog, sizeOf } from "./list.js";
import { countActive } from "./markers.js";
import { openFormat, writeFormat } from "./publish.js";
import { hintedVersion, newestCommit } from "./read.js";
import { emptyTrash, removeSession } from "./trash.js";
import { SessionWatch } from "./watch.js";

/** Options of {@link FileStorage.open}. */
export interface FileStorageOptions {
  /** Maximum size of a commit with its payloads, in bytes. Default: 64 MiB; at most 256 MiB. */
  readonly maxCommitBytes?: number;
  /**
   * Opens a folder that may not be written, such as a backup on a read-only file system: nothing in it is made or changed, and
   * every write fails. The folder must have sessions. If it was copied while they ran, lists may lack some of them. Default: false.
   */
  readonly readOnly?: boolean;
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

const KNOWN_VERSIONS_MAX = 4096;
const LIMITS = {
  maxCommitBytes: { value: 64 * 1024 * 1024, min: 1, max: 256 * 1024 * 1024 },
  watchIntervalMs: { value: 200, min: 1, max: 3_600_000 },
  copyWindowMs: { value: 3_600_000, min: 0, max: 2 ** 31 - 1 },
};

/**
 * Stores sessions in a folder, one file per commit. An acknowledged commit survives a power failure. Any number of
 * processes may use the folder at once. No lock is held, so none can be left behind.
 *
 * If `append` fails with outcome `unknown` (the last sync failed after the commit got its version), the commit may
 * exist, but only complete. A commit returned by `read` is on the disk, whoever wrote it, unless `durable` is false.
 *
 * Lists omit a session whose newest commit is damaged; reading it throws `TAMPERED`. `countActive` counts such a
 * session, and reads sessions only if their markers reach `upTo`. Files have mode 0600 and folders 0700.
 *
 * Every method throws `PhasegateError` `STORAGE_FAILED` when the file system fails, and `TAMPERED` when what it reads is
 * damaged or missing.
 */
export class FileStorage implements StorageAdapter {
  /** The durability of this storage, its limits, and whether several processes may use it. */
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #store: Store;

  private constructor(store: Store) {
    const { maxCommitBytes } = store.limits;
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes };
    this.#store = store;
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
    const limits = numberOptions(options, LIMITS);
    try {
      const { readOnly = false } = options;
      const disk = new Disk(options.fs, options.platform);
      if (!readOnly) await disk.makeFolders(resolve(root));
      const layout = new StoreLayout(await disk.fs.realpath(root));
      if (!readOnly) {
        for (const name of TOP_FOLDERS) await makeTop(disk, layout.top(name));
        await disk.syncFolder(layout.root);
      }
      // This version does not read what these had compacted into a folder of its own.
      if ((await disk.names(join(layout.root, "compacted"))).length > 0) {
        const remedy =
          "Export the sessions with the version that has compacted them, and import them into another folder.";
        throw notOpened("the folder has sessions that a version before 0.1.0 has compacted", remedy);
      }
      if (!readOnly) await disk.now(layout.top("trash"));
      const { publisher, isCopy } = await openFormat(disk, layout, readOnly);
      const store: Store = {
        ...{ disk, layout, publisher, limits },
        folders: new Folders(disk),
        background: new Background(),
        packs: new Map(),
        newest: new RecentMap(KNOWN_VERSIONS_MAX),
        heads: new Map(),
        listeners: new Set(),
      };
      if (readOnly) return new FileStorage(store);
      if (isCopy) {
        await rebuild(store);
        await writeFormat(disk, layout, publisher);
      }
      store.background.run("trash", () => emptyTrash(store));
      store.background.run("packed", () => deleteAllPacked(store));
      return new FileStorage(store);
    } catch (error) {
      return throwFailure("open", error);
    }
  }

  /** Returns the newest commit of a session; undefined if there is none. */
  async read(id: SessionId, { durable = true }: ReadOptions = {}): Promise<Commit | undefined> {
    return newestCommit(this.#store, id, durable).catch((error) => throwFailure("read", error));
  }

  /** Appends a commit. */
  async append(commit: Commit, { follows }: AppendOptions = {}): Promise<void> {
    return appendCommit(this.#store, commit, follows).catch((error) => throwFailure("append", error));
  }

  /** Begins a session with several commits in one file, all or none. Throws as `append` does. */
  async begin(commits: readonly Commit[]): Promise<void> {
    return beginSession(this.#store, commits).catch((error) => throwFailure("append", error));
  }

  /**
   * Returns the version in the session's `head`; 0 if there is none. It is written up to a second after a commit, and never
   * before it.
   */
  async hint(id: SessionId): Promise<number> {
    return hintedVersion(this.#store, id).catch((error) => throwFailure("read", error));
  }

  /** Yields a session's commits in order, starting after version `after`. */
  log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    return guardedEach("read", readLog(this.#store, id, options.after ?? 0, options.limit));
  }

  /** Returns a payload's text; undefined if the session has none with this hash. */
  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return readPayload(this.#store, id, hash).catch((error) => throwFailure("read", error));
  }

  /** Lists sessions, newest first. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return listSessions(this.#store, query).catch((error) => throwFailure("list", error));
  }

  /** Yields the sessions whose newest commit is damaged. Reads every session. */
  damaged(): AsyncGenerator<SessionId> {
    return guardedEach("list", damagedSessions(this.#store));
  }

  /** Counts active sessions up to `upTo`. */
  async countActive(upTo: number): Promise<number> {
    return countActive(this.#store, upTo).catch((error) => throwFailure("count", error));
  }

  /** Removes a session. Its id is never used again. */
  async remove(id: SessionId): Promise<void> {
    return removeSession(this.#store, id).catch((error) => throwFailure("remove", error));
  }

  /**
   * Yields commits as they are appended. Polls every `watchIntervalMs`, and immediately for commits of this adapter.
   * Inactive sessions are polled in turns, so another process's commit that ends a session may be seen some rounds
   * later. Damaged sessions are skipped. A failure of the file system ends the watch.
   */
  watch(
    query: SessionQuery,
    { signal, onReady }: WatchOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<Commit> {
    const watch = new SessionWatch(this.#store, query, signal);
    // A failure is that of the first commit's call.
    watch.ready.then(
      () => onReady?.(),
      () => {},
    );
    return guardedEach("watch", watch.commits());
  }

  /** Returns the size of a session's files; undefined if there is none. */
  async size(id: SessionId): Promise<SessionSize | undefined> {
    return sizeOf(this.#store, id).catch((error) => throwFailure("measure", error));
  }

  /**
   * Moves a session's commits into one file; about ten milliseconds per thousand commits. Does nothing if fewer than
   * two commits are outside of it. The old files are deleted after `copyWindowMs`, by any process that uses the store
   * then, so that a copy made meanwhile is complete.
   */
  async compact(id: SessionId): Promise<void> {
    return compactSession(this.#store, id).catch((error) => throwFailure("compact", error));
  }

  /**
   * Rebuilds the list index from the sessions and reports damaged sessions. Commits do not change, and others may use
   * the folder meanwhile.
   */
  async repair(): Promise<RepairReport> {
    return repairStore(this.#store).catch((error) => throwFailure("repair", error));
  }

  /** Waits for background work, such as writing hints and deleting old files. */
  async close(): Promise<void> {
    await this.#store.background.idle();
  }
}

/** Refuses a link in a folder's place: old trash would be deleted where it leads. */
async function makeTop(disk: Disk, path: string): Promise<void> {
  if (await disk.makeFolder(path)) return;
  const real = await disk.fs.realpath(path).catch(ignoreMissing);
  if (real === path && (await disk.stat(path))?.isDirectory() === true) return;
  const cause = `${basename(path)} is no folder of its own, but a link or a file`;
  throw notOpened(cause, `Look where ${basename(path)} in the session folder leads, then delete it.`);
}
