import type { SessionId } from "../../definition/names.js";
import type { Commit, SessionSummary } from "../../ports/storage-adapter.js";
import { COMMIT_COLUMNS, storeCommit } from "./commit-rows.js";
import type { Connection } from "./connection.js";
import type { KnownSession, KnownSessions } from "./known-sessions.js";
import type { PackedPayload } from "./packed-payload.js";
import { Projections } from "./projections.js";
import { conflict } from "./sqlite-failure.js";
import { numberIn, storedText, textIn } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** What of a summary is looked up by, as `sessions` has it in these columns; all of it has an index. */
const FOUND_BY = ["kind", "workflow_type", "target", "status", "created_at", "updated_day"] as const;
type Places = Readonly<Record<(typeof FOUND_BY)[number], string>>;

/** What every commit changes in its session's row, in the order in which the statements take it. */
type Head = readonly [
  version: number,
  hash: string | Uint8Array,
  seq: number,
  updatedAt: string | Uint8Array,
  bytes: number,
];

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
  readonly #known: KnownSessions;
  readonly #projections: Projections;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    this.#connection = connection;
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
    const stored = storeCommit(commit);
    const head = [version, storedText(commit.hash), seq, storedText(commit.summary.updatedAt), stored.bytes] as const;
    const number = standing === undefined ? this.#begin(commit, head) : this.#advance(commit, head, standing);
    this.#prepare("insert").run(seq, number, ...stored.values);
    this.#store(number, payloads);
    this.#projections.write(commit, stored, seq, standing && before(standing));
    return { number, seq };
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

  #begin({ sessionId, summary }: Commit, head: Head): number {
    const { lastInsertRowid } = this.#prepare("begin").run(sessionId, ...head, ...placeValues(placesOf(summary)));
    return Number(lastInsertRowid);
  }

  #advance({ summary }: Commit, head: Head, { number, places: before }: Standing): number {
    this.#prepare("advance").run(...head, number);
    const places = placesOf(summary);
    // An index entry that is written anew costs a page, even where nothing of it has changed.
    const moves = FOUND_BY.some((column) => before[column] !== places[column]);
    if (moves) this.#prepare("move").run(...placeValues(places), number);
    return number;
  }

  // Of a content that the session has already nothing is written.
  #store(session: number, payloads: readonly PackedPayload[]): void {
    for (const { hash, bytes } of payloads) {
      const { changes } = this.#prepare("payload").run(session, storedText(hash), bytes);
      if (Number(changes) > 0) this.#prepare("grow").run(bytes.byteLength, session);
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
    standing: `SELECT number, version, hash, ${places} FROM ${sessions} WHERE session_id = ?`,
    removed: `SELECT 1 FROM ${removed} WHERE session_id = ?`,
    // The largest one ever used is that of a commit or of a removed session's last one.
    last: `SELECT max(
        coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    begin: `INSERT INTO ${sessions} (session_id, version, hash, newest, updated_at, bytes, ${places})
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    advance: `UPDATE ${sessions} SET version = ?, hash = ?, newest = ?, updated_at = ?, bytes = bytes + ?
      WHERE number = ?`,
    move: `UPDATE ${sessions} SET ${FOUND_BY.map((column) => `${column} = ?`).join(", ")} WHERE number = ?`,
    grow: `UPDATE ${sessions} SET bytes = bytes + ? WHERE number = ?`,
    insert: `INSERT INTO ${commits} (seq, session, ${COMMIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    payload: `INSERT INTO ${payloads} (session, hash, body) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING`,
  };
}
