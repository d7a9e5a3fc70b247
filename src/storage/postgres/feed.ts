import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { Asking } from "./retry.js";
import { COMMIT_COLUMNS, type CommitRow, commitOf, type Statements } from "./rows.js";
import type { PgQuery } from "./types.js";

interface FeedRow extends CommitRow {
  readonly xid: string;
}

/** How far a reader of all commits has come. */
export interface FeedPosition {
  /** See log-position.ts. */
  readonly snapshot: string;
  /** The newest transaction that a commit was seen of. */
  readonly lastSeen: string;
  /** In the middle of what is new: up to which snapshot, and behind which commit. */
  readonly within?: { readonly until: string; readonly after: FeedPlace };
}

type FeedPlace = Pick<FeedRow, "xid" | "session_id" | "version">;

const PAGE = 100;
const BEGINNING: FeedPlace = { xid: "0", session_id: "", version: "0" };

/** Reads what has been committed since a position, by anybody, each commit once and a session's in their order. */
export class CommitFeed {
  readonly #asking: Asking;
  readonly #schema: string;

  constructor(asking: Asking, schema: string) {
    this.#asking = asking;
    this.#schema = `"${schema}"`;
  }

  /** The position behind all that is committed. */
  async now(): Promise<FeedPosition> {
    const text = `SELECT pg_current_snapshot()::text AS snapshot,
      coalesce((SELECT xid::text FROM ${this.#schema}.commits ORDER BY xid DESC LIMIT 1), '0') AS last`;
    const rows = await this.#asking.rows<{ snapshot: string; last: string }>("watch", { text });
    const { snapshot = "", last = "" } = rows[0] ?? {};
    return { snapshot: positionAfter(snapshot, last), lastSeen: last };
  }

  /** The commits since a position in pages, each with the position behind it. */
  async *since(from: FeedPosition): AsyncGenerator<{ readonly commits: readonly Commit[]; readonly to: FeedPosition }> {
    // All is read that this snapshot shows: what comes meanwhile is for the next time.
    const until = from.within?.until ?? (await this.#snapshot());
    let { lastSeen } = from;
    let after = from.within?.after ?? BEGINNING;
    for (let full = true; full; ) {
      const rows = await this.#asking.rows<FeedRow>("watch", this.#page(from.snapshot, until, after));
      full = rows.length === PAGE;
      after = rows.at(-1) ?? after;
      if (BigInt(after.xid) > BigInt(lastSeen)) lastSeen = after.xid;
      const { snapshot } = from;
      const behind = { snapshot: positionAfter(until, lastSeen), lastSeen };
      yield { commits: rows.map(commitOf), to: full ? { snapshot, lastSeen, within: { until, after } } : behind };
    }
  }

  async #snapshot(): Promise<string> {
    const text = "SELECT pg_current_snapshot()::text AS snapshot";
    const [now] = await this.#asking.rows<{ snapshot: string }>("watch", { text });
    return now?.snapshot ?? "";
  }

  // A session's next commit is begun when the one before it is done: the order of transactions is theirs, too.
  #page(from: string, until: string, after: FeedPlace): PgQuery {
    return {
      text: `SELECT ${COMMIT_COLUMNS}, c.xid::text AS xid FROM ${this.#schema}.commits c
        WHERE c.xid >= pg_snapshot_xmin($1::pg_snapshot) AND c.xid < pg_snapshot_xmax($2::pg_snapshot)
          AND NOT pg_visible_in_snapshot(c.xid, $1::pg_snapshot) AND pg_visible_in_snapshot(c.xid, $2::pg_snapshot)
          AND (c.xid, c.session_id, c.version) > ($3::xid8, $4, $5)
        ORDER BY c.xid, c.session_id, c.version LIMIT ${PAGE}`,
      values: [from, until, after.xid, after.session_id, after.version],
    };
  }
}

const FIRST_PAGE = 16;
const LONGEST_PAGE = 500;
/** About so many characters are fetched at once, where commits are as long as those before. */
const PAGE_LENGTH = 4_000_000;

/** Reads commits in their order, in pages, so that neither a long log nor large commits fill the memory. */
export async function* readLog(
  asking: Asking,
  { log }: Statements,
  id: SessionId,
  { after = 0, limit = Number.POSITIVE_INFINITY }: { readonly after?: number; readonly limit?: number },
): AsyncGenerator<Commit> {
  let [position, left, wanted] = [after, limit, FIRST_PAGE];
  while (left > 0) {
    const page = Math.min(wanted, left);
    const rows = await asking.rows<CommitRow>("read", log([id, position, page]));
    for (const row of rows) yield commitOf(row);
    if (rows.length < page) return;
    position = Number(rows.at(-1)?.version);
    left -= rows.length;
    wanted = nextPage(rows);
  }
}

/** How many commits the next page may hold. */
function nextPage(rows: readonly CommitRow[]): number {
  const length = rows.reduce((sum, { body, summary }) => sum + body.length + summary.length, 0);
  const fitting = Math.floor((PAGE_LENGTH * rows.length) / Math.max(length, 1));
  return Math.max(1, Math.min(LONGEST_PAGE, fitting));
}

/**
 * How far a reader has come in commits that many transactions make at once, whose numbers don't come in the order in
 * which they are done. A position is a snapshot of the server's, as text (`xmin:xmax:those under way`): what is visible
 * now and wasn't in that snapshot is new, each commit once.
 */

/**
 * The snapshot, cut off behind the last commit that was seen. A number behind it may have been given to something that
 * left no trace on the disk; after a crash the server gives it out again, and this time it may be a commit's.
 */
export function positionAfter(snapshot: string, lastSeen: string): string {
  const [low = "", high = "", list = ""] = snapshot.split(":");
  const end = BigInt(lastSeen) + 1n;
  if (end >= BigInt(high)) return snapshot;
  const underWay = list.split(",").filter((number) => number !== "" && BigInt(number) < end);
  const begin = BigInt(low) < end ? low : end;
  return `${begin}:${end}:${underWay.join(",")}`;
}
