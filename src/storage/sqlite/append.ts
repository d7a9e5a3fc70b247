import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { Connection } from "./connection.js";
import { conflict, notWritten } from "./failures.js";
import { Projections } from "./projections.js";
import type { KnownSession, KnownSessions } from "./read.js";
import {
  COMMIT_COLUMNS,
  numberIn,
  type PackedPayload,
  storeCommit,
  storedText,
  type TableNames,
  textIn,
} from "./rows.js";

/** What of a summary is looked up by, as `sessions` has it in these columns; all of it has an index. */
const FOUND_BY = ["kind", "workflow_type", "target", "status", "created_at", "updated_day"] as const;
type Places = Readonly<Record<(typeof FOUND_BY)[number], string>>;

/** Under which no payload is stored, as it is no digest. */
const TOUCHED = "settled";

/** Where a session stands before a commit. */
interface Standing {
  readonly number: number;
  readonly version: number;
  readonly hash: string;
  readonly places: Places;
}

/** Writes a commit and all that follows from it. Called in a transaction. */
export class CommitWriter {
  readonly #connection: Connection;
  readonly #names: TableNames;
  readonly #known: KnownSessions;
  readonly #projections: Projections;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    this.#connection = connection;
    this.#names = names;
    this.#known = known;
    this.#projections = new Projections(connection, names);
    this.#sql = statements(names);
  }

  /** Gives the numbers of the session and of the commit. Throws `CONFLICT` if it doesn't follow the newest one. */
  append(commit: Commit, payloads: readonly PackedPayload[]): { readonly number: number; readonly seq: number } {
    const { sessionId: id, version, previousHash } = commit;
    const known = this.#known.get(id);
    const standing = known === undefined ? this.#standing(id) : standingOf(known);
    const { version: newest, hash } = standing ?? { version: 0, hash: "" };
    if (version !== newest + 1 || previousHash !== hash) {
      throw conflict(id, version, "it does not follow the newest version");
    }
    if (standing === undefined && this.#prepare("removed").get(id) !== undefined) {
      throw conflict(id, version, "the session was removed");
    }
    const seq = (this.#known.seq ?? numberIn(this.#prepare("last").get() ?? {}, "seq")) + 1;
    const number = standing === undefined ? this.#begin(commit) : this.#advance(commit, standing);
    this.#connection.changeOne(this.#names.commits, this.#sql.insert, [seq, number, ...storeCommit(commit)]);
    this.#store(number, payloads);
    this.#projections.write(commit, seq, standing && before(standing));
    return { number, seq };
  }

  /** Changes nothing, by two writes: SQLite would leave out a single one that leaves a row as it was, and sync nothing. */
  touch(id: SessionId): void {
    const standing = this.#standing(id);
    if (standing === undefined) return;
    const { payloads } = this.#names;
    this.#connection.changeOne(payloads, this.#sql.payload, [standing.number, TOUCHED, new Uint8Array()]);
    this.#connection.changeOne(payloads, this.#sql.dropPayload, [standing.number, TOUCHED]);
  }

  #standing(id: SessionId): Standing | undefined {
    const row = this.#prepare("standing").get(id);
    if (row === undefined) return undefined;
    const [number, version, hash] = [numberIn(row, "number"), numberIn(row, "version"), textIn(row, "hash")];
    const [kind, workflow_type, target] = [textIn(row, "kind"), textIn(row, "workflow_type"), textIn(row, "target")];
    const [status, created_at] = [textIn(row, "status"), textIn(row, "created_at")];
    const places = { kind, workflow_type, target, status, created_at, updated_day: textIn(row, "updated_day") };
    return { number, version, hash, places };
  }

  #begin({ sessionId, summary }: Commit): number {
    const values = [sessionId, ...placeValues(placesOf(summary))];
    return this.#connection.changeOne(this.#names.sessions, this.#sql.begin, values);
  }

  // Most commits leave the session's row alone: each page that is written costs as much as a statement does.
  #advance({ summary }: Commit, { number, places: before }: Standing): number {
    const places = placesOf(summary);
    const moves = FOUND_BY.some((column) => before[column] !== places[column]);
    if (moves) this.#connection.changeOne(this.#names.sessions, this.#sql.move, [...placeValues(places), number]);
    return number;
  }

  // Of a content that the session has already nothing is written.
  #store(session: number, payloads: readonly PackedPayload[]): void {
    for (const { hash, bytes } of payloads) {
      const { changes } = this.#prepare("payload").run(session, storedText(hash), bytes);
      if (changes !== 1 && this.#prepare("hasPayload").get(session, storedText(hash)) === undefined) {
        throw notWritten(this.#names.payloads);
      }
    }
  }

  #prepare(name: keyof ReturnType<typeof statements>) {
    return this.#connection.prepare(this.#sql[name]);
  }
}

