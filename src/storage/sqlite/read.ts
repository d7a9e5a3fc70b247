/** Reads commits and payloads, and caches the newest commits for as long as no other connection has written. */
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { Connection } from "./connection.js";
import { bytesIn, commitIn, numberIn, selectCommits, storedText, type TableNames, unpackPayload } from "./rows.js";

/**
 * Commits read per query. No statement stays open between two queries, which would prevent checkpoints of the
 * write-ahead log.
 */
const READ_AHEAD = 8;

/** Reads the commits and payloads of sessions. */
export class CommitReader {
  readonly #connection: Connection;
  readonly #known: KnownSessions;
  readonly #sql: Readonly<Record<"newest" | "log" | "payload", string>>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    const { sessions, payloads } = names;
    this.#connection = connection;
    this.#known = known;
    this.#sql = {
      newest: selectCommits(names, "WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1", "s.number"),
      log: selectCommits(names, "WHERE s.session_id = ? AND c.version > ? ORDER BY c.version LIMIT ?"),
      payload: `SELECT p.body FROM ${payloads} p JOIN ${sessions} s ON p.session = s.number
        WHERE s.session_id = ? AND p.hash = ?`,
    };
  }

  newest(id: SessionId): Commit | undefined {
    const known = this.#known.get(id);
    // Return a copy, since the caller may change it.
    if (known !== undefined) return { ...known.commit, summary: { ...known.commit.summary } };
    const row = this.#connection.prepare(this.#sql.newest).get(id);
    if (row === undefined) return undefined;
    const commit = commitIn(row);
    this.#known.set({ ...commit, summary: { ...commit.summary } }, numberIn(row, "number"));
    return commit;
  }

  async *log(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    for (let [last, left] = [after, limit]; left > 0; ) {
      const count = Math.min(READ_AHEAD, left);
      const from = last;
      const rows = await this.#connection.withRetry("read", () =>
        this.#connection.prepare(this.#sql.log).all(id, from, count),
      );
      for (const row of rows) {
        const commit = commitIn(row);
        last = commit.version;
        yield commit;
      }
      if (rows.length < count) return;
      left -= rows.length;
    }
  }

  async payload(id: SessionId, hash: string, maxBytes: number): Promise<string | undefined> {
    const row = await this.#connection.withRetry("read", () =>
      this.#connection.prepare(this.#sql.payload).get(id, storedText(hash)),
    );
    return row && unpackPayload(bytesIn(row, "body"), id, hash, maxBytes);
  }
}

/** A session's newest commit and the number of its rows. */
export interface KnownSession {
  readonly number: number;
  readonly commit: Omit<Commit, "payloads">;
}

/**
 * Cached sessions, and the longest cached body. The engine that wrote it keeps the same string, so it costs no
 * memory.
 */
const KEPT = 256;
const BODY_MAX = 256 * 1024;

/**
 * Caches what this connection last read or wrote. SQLite counts the commits of all other connections (`PRAGMA
 * data_version`); the first of them clears the cache. So the cache always equals the database, and a file that
 * somebody edits is read again.
 */
export class KnownSessions {
  readonly #connection: Connection;
  readonly #isEnabled: boolean;
  readonly #sessions = new Map<SessionId, KnownSession>();
  #dataVersion = -1;
  #seq: number | undefined;

  /** Off for a host's database, because the host may write through the same connection. */
  constructor(connection: Connection, isEnabled: boolean) {
    this.#connection = connection;
    this.#isEnabled = isEnabled;
  }

  get(id: SessionId): KnownSession | undefined {
    this.#clearIfChanged();
    return this.#sessions.get(id);
  }

  /** The number of the newest commit of all sessions, as of the last `get`. Must be read in the same transaction. */
  get seq(): number | undefined {
    return this.#seq;
  }

  /**
   * Caches a commit that was written, or read in the same turn of the event loop as `get` was called; `seq` if it was
   * written. The commit is not copied.
   */
  set(commit: Omit<Commit, "payloads">, number: number, seq?: number): void {
    if (!this.#isEnabled) return;
    this.#seq = seq ?? this.#seq;
    this.#sessions.delete(commit.sessionId);
    if (commit.body.length > BODY_MAX) return;
    this.#sessions.set(commit.sessionId, { number, commit });
    if (this.#sessions.size <= KEPT) return;
    const [oldest] = this.#sessions.keys();
    if (oldest !== undefined) this.#sessions.delete(oldest);
  }

  delete(id: SessionId): void {
    this.#sessions.delete(id);
  }

  /**
   * Clears the cache after a failed write: it may have been written, and SQLite does not count a connection's own
   * commits.
   */
  clear(): void {
    this.#sessions.clear();
    this.#seq = undefined;
  }

  #clearIfChanged(): void {
    if (!this.#isEnabled) return;
    const dataVersion = numberIn(this.#connection.prepare("PRAGMA data_version").get() ?? {}, "data_version");
    if (dataVersion === this.#dataVersion) return;
    this.clear();
    this.#dataVersion = dataVersion;
  }
}
