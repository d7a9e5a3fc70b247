import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { Connection } from "./connection.js";
import { bytesIn, commitIn, numberIn, selectCommits, storedText, type TableNames, unpackPayload } from "./rows.js";

/** So many commits are read at once: nothing is held open between two of them, which would keep the log growing. */
const READ_AHEAD = 8;

/** Reads the commits and the payloads of sessions. */
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
    // The caller may change what it is given.
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
      const rows = await this.#connection.patiently("read", () =>
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
    const row = await this.#connection.patiently("read", () =>
      this.#connection.prepare(this.#sql.payload).get(id, storedText(hash)),
    );
    return row && unpackPayload(bytesIn(row, "body"), id, hash, maxBytes);
  }
}

/** A session's newest commit, and the number that its rows have. */
export interface KnownSession {
  readonly number: number;
  readonly commit: Omit<Commit, "payloads">;
}

/** How many sessions are kept, and how long a body may be: the engine that wrote it keeps the same text. */
const KEPT = 256;
const BODY_MAX = 256 * 1024;

/**
 * What this connection has read or written last, for as long as nobody else has written: SQLite counts the commits of all
 * other connections (`PRAGMA data_version`), and with the first one everything is forgotten. So what is known is what would
 * be read, and a file that somebody edits is read anew.
 */
export class KnownSessions {
  readonly #connection: Connection;
  readonly #isOn: boolean;
  readonly #sessions = new Map<SessionId, KnownSession>();
  #dataVersion = -1;
  #seq: number | undefined;

  /** Off for a host's own database, on which the host may write by the same connection. */
  constructor(connection: Connection, isOn: boolean) {
    this.#connection = connection;
    this.#isOn = isOn;
  }

  get(id: SessionId): KnownSession | undefined {
    this.#forgetOthers();
    return this.#sessions.get(id);
  }

  /** The number of the newest commit of all sessions, as of the last `get`: to be asked in one transaction with it. */
  get seq(): number | undefined {
    return this.#seq;
  }

  /** What was read in the same turn of the event loop as `get` was asked, or written; `seq` if it was written. Is kept as it is. */
  set(commit: Omit<Commit, "payloads">, number: number, seq?: number): void {
    if (!this.#isOn) return;
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

  /** Where a write has failed: it may be there all the same, and of a connection's own writes SQLite says nothing. */
  clear(): void {
    this.#sessions.clear();
    this.#seq = undefined;
  }

  #forgetOthers(): void {
    if (!this.#isOn) return;
    const dataVersion = numberIn(this.#connection.prepare("PRAGMA data_version").get() ?? {}, "data_version");
    if (dataVersion === this.#dataVersion) return;
    this.clear();
    this.#dataVersion = dataVersion;
  }
}
