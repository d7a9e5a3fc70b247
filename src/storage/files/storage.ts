import { basename, resolve } from "node:path";
import type {
  Commit,
  Page,
  RepairReport,
  SessionQuery,
  SessionSize,
  SessionSummary,
  StorageAdapter,
} from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { CommitAppender, checkChain, checkFileCommit } from "./append.js";
import { SessionCompactor } from "./compact.js";
import { Disk, type FileSystem, guarded, guardedEach, orMissing } from "./disk.js";
import { storageFailed } from "./failures.js";
import { StoreLayout, TOP_FOLDERS } from "./layout.js";
import { SessionLister, SessionLog, sizeOf } from "./list.js";
import { createStoreParts, type StoreParts } from "./parts.js";
import { openFormat, refuseOldLayout, writeFormat } from "./publish.js";
import { SessionRemover } from "./remove.js";
import { StoreRepair } from "./repair.js";
import { SessionWatch } from "./watch.js";
/** How to open a {@link FileStorage}. */
export interface FileStorageOptions {
  /** The largest commit, in bytes, payloads included; 64 MiB if not given. */
  readonly maxCommitBytes?: number;
  /** How often `watch` looks for what other processes have appended, in milliseconds; 200 if not given. */
  readonly watchIntervalMs?: number;
  /**
   * How long a tool such as `rsync` may take to copy one session's folder and still copy the session whole, in
   * milliseconds; an hour if not given. What was compacted is kept so long, and commits with payloads are not compacted
   * before.
   */
  readonly copyWindowMs?: number;
  /** In place of `node:fs/promises`, for tests that let calls fail. */
  readonly fs?: FileSystem;
  /** In place of `process.platform`, for tests. */
  readonly platform?: string;
}

const MAX_COMMIT_BYTES = 64 * 1024 * 1024;
const WATCH_INTERVAL_MS = 200;
const COPY_WINDOW_MS = 3_600_000;

/**
 * Sessions in a folder, one file for each commit. An acknowledged commit survives a loss of power, any number of
 * processes may use the folder at once, and no lock is held, so none can be left behind.
 *
 * A commit whose `append` failed after it got its version (the disk refused the last sync) may be there or not
 * afterwards, but whole. What `read` has given is on the disk, whoever wrote it.
 *
 * A session whose newest commit is damaged is left out of lists, so that they go on without it; reading it throws
 * `TAMPERED`. `countActive` looks into sessions only where the markers alone reach `upTo`, and counts it. Files have mode 0600 and folders 0700.
 */
