/**
 * Writes commits and removes sessions.
 *
 * Compare-and-set takes one round trip. A commit whose answer was lost is sent again; the previous hash admits it at most
 * once. If it is refused then, a write that succeeds only if the commit exists tells whether the first attempt succeeded. It
 * must be a write: a read may find data that exists on this server only, while the server acknowledges a write when its
 * standbys have it, and everything before it.
 *
 * Commits of concurrent sessions share a statement, and so its round trip and the server's sync: with a hundred sessions at
 * once, that is many times as many commits a second. A commit that comes alone is sent at once. Those that come while others
 * are under way wait until one of these is answered, and go together. A group does not wait for rows that somebody else has
 * locked, so a session that is held up does not hold up the others. A commit that it has not written is sent alone, which tells why.
 */
import { setImmediate as endOfTurn } from "node:timers/promises";
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { checkCommit, commitConflict, invalidCommit, isIsoTime, takeGroup } from "../common/session-query.js";
import { type Connections, type Retrier, replicated, withStandby } from "./connections.js";
import {
  asStorageFailure,
  isAnswered,
  isDuplicate,
  isLost,
  isNotWritten,
  NotConnected,
  NotReplicated,
  notWritten,
  outcomeUnknown,
} from "./failures.js";
import type { PgClient, PgQuery } from "./options.js";
import { type ColumnValue, decodeText, encodeText, type Statements, valuesOf } from "./rows.js";
import { inTransaction } from "./schema.js";

/** A commit on its way: a copy, since its caller may change it meanwhile. */
interface Sending extends Pick<Commit, "sessionId" | "version" | "previousHash" | "hash"> {
  readonly characters: number;
  readonly values: ColumnValue[];
  /** The hashes and the bodies of its payloads. */
  readonly payloads: readonly [string[], string[]];
}

/** The outcome of a sent commit; `unconfirmed` if the server did not wait for its standbys, `left` by a group. */
type Sent = "written" | "unconfirmed" | "refused" | "left";

/** A commit that waits to be sent together with others. */
interface Waiting extends Sending {
  resolve(sent: Sent): void;
  reject(error: unknown): void;
}

/** The reason of a conflict: the statement does not tell which of the two it is. */
const REFUSED = "it does not follow the newest version, or the session was removed";

/** How many statements are under way before commits wait: while the server writes one group, this process makes the next. */
const UNDER_WAY_MAX = 2;
/** The most commits in a statement, and characters of their bodies: others go with the next one. */
const COMMITS_MAX = 256;
const CHARACTERS_MAX = 1024 * 1024;
/** With more commits, a group has half of them: or server and process would wait for each other in turn. */
const FEW = 16;

export class CommitAppender {
  readonly #connections: Connections;
  readonly #retrier: Retrier;
  readonly #statements: Statements;
  /** Empty unless as many statements are under way as may be. */
  #waiting: Waiting[] = [];
  #underWay = 0;
  /** How many commits are in the statements under way. */
  #sent = 0;
  readonly #onSettled: (() => void)[] = [];

  constructor(connections: Connections, retrier: Retrier, statements: Statements) {
    this.#connections = connections;
    this.#retrier = retrier;
    this.#statements = statements;
  }