function placesOf({ kind, workflowType, target, status, createdAt, updatedAt }: SessionSummary): Places {
  const updatedDay = updatedAt.slice(0, 10);
  return { kind, workflow_type: workflowType, target, status, created_at: createdAt, updated_day: updatedDay };
}

function placeValues(places: Places) {
  return FOUND_BY.map((column) => storedText(places[column]));
}

function standingOf({ number, commit: { version, hash, summary } }: KnownSession): Standing {
  return { number, version, hash, places: placesOf(summary) };
}

/** What the projections compare with. */
function before({ places: { kind, workflow_type: workflowType, target, status } }: Standing) {
  return { kind, workflowType, target, status };
}

function statements({ sessions, commits, payloads, removed }: TableNames) {
  const places = FOUND_BY.join(", ");
  return {
    standing: `SELECT s.number, c.version, c.hash, ${FOUND_BY.map((column) => `s.${column}`).join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`,
    removed: `SELECT 1 FROM ${removed} WHERE session_id = ?`,
    // The largest one ever used is that of a commit or of a removed session's last one.
    last: `SELECT max(
        coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    begin: `INSERT INTO ${sessions} (session_id, ${places}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    move: `UPDATE ${sessions} SET ${FOUND_BY.map((column) => `${column} = ?`).join(", ")} WHERE number = ?`,
    insert: `INSERT INTO ${commits} (seq, session, ${COMMIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    payload: `INSERT INTO ${payloads} (session, hash, body) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING`,
    dropPayload: `DELETE FROM ${payloads} WHERE session = ? AND hash = ?`,
    hasPayload: `SELECT 1 FROM ${payloads} WHERE session = ? AND hash = ?`,
  };
}

/**
 * Removes a session: its id stays as used up, with its tombstone commit, which somebody who watches from another process
 * may not have seen. Row by row, so that it does not hang on foreign keys being on in a database of the host's.
 */
export class SessionRemover {
  readonly #connection: Connection;
  readonly #names: TableNames;

  constructor(connection: Connection, names: TableNames) {
    this.#connection = connection;
    this.#names = names;
  }

  /** Called in a transaction; does nothing where there is no such session. */
  remove(id: SessionId): void {
    const { sessions, commits, payloads, removed, instances, history } = this.#names;
    const row = this.#connection.prepare(`SELECT number FROM ${sessions} WHERE session_id = ?`).get(id);
    if (row === undefined) return;
    const number = numberIn(row, "number");
    this.#keepTombstone(id, number, removed);
    this.#empty(history, "instance_id", id);
    this.#empty(instances, "instance_id", id);
    this.#empty(payloads, "session", number);
    this.#empty(commits, "session", number);
    this.#empty(sessions, "number", number);
  }

  #keepTombstone(id: SessionId, number: number, removed: string): void {
    const { sessions, commits } = this.#names;
    // A log whose commits were all deleted by hand leaves nothing to keep.
    if (this.#connection.prepare(`SELECT 1 FROM ${commits} WHERE session = ?`).get(number) === undefined) return;
    const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
    const sql = `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
      SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`;
    this.#connection.changeOne(removed, sql, [id]);
  }

  /** Deletes the session's rows of a table. The count doesn't tell which rows a trigger kept: so it looks again. */
  #empty(table: string, column: string, value: string | number): void {
    this.#connection.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(value);
    const left = this.#connection.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`).get(value);
    if (left !== undefined) throw notWritten(table);
  }
}
