import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { checkCommit, invalidCommit, isIsoTime } from "../common/session-query.js";
import { type Asking, type Connections, withStandby } from "./connections.js";
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
} from "./failures.js";
import type { PgQuery } from "./options.js";
import { decodeText, encodeText, type Statements, valuesOf } from "./rows.js";

/** What came of a commit that was sent: `unconfirmed` where the server did not wait for its standbys. */
type Sent = "written" | "unconfirmed" | "refused";

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
  #isCounting: boolean;

  /** `isCounting`: whether the tables have triggers of somebody else's, which can drop rows. */
  constructor(connections: Connections, asking: Asking, statements: Statements, isCounting: boolean) {
    this.#connections = connections;
    this.#asking = asking;
    this.#statements = statements;
    this.#isCounting = isCounting;
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
        if (await this.#wasDropped(commit)) throw notWritten("append");
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
        withStandby(client, () => client.query(query)),
      );
      if (result.rowCount !== 1) return "refused";
      return waited ? "written" : "unconfirmed";
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

  /**
   * Whether a commit was refused though nobody else was first: a trigger has dropped a row. From then on rows are counted.
   * Where it has dropped the commit alone, the session's row is taken back to the commit before it.
   */
  async #wasDropped({ sessionId, version, previousHash, hash }: Commit): Promise<boolean> {
    type Row = { version: string; hash: string; removed: boolean };
    const { standing, undo, undoBegin } = this.#statements;
    const { rows } = await this.#connections.use((client) => client.query<Row>(standing([sessionId])));
    const [row] = rows;
    const at = { version: Number(row?.version ?? 0), hash: decodeText(row?.hash ?? "") };
    const isFree = at.version === version - 1 && at.hash === previousHash && row?.removed !== true;
    if (isFree) this.#isCounting = true;
    if (isFree || at.version !== version || at.hash !== hash) return isFree;
    const values = [sessionId, version, encodeText(hash)];
    const undone = await this.#connections.use((client) => client.query((version === 1 ? undoBegin : undo)(values)));
    this.#isCounting ||= undone.rowCount === 1;
    return undone.rowCount === 1;
  }

  #statement(commit: Commit): PgQuery {
    const { begin, beginCounted, beginWithPayloads, follow, followCounted, followWithPayloads } = this.#statements;
    const { version, payloads = [] } = commit;
    if (payloads.length === 0) {
      const [first, next] = this.#isCounting ? [beginCounted, followCounted] : [begin, follow];
      return (version === 1 ? first : next)(valuesOf(commit));
    }
    const texts = [payloads.map(({ hash }) => encodeText(hash)), payloads.map(({ body }) => encodeText(body))];
    return (version === 1 ? beginWithPayloads : followWithPayloads)([...valuesOf(commit), ...texts]);
  }
}

/** Refuses a commit that the tables, or the views over them, could not show. */
export function checkRowCommit(commit: Commit, maxBytes: number): void {
  const { schema, at, summary } = commit;
  if (!Number.isInteger(schema) || Math.abs(schema) >= 2 ** 31) throw invalidCommit("schema", schema);
  if (!isIsoTime(at)) throw invalidCommit("at", at);
  const { updatedAt, completedAt } = summary;
  // Most are the time of the commit itself.
  if (updatedAt !== at && !isIsoTime(updatedAt)) throw invalidCommit("updatedAt", updatedAt);
  if (completedAt !== undefined && completedAt !== at && !isIsoTime(completedAt)) {
    throw invalidCommit("completedAt", completedAt);
  }
  checkCommit(commit, maxBytes);
}
