import { resolve } from "node:path";
import type { SessionId } from "../../../definition/names.js";
import type { Commit, Page, SessionQuery, SessionSummary, StorageAdapter } from "../../../ports/storage-adapter.js";
import { checkCommit } from "./check-commit.js";
import { CommitAppender } from "./commit-appender.js";
import { Disk, type FileSystem } from "./disk.js";
import { asStorageFailure } from "./fs-failure.js";
import { SessionLister } from "./session-lister.js";
import { SessionLog } from "./session-log.js";
import { SessionRemover } from "./session-remover.js";
import { choosePublisher } from "./store-format.js";
import { StoreLayout, TOP_FOLDERS } from "./store-layout.js";
import { createStoreParts, type StoreParts } from "./store-parts.js";
import { emptyTrash } from "./sweep-temporary.js";

/** How to open a {@link FileStorage}. */
export interface FileStorageOptions {
  /** The largest commit, in bytes, payloads included; 64 MiB if not given. */
  readonly maxCommitBytes?: number;
  /** In place of `node:fs/promises`, for tests that let calls fail. */
  readonly fs?: FileSystem;
  /** In place of `process.platform`, for tests. */
  readonly platform?: string;
}

const MAX_COMMIT_BYTES = 64 * 1024 * 1024;

/**
 * Sessions in a folder, one file for each commit. An acknowledged commit survives a loss of power, any number of
 * processes may use the folder at once, and no lock is held, so none can be left behind.
 *
 * A commit whose `append` failed after it got its version (the disk refused the last sync) may be there or not
 * afterwards, but whole. What `read` has given is on the disk, whoever wrote it.
 *
 * A session whose newest commit is damaged is left out of lists, so that they go on without it; reading it throws
 * `TAMPERED`. `countActive` doesn't look into sessions, and still counts it. Files have mode 0600 and folders 0700.
 */
export class FileStorage implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  readonly #parts: StoreParts;
  readonly #appender: CommitAppender;
  readonly #lister: SessionLister;
  readonly #log: SessionLog;
  readonly #remover: SessionRemover;

  private constructor(parts: StoreParts, maxCommitBytes: number) {
    this.capabilities = { durability: "power", multiProcess: true, maxCommitBytes };
    this.#parts = parts;
    this.#appender = new CommitAppender(parts);
    this.#lister = new SessionLister(parts.trees, parts.newest, parts.tidy);
    this.#log = new SessionLog(parts.reader, parts.newest);
    this.#remover = new SessionRemover(parts);
  }

  /**
   * Opens the sessions in a folder, which is made if it isn't there. Throws `STORAGE_FAILED` if the folder can't be
   * used, `FORMAT_TOO_NEW` if a newer phasegate made it.
   */
  static async open(root: string, options: FileStorageOptions = {}): Promise<FileStorage> {
    const disk = new Disk(options.fs, options.platform);
    return guarded("open", async () => {
      await disk.makeFolders(resolve(root));
      const layout = new StoreLayout(await disk.fs.realpath(root));
      for (const name of TOP_FOLDERS) await disk.makeFolder(layout.top(name));
      await disk.syncFolder(layout.root);
      const maxCommitBytes = options.maxCommitBytes ?? MAX_COMMIT_BYTES;
      const parts = createStoreParts(disk, layout, await choosePublisher(disk, layout), maxCommitBytes);
      parts.background.run("trash", () => emptyTrash(disk, layout.top("trash")));
      return new FileStorage(parts, maxCommitBytes);
    });
  }

  async read(id: SessionId): Promise<Commit | undefined> {
    return guarded("read", () => this.#parts.newest.commit(id));
  }

  async append(commit: Commit): Promise<void> {
    await guarded("append", async () => {
      const own = ownCopy(commit);
      checkCommit(own, this.capabilities.maxCommitBytes);
      await this.#appender.append(own);
    });
  }

  /** What the session's `head` names, which is written after each commit and never before. */
  async hint(id: SessionId): Promise<number> {
    return guarded("read", () => this.#parts.reader.hint(id));
  }

  async *log(id: SessionId, options: { after?: number; limit?: number } = {}): AsyncGenerator<Commit> {
    const commits = this.#log.read(id, options.after ?? 0, options.limit ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const next = await guarded("read", () => commits.next());
      if (next.done) return;
      yield next.value;
    }
  }

  async payload(id: SessionId, hash: string): Promise<string | undefined> {
    return guarded("read", () => this.#parts.payloads.read(id, hash));
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    return guarded("list", () => this.#lister.list(query));
  }

  async countActive(upTo: number): Promise<number> {
    return guarded("count", () => this.#parts.trees.countActive(upTo));
  }

  async remove(id: SessionId): Promise<void> {
    await guarded("remove", () => this.#remover.remove(id));
  }

  /** Waits for the hints and sweeps that follow an answer. */
  async close(): Promise<void> {
    await this.#parts.background.idle();
  }
}

/** What the caller may change while it waits must not change what is stored. */
function ownCopy({ payloads, ...commit }: Commit): Commit {
  const copies = payloads?.map((payload) => ({ ...payload }));
  return { ...commit, summary: { ...commit.summary }, ...(copies === undefined ? {} : { payloads: copies }) };
}

async function guarded<T>(operation: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asStorageFailure(operation, error);
  }
}