  /** Appends a commit. Throws `CONFLICT`, or `STORAGE_FAILED`, with `outcome: "unknown"` if it may exist. */
  async append(commit: Commit): Promise<void> {
    const sending = sendingOf(commit);
    const { sessionId, version } = sending;
    if ((commit.previousHash === "") !== (version === 1)) throw commitConflict(sessionId, version, REFUSED);
    const backoff = this.#retrier.backoff();
    let unanswered = false;
    // On a host's own client, each has its own statement.
    let mayJoin = sending.payloads[0].length === 0 && this.#connections.canReconnect;
    for (;;) {
      try {
        const sent = await (mayJoin ? this.#sendOrWait(sending) : this.#send(sending));
        if (sent === "written") return;
        mayJoin = false;
        // A commit that a group has not written is sent alone, however often.
        if (sent === "left") continue;
        unanswered ||= sent === "unconfirmed";
        if (unanswered && (await this.#confirm(sending))) return;
        if (await this.#isFree(sending)) throw notWritten("append");
        throw commitConflict(sessionId, version, REFUSED);
      } catch (error) {
        mayJoin = false;
        unanswered ||= isLost(error) && !(error instanceof NotConnected);
        if (this.#retrier.mayRepeat(error) && (await backoff())) continue;
        // A PhasegateError comes from code that knows the outcome.
        throw unanswered && !isPhasegateError(error) ? outcomeUnknown(error) : asStorageFailure("append", error);
      }
    }
  }

  async settled(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#onSettled.push(resolve));
  }

  async #send({ values, payloads }: Sending): Promise<Sent> {
    try {
      const { result, waited } = await this.#write(this.#statements.append([...values, ...payloads]));
      return result.rowCount !== 1 ? "refused" : waited ? "written" : "unconfirmed";
    } catch (error) {
      if (isDuplicate(error)) return "refused";
      throw isNotWritten(error) ? notWritten("append") : error;
    }
  }

  #write<Row extends Record<string, unknown>>(query: PgQuery) {
    return this.#connections.use((client) => withStandby(client, () => client.query<Row>(query)));
  }

  /** Returns `left` if a group has not written it. Throws as a commit alone does; after `isLost` it may be written. */
  #sendOrWait(sending: Sending): Promise<Sent> {
    if (this.#underWay < UNDER_WAY_MAX) return this.#underWayWith(1, () => this.#send(sending));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...sending, resolve, reject });
    });
  }

  async #underWayWith<T>(commits: number, send: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    this.#sent += commits;
    try {
      return await send();
    } finally {
      this.#underWay -= 1;
      this.#sent -= commits;
      if (this.#waiting.length > 0) this.#sendNext();
      if (this.#underWay === 0) for (const settle of this.#onSettled.splice(0)) settle();
    }
  }

  #sendNext(): void {
    const share = Math.ceil((this.#sent + this.#waiting.length) / UNDER_WAY_MAX);
    const [group, left] = takeGroup(this.#waiting, Math.min(COMMITS_MAX, Math.max(FEW, share)), CHARACTERS_MAX);
    this.#waiting = left;
    const [first, ...others] = group;
    if (first === undefined) return;
    if (others.length > 0) void this.#underWayWith(group.length, () => this.#sendGroup(group));
    else this.#underWayWith(1, () => this.#send(first)).then(first.resolve, first.reject);
  }

  async #sendGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const columns = group[0]?.values.map((_, index) => group.map(({ values }) => values[index] ?? null)) ?? [];
      const { result, waited } = await this.#write<{ session_id: SessionId }>(this.#statements.appendAll(columns));
      const written = new Set(result.rows.map(({ session_id }) => session_id));
      for (const { sessionId, resolve } of group) {
        resolve(!written.has(sessionId) ? "left" : waited ? "written" : "unconfirmed");
      }
    } catch (error) {
      // A refused group is rolled back. The reason may be another commit of it.
      for (const { resolve, reject } of group) isAnswered(error) ? resolve("left") : reject(error);
    }
    // The callers go on in this turn: their next commits go together again.
    await endOfTurn();
  }

  /** Returns true if the commit exists and is as durable as an acknowledged append. */
  async #confirm({ sessionId, version, hash }: Sending): Promise<boolean> {
    const { result, waited } = await this.#write(this.#statements.confirm([sessionId, version, encodeText(hash)]));
    const [found] = result.rows;
    if (found !== undefined && !(waited && found.done === true)) throw new NotReplicated();
    return found !== undefined;
  }

  /** Returns true if a commit was refused although no other writer was first: a trigger has dropped the session's row. */
  async #isFree({ sessionId, version, previousHash }: Sending): Promise<boolean> {
    type Row = { version: string; hash: string; removed: boolean };
    const query = this.#statements.state([sessionId]);
    const [row] = (await this.#connections.use((client) => client.query<Row>(query))).rows;
    if (row === undefined) return version === 1;
    return !row.removed && Number(row.version) === version - 1 && decodeText(row.hash) === previousHash;
  }
}

function sendingOf(commit: Commit): Sending {
  const { sessionId, version, previousHash, hash, body, payloads = [] } = commit;
  const texts = (part: "hash" | "body") => payloads.map((payload) => encodeText(payload[part]));
  const values = valuesOf(commit);
  const copied = [texts("hash"), texts("body")] as const;
  return { sessionId, version, previousHash, hash, characters: body.length, payloads: copied, values };
}

/** Refuses a commit that the tables, or the views on them, cannot represent. Throws `INVALID_INPUT` and `TOO_LARGE`. */
export function checkRowCommit(commit: Commit, maxBytes: number): void {
  const { schema, at, hash, summary } = commit;
  // An empty one is that of a removed session.
  if (hash === "") throw invalidCommit("hash", hash);
  if (!Number.isInteger(schema) || Math.abs(schema) >= 2 ** 31) throw invalidCommit("schema", schema);
  for (const [field, time = at] of Object.entries({
    at,
    updatedAt: summary.updatedAt,
    completedAt: summary.completedAt,
  })) {
    if (!isIsoTime(time)) throw invalidCommit(field, time);
  }
  checkCommit(commit, maxBytes);
}

/** The emptied row keeps the id reserved. A tombstone commit tells watches for an hour; old ones are deleted. */
export async function removeSession(retrier: Retrier, schema: string, id: SessionId): Promise<void> {
  const s = `"${schema}"`;
  const remove = (client: PgClient) =>
    inTransaction(client, async () => {
      await emptySession(client, s, id);
      // SKIP LOCKED: concurrent sweeps must not wait for each other.
      await client.query({
        text: `WITH due AS (SELECT session_id FROM ${s}.sessions WHERE sweep_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED),
            swept AS (UPDATE ${s}.sessions SET sweep_at = NULL FROM due WHERE sessions.session_id = due.session_id)
            DELETE FROM ${s}.commits USING due WHERE commits.session_id = due.session_id`,
      });
    });
  await retrier.repeatable("remove", (client) => replicated(client, () => remove(client)));
}

// Separate statements: each sees everything committed before it, including the commit of the row's previous lock holder.
async function emptySession(client: PgClient, s: string, id: SessionId): Promise<void> {
  const query = (text: string, ...values: unknown[]) =>
    client.query<{ version: string }>({ text, values: [id, ...values] });
  const locking = `SELECT version FROM ${s}.sessions WHERE session_id = $1 AND removed_at IS NULL FOR UPDATE`;
  const [newest] = (await query(locking)).rows;
  if (newest === undefined) {
    // A first attempt without an answer may have removed it. This write is acknowledged once a standby has that too.
    await query(`UPDATE ${s}.sessions SET version = version WHERE session_id = $1`);
    return;
  }
  const others = "session_id = $1 AND NOT (version = $2 AND status = 'deleted')";
  await query(`DELETE FROM ${s}.commits WHERE ${others}`, newest.version);
  await query(`DELETE FROM ${s}.payloads WHERE session_id = $1`);
  // A trigger may keep rows silently, so the session is marked as removed only if they are gone.
  const { rowCount } = await query(
    `UPDATE ${s}.sessions SET hash = '', status = 'deleted', kind = '', workflow_type = '', target = '', owner = '',
      current_step = '', removed_at = now(), removed_xid = pg_current_xact_id(), sweep_at = now() + interval '1 hour'
      WHERE session_id = $1 AND NOT EXISTS (SELECT FROM ${s}.commits WHERE ${others})
      AND NOT EXISTS (SELECT FROM ${s}.payloads WHERE session_id = $1)`,
    newest.version,
  );
  if (rowCount !== 1) throw notWritten("remove");
}
