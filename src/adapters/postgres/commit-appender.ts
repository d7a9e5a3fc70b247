import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { Asking } from "./asking.js";
import { valuesOf } from "./commit-row.js";
import type { Connections } from "./connections.js";
import { decodeText, encodeText } from "./encode-text.js";
import { withStandby } from "./hear-client.js";
import {
  asStorageFailure,
  conflict,
  isDuplicate,
  isLost,
  isNotWritten,
  NotConnected,
  NotReplicated,
  notWritten,
  outcomeUnknown,
} from "./pg-failure.js";
import type { PgQuery } from "./pg-types.js";
import type { Statements } from "./statements.js";

/**
 * What came of a commit that was sent: `unconfirmed` where the server did not wait for its standbys, `ignored` where it
 * was not written though the session looked free for it.
 */
type Sent = "written" | "unconfirmed" | "ignored" | "refused";

/**
 * Compare-and-set in one round trip. A commit that was sent and not answered is sent again: the hash that it follows lets
 * it in once at most. If it is refused then, a write that succeeds only where the commit is there tells whether the first
 * one was done. It must be a write: what a read finds may stand on this server alone, and be lost with it, while the server
 * answers a write once its standbys have it, and with it all that was written before.
 */
export class CommitAppender {
  readonly #connections: Connections;
  readonly #asking: Asking;
  readonly #statements: Statements;

  constructor(connections: Connections, asking: Asking, statements: Statements) {
    this.#connections = connections;
    this.#asking = asking;
    this.#statements = statements;
  }

  /** Throws `CONFLICT`, or `STORAGE_FAILED`, with `outcome: "unknown"` if it may be there. */
  async append(commit: Commit): Promise<void> {
    const { sessionId, version } = commit;
    if ((commit.previousHash === "") !== (version === 1)) throw conflict(sessionId, version);
    const patience = this.#asking.patience();
    let unanswered = false;
    for (;;) {
      try {
        const sent = await this.#send(commit);
        if (sent === "written") return;
        unanswered ||= sent === "unconfirmed";
        if (unanswered && (await this.#confirm(commit))) return;
        if (sent === "ignored" && (await this.#isFree(commit))) throw notWritten("append");
        throw conflict(sessionId, version);
      } catch (error) {
        unanswered ||= isLost(error) && !(error instanceof NotConnected);
        if (this.#asking.mayRepeat(error) && (await patience.another())) continue;
        // An error of ours is one that knows what became of the commit.
        throw unanswered && !isPhasegateError(error) ? outcomeUnknown(error) : asStorageFailure("append", error);
      }
    }
  }

  async #send(commit: Commit): Promise<Sent> {
    const query = this.#statement(commit);
    try {
      const { result, waited } = await this.#connections.use((client) =>
        withStandby(client, () => client.query<{ written: number }>(query)),
      );
      const [row] = result.rows;
      if (row?.written === 1) return waited ? "written" : "unconfirmed";
      return row === undefined ? "refused" : "ignored";
    } catch (error) {
      if (isDuplicate(error)) return "refused";
      if (isNotWritten(error)) throw notWritten("append");
      throw error;
    }
  }

  /** Whether the commit is there, and as durable as an append that was answered. */
  async #confirm({ sessionId, version, hash }: Commit): Promise<boolean> {
    const values = [sessionId, version, encodeText(hash)];
    const { confirm, has } = this.#statements;
    const { result, waited } = await this.#connections.use((client) =>
      withStandby(client, () => client.query(confirm(values))),
    );
    if (result.rows.length === 1) {
      if (waited) return true;
      throw new NotReplicated();
    }
    // A trigger may have dropped the write, and the commit be there all the same.
    const found = await this.#connections.use((client) => client.query(has(values)));
    if (found.rows.length === 1) throw new NotReplicated();
    return false;
  }

  /** Whether the session still is where the commit follows: then nobody else was first, and the write was dropped. */
  async #isFree({ sessionId, version, previousHash }: Commit): Promise<boolean> {
    type Row = { version: string; hash: string; removed: boolean };
    const query = this.#statements.standing([sessionId]);
    const { rows } = await this.#connections.use((client) => client.query<Row>(query));
    const [row] = rows;
    if (row === undefined) return version === 1;
    return !row.removed && Number(row.version) === version - 1 && decodeText(row.hash) === previousHash;
  }

  #statement(commit: Commit): PgQuery {
    const { begin, beginWithPayloads, follow, followWithPayloads } = this.#statements;
    const { version, payloads = [] } = commit;
    if (payloads.length === 0) return (version === 1 ? begin : follow)(valuesOf(commit));
    const texts = [payloads.map(({ hash }) => encodeText(hash)), payloads.map(({ body }) => encodeText(body))];
    return (version === 1 ? beginWithPayloads : followWithPayloads)([...valuesOf(commit), ...texts]);
  }
}
