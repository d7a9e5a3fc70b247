import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { Asking } from "./asking.js";
import { valuesOf } from "./commit-row.js";
import type { Connections } from "./connections.js";
import { decodeText, encodeText } from "./encode-text.js";
import { asStorageFailure, conflict, isDuplicate, isLost, NotConnected, outcomeUnknown } from "./pg-failure.js";
import type { PgQuery } from "./pg-types.js";
import type { Statements } from "./statements.js";

/**
 * Compare-and-set in one round trip. A commit that was sent and not answered is sent again: the hash that it follows lets
 * it in once at most. If it is refused then, the hash that stands at its version tells whether the first one was done.
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
        if (await this.#send(commit)) return;
        if (unanswered && (await this.#stands(commit))) return;
        throw conflict(sessionId, version);
      } catch (error) {
        unanswered ||= isLost(error) && !(error instanceof NotConnected);
        if (this.#asking.mayRepeat(error) && (await patience.another())) continue;
        throw unanswered && !isPhasegateError(error, "CONFLICT")
          ? outcomeUnknown(error)
          : asStorageFailure("append", error);
      }
    }
  }

  /** Whether the commit was written: not if another one came first. */
  async #send(commit: Commit): Promise<boolean> {
    const query = this.#statement(commit);
    try {
      const { rowCount } = await this.#connections.use((client) => client.query(query));
      return rowCount === 1;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  async #stands({ sessionId, version, hash }: Commit): Promise<boolean> {
    const query = this.#statements.hashAt([sessionId, version]);
    const { rows } = await this.#connections.use((client) => client.query<{ hash: string }>(query));
    return rows[0] !== undefined && decodeText(rows[0].hash) === hash;
  }

  #statement(commit: Commit): PgQuery {
    const { begin, beginWithPayloads, follow, followWithPayloads } = this.#statements;
    const { version, payloads = [] } = commit;
    if (payloads.length === 0) return (version === 1 ? begin : follow)(valuesOf(commit));
    const texts = [payloads.map(({ hash }) => encodeText(hash)), payloads.map(({ body }) => encodeText(body))];
    return (version === 1 ? beginWithPayloads : followWithPayloads)([...valuesOf(commit), ...texts]);
  }
}