export class FileStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #parts: StoreParts;
  readonly #appender: CommitAppender;
  readonly #compactor: SessionCompactor;
  readonly #lister: SessionLister;
  readonly #log: SessionLog;
  readonly #remover: SessionRemover;
  readonly #repair: StoreRepair;

  readonly #watchIntervalMs: number;

  private constructor(parts: StoreParts, options: FileStorageOptions, maxCommitBytes: number) {
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes };
    this.#parts = parts;
    this.#watchIntervalMs = options.watchIntervalMs ?? WATCH_INTERVAL_MS;
    this.#compactor = new SessionCompactor(parts, options.copyWindowMs ?? COPY_WINDOW_MS);
    this.#appender = new CommitAppender(parts, this.#compactor);
    this.#lister = new SessionLister(parts.trees, parts.tidy);
    this.#log = new SessionLog(parts.reader, parts.newest);
    this.#remover = new SessionRemover(parts);
    this.#repair = new StoreRepair(parts, this.#compactor);
  }

  /**
   * Opens the sessions in a folder, which is made if it isn't there. Throws `STORAGE_FAILED` if the folder can't be
   * used, `FORMAT_TOO_NEW` if a newer phasegate made it. Where the folder is a copy of another one, what lists go by is
   * made anew first, as by `repair`.
   */
  static async open(root: string, options: FileStorageOptions = {}): Promise<FileStorage> {
    const disk = new Disk(options.fs, options.platform);
    return guarded("open", async () => {
      await disk.makeFolders(resolve(root));
      const layout = new StoreLayout(await disk.fs.realpath(root));
      for (const name of TOP_FOLDERS) await makeTop(disk, layout.top(name));
      await disk.syncFolder(layout.root);
      await refuseOldLayout(disk, layout);
      await disk.now(layout.top("trash"));
      const maxCommitBytes = options.maxCommitBytes ?? MAX_COMMIT_BYTES;
      const { publisher, isCopy } = await openFormat(disk, layout);
      const parts = createStoreParts(disk, layout, publisher, maxCommitBytes);
      const storage = new FileStorage(parts, options, maxCommitBytes);
      if (isCopy) {
        await storage.#repair.rebuild();
        await writeFormat(disk, layout, publisher);
      }
      parts.background.run("trash", () => parts.watchers.any().then((isWatched) => parts.trash.empty(isWatched)));
      parts.background.run("packed", () => storage.#compactor.tidyAll());
      return storage;
    });
  }

  async read(id: SessionId): Promise<Commit | undefined> {
    return guarded("read", () => this.#parts.newest.commit(id));
  }

  async append(commit: Commit): Promise<void> {
    await guarded("append", async () => {
      const own = ownCopy(commit);
      checkFileCommit(own, this.capabilities.maxCommitBytes);
      await this.#appender.append(own);
    });
  }

  /** Begins a session with several commits at once: one file for all of them, which is there whole or not at all. */
  async begin(commits: readonly Commit[]): Promise<void> {
    await guarded("append", async () => {
      const [first, ...others] = commits.map(ownCopy);
      if (first === undefined) return;
      for (const commit of [first, ...others]) checkFileCommit(commit, this.capabilities.maxCommitBytes);
      checkChain([first, ...others]);
      await this.#appender.begin([first, ...others]);
    });
  }

  /** What the session's `head` names, which is written after each commit and never before. */
  async hint(id: SessionId): Promise<number> {
    return guarded("read", () => this.#parts.newest.hint(id));
  }

  async *log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    const commits = this.#log.read(id, options.after ?? 0, options.limit ?? Number.POSITIVE_INFINITY);
    yield* guardedEach("read", commits);
  }

  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return guarded("read", () => this.#parts.payloads.read(id, hash));
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return guarded("list", () => this.#lister.list(query));
  }

  /** Those whose newest commit is cut short, or something else. Looks at every session. */
  async *damaged(): AsyncGenerator<SessionId> {
    yield* guardedEach("list", this.#lister.damaged());
  }

  async countActive(upTo: number): Promise<number> {
    return guarded("count", async () => {
      const { trees, tidy } = this.#parts;
      const count = await trees.countActive(upTo);
      return count < upTo ? count : tidy.countActive(upTo);
    });
  }

  async remove(id: SessionId): Promise<void> {
    await guarded("remove", () => this.#remover.remove(id));
  }

  /**
   * Looks again and again, as often as `watchIntervalMs` says, and at once for what this adapter appends. Sessions that
   * rest are looked at in turn: a commit that leaves one resting is seen within some rounds, where another process wrote
   * it. A session that is damaged is passed over. A failure of the file system ends it with `STORAGE_FAILED`.
   */
  watch(query: SessionQuery, { signal }: { readonly signal: AbortSignal }): AsyncIterable<Commit> {
    const watch = new SessionWatch(this.#parts, query, signal, this.#watchIntervalMs);
    return guardedEach("watch", watch.commits());
  }

  async size(id: SessionId): Promise<SessionSize | undefined> {
    return guarded("measure", () => sizeOf(this.#parts, id));
  }

  /**
   * Puts a session's commits into one file, where every process finds them: some ten milliseconds for a thousand. Does
   * nothing where there is one commit outside of that file, or none. The files that the commits were in are deleted an
   * hour later, by whoever uses the store then, so that a tool that copies the folder meanwhile misses nothing.
   */
  async compact(id: SessionId): Promise<void> {
    await guarded("compact", () => this.#compactor.compact(id));
  }

  /**
   * Makes anew what lists go by, from the sessions themselves, and says which sessions are damaged. Commits are not
   * touched, and others may use the folder meanwhile.
   */
  async repair(): Promise<RepairReport> {
    return guarded("repair", () => this.#repair.repair());
  }

  /** Waits for the hints and sweeps that follow an answer. */
  async close(): Promise<void> {
    await this.#parts.background.idle();
  }
}

/**
 * Makes one of the top folders. A link in its place is refused: what is deleted in it, as by age in the trash, would be
 * deleted wherever it leads.
 */
async function makeTop(disk: Disk, path: string): Promise<void> {
  if (await disk.makeFolder(path)) return;
  const real = await orMissing(disk.fs.realpath(path));
  if (real === path && (await disk.stat(path))?.isDirectory() === true) return;
  const cause = `${basename(path)} is no folder of its own, but a link or a file`;
  throw storageFailed("open", cause, `Look where ${basename(path)} in the session folder leads, then delete it.`);
}

/** What the caller may change while it waits must not change what is stored. */
function ownCopy({ payloads, ...commit }: Commit): Commit {
  const copies = payloads?.map((payload) => ({ ...payload }));
  return { ...commit, summary: { ...commit.summary }, ...(copies === undefined ? {} : { payloads: copies }) };
}
