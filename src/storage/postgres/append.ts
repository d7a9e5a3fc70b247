/**
 * Appends commits: compare-and-set in one round trip. A commit whose answer was lost is sent again; the previous hash
 * admits it at most once. If it is refused then, a write that succeeds only if the commit exists tells whether the
 * first attempt succeeded. It must be a write: a read may find data that exists on this server only, while the server
 * acknowledges a write when its standbys have it, and everything before it.
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { checkCommit, commitConflict, invalidCommit, isIsoTime } from "../common/session-query.js";
import { type Connections, type Retrier, withStandby } from "./connections.js";
import {
  asStorageFailure,
  isDuplicate,
  isLost,
  isNotWritten,
  NotConnected,
  NotReplicated,
  notWritten,
  outcomeUnknown,
} from "./failures.js";
import { CommitGroups, type Outgoing, type Sent } from "./group.js";
import type { PgQuery } from "./options.js";
import { decodeText, encodeText, type Statements, valuesOf } from "./rows.js";

/** A commit on its way: a copy, since its caller may change it meanwhile. */
interface Sending extends Outgoing, Pick<Commit, "version" | "previousHash" | "hash"> {
  /** The hashes and the bodies of its payloads; undefined if it has none. */
  readonly payloads: readonly [string[], string[]] | undefined;
}

/** The reason of a conflict: the statement does not tell which of the two it is. */
const REFUSED = "it does not follow the newest version, or the session was removed";

/** Appends commits. */
export class CommitAppender {
  readonly #connections: Connections;
  readonly #retrier: Retrier;
  readonly #statements: Statements;
  readonly #groups: CommitGroups<Sending>;
  #isCounting: boolean;

  /** `isCounting` is true if the tables have foreign triggers, which can drop rows. */
  constructor(connections: Connections, retrier: Retrier, statements: Statements, isCounting: boolean) {
    this.#connections = connections;
    this.#retrier = retrier;
    this.#statements = statements;
    this.#groups = new CommitGroups(connections, statements.appendAll, (sending) => this.#send(sending));
    this.#isCounting = isCounting;
  }

  /** Appends a commit. Throws `CONFLICT`, or `STORAGE_FAILED`, with `outcome: "unknown"` if it may exist. */
  async append(commit: Commit): Promise<void> {
    const sending = sendingOf(commit);
    const { sessionId, version } = sending;
    if ((commit.previousHash === "") !== (version === 1)) throw commitConflict(sessionId, version, REFUSED);
    const backoff = this.#retrier.backoff();
    let unanswered = false;
    let mayJoin = this.#mayJoin(sending);
    const send = () => {
      if (!mayJoin) return this.#send(sending);
      // What a group has not written is sent alone, however often.
      mayJoin = false;
      return this.#groups.send(sending);
    };
    for (;;) {
      try {
        const sent = await send();
        if (sent === "left") continue;
        if (sent === "written") return;
        unanswered ||= sent === "unconfirmed";
        if (unanswered && (await this.#confirm(sending))) return;
        if (await this.#wasDropped(sending)) throw notWritten("append");
        throw commitConflict(sessionId, version, REFUSED);
      } catch (error) {
        unanswered ||= isLost(error) && !(error instanceof NotConnected);
        if (this.#retrier.mayRepeat(error) && (await backoff.wait())) continue;
        // A PhasegateError comes from code that knows the outcome.
        throw unanswered && !isPhasegateError(error) ? outcomeUnknown(error) : asStorageFailure("append", error);
      }
    }
  }

  /** Resolves when no commit waits for others any more. */
  async settled(): Promise<void> {
    await this.#groups.settled();
  }

  /** Returns true if a commit may be written together with others. On a host's own client, each has its own statement. */
  #mayJoin({ payloads }: Sending): boolean {
    return payloads === undefined && !this.#isCounting && this.#connections.canReconnect;
  }

  async #send(sending: Sending): Promise<Sent> {
    const query = this.#statement(sending);
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

  /** Returns true if the commit exists and is as durable as an acknowledged append. */
  async #confirm({ sessionId, version, hash }: Sending): Promise<boolean> {
    const values = [sessionId, version, encodeText(hash)];
    const { confirm, has } = this.#statements;
    const { result, waited } = await this.#connections.use((client) =>
      withStandby(client, () => client.query(confirm(values))),
    );
    if (result.rows.length === 1) {
      if (waited) return true;
      throw new NotReplicated();
    }
    // A trigger may have dropped the write although the commit exists.
    const found = await this.#connections.use((client) => client.query(has(values)));
    if (found.rows.length === 1) throw new NotReplicated();
    return false;
  }

  /**
   * Returns true if a commit was refused although no other writer was first, because a trigger dropped a row. From
   * then on rows are counted. If only the commit was dropped, the session's row is reset to the previous commit.
   */
  async #wasDropped({ sessionId, version, previousHash, hash }: Sending): Promise<boolean> {
    type Row = { version: string; hash: string; removed: boolean };
    const { state, undo, undoBegin } = this.#statements;
    const { rows } = await this.#connections.use((client) => client.query<Row>(state([sessionId])));
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

  #statement({ version, payloads, values }: Sending): PgQuery {
    const { begin, beginCounted, beginWithPayloads, follow, followCounted, followWithPayloads } = this.#statements;
    const isFirst = version === 1;
    if (payloads !== undefined) return (isFirst ? beginWithPayloads : followWithPayloads)([...values, ...payloads]);
    const [first, next] = this.#isCounting ? [beginCounted, followCounted] : [begin, follow];
    return (isFirst ? first : next)(values);
  }
}

function sendingOf(commit: Commit): Sending {
  const { sessionId, version, previousHash, hash, body, payloads = [] } = commit;
  const texts = (part: "hash" | "body") => payloads.map((payload) => encodeText(payload[part]));
  const copied = payloads.length === 0 ? undefined : ([texts("hash"), texts("body")] as const);
  const values = valuesOf(commit);
  return { sessionId, version, previousHash, hash, characters: body.length, payloads: copied, values };
}

/** Refuses a commit that the tables, or the views on them, cannot represent. Throws `INVALID_INPUT` and `TOO_LARGE`. */
export function checkRowCommit(commit: Commit, maxBytes: number): void {
  const { schema, at, summary } = commit;
  // An empty one is that of a removed session.
  if (commit.hash === "") throw invalidCommit("hash", commit.hash);
  if (!Number.isInteger(schema) || Math.abs(schema) >= 2 ** 31) throw invalidCommit("schema", schema);
  if (!isIsoTime(at)) throw invalidCommit("at", at);
  const { updatedAt, completedAt } = summary;
  // Most times equal the commit's own, which is checked already.
  if (updatedAt !== at && !isIsoTime(updatedAt)) throw invalidCommit("updatedAt", updatedAt);
  if (completedAt !== undefined && completedAt !== at && !isIsoTime(completedAt)) {
    throw invalidCommit("completedAt", completedAt);
  }
  checkCommit(commit, maxBytes);
}
