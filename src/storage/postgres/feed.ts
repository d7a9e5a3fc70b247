/**
 * Reads one session's log, and the commits of all in the order in which they became visible: by transaction snapshots,
 * because the ids of concurrent transactions are not in that order.
 */
import type { Changes, Commit } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { ifSound } from "../common/failures.js";
import { foreignPosition } from "../common/session-query.js";
import type { Retrier } from "./connections.js";
import type { PgQuery } from "./options.js";
import { COMMIT_COLUMNS, type CommitRow, commitOf, encodeText, type Statements } from "./rows.js";

interface FeedRow extends CommitRow {
  readonly until: string;
  readonly known: boolean;
  readonly xid: string;
}

/** A row of a page. Without any commit, there is one with the snapshot alone. */
type FoundRow = FeedRow | (Pick<FeedRow, "until" | "known"> & { readonly xid: null } & Record<string, unknown>);

interface Seen {
  readonly xid: string;
  readonly session: string;
  readonly hash: string;
}

/** The position of a reader of all commits. */
export interface FeedPosition {
  /** The server's snapshot as text (`xmin:xmax:running`). A commit that is visible now, and was not in it, is new. */
  readonly snapshot: string;
  /** The commit with the newest transaction of those that were read and are there. */
  readonly newest?: Seen;
  /** What was read last, so that it is not yielded again. */
  readonly seen: readonly Seen[];
}

const PAGE = 100;
/** Limits how many of the newest commits a position remembers. */
const SEEN_MAX = 1000;

/** A standby's snapshot does not list the transactions in progress, so it ends before the oldest of them. */
const SNAPSHOT = `CASE WHEN pg_is_in_recovery()
  THEN concat(pg_snapshot_xmin(pg_current_snapshot()), ':', pg_snapshot_xmin(pg_current_snapshot()), ':')
  ELSE pg_current_snapshot()::text END AS snapshot`;

/** The snapshot of now, and the newest commit or removal in it, if there is one. */
type LastRow = {
  readonly snapshot: string;
  readonly xid: string | null;
  readonly session: string;
  readonly hash: string;
};

const LAST_COLUMNS = "now.snapshot, last.xid, last.session, last.hash";

function lastIn(schema: string, others?: string): string {
  const newest = (from: string) => `(SELECT xid, session_id, hash FROM ${from} c ORDER BY c.xid DESC LIMIT 1)`;
  const all = others === undefined ? "" : ` UNION ALL ${newest(`(${others})`)} ORDER BY xid DESC LIMIT 1`;
  return `(SELECT ${SNAPSHOT}) now LEFT JOIN (SELECT xid::text, session_id AS session, hash
    FROM (${newest(`${schema}.commits`)}${all}) newest) last ON true`;
}

function positionOf(row: LastRow | undefined): FeedPosition {
  const { snapshot = "", xid = null, session = "", hash = "" } = row ?? {};
  if (xid === null) return { snapshot: positionAfter(snapshot, "0"), seen: [] };
  const newest = { xid, session, hash };
  return { snapshot: positionAfter(snapshot, xid), newest, seen: [newest] };
}

/** Writes a position as the text that hosts keep: the snapshot, and the transaction, hash and session of the newest commit. */
function positionText({ snapshot, newest }: FeedPosition): string {
  return newest === undefined ? snapshot : [snapshot, newest.xid, newest.hash, newest.session].join(" ");
}

// The server takes all numbers of up to 18 digits.
const POSITION = /^(\d{1,18}:\d{1,18}:[\d,]*)(?: (\d{1,18}) (\w*) (\S+))?$/;

/** Returns the snapshot, transaction, hash and session in a text of {@link positionText}. Throws `CURSOR_INVALID` for any other. */
function positionValues(text: string): (string | null)[] {
  const [, snapshot, ...newest] = POSITION.exec(text) ?? [];
  if (snapshot === undefined || !isSnapshot(snapshot)) throw foreignPosition(text);
  return [snapshot, ...newest.map((part) => part ?? null)];
}

/**
 * Reads everything committed since a position, each commit once, in order within a session.
 *
 * A primary that dies may show commits for a moment that its standby does not get, and the promoted standby gives their
 * transactions' numbers to other commits. So each page is read only if the newest commit that was seen is still there;
 * otherwise it is read from the newest one that is.
 */
export class CommitFeed {
  readonly #retrier: Retrier;
  readonly #schema: string;

  constructor(retrier: Retrier, schema: string) {
    this.#retrier = retrier;
    this.#schema = `"${schema}"`;
  }

  async now(): Promise<FeedPosition> {
    const text = `SELECT ${LAST_COLUMNS} FROM ${lastIn(this.#schema)}`;
    const [row] = await this.#retrier.rows<LastRow>("watch", { text });
    return positionOf(row);
  }

  /**
   * Returns the sessions of a kind with commits since a position, and the removed ones; without a position, all of the
   * kind. One statement: a second one could reach a server that does not have what the first one saw.
   */
  async changes(kind: string, since?: string): Promise<Changes> {
    type Row = LastRow & { readonly known: boolean; readonly ids: readonly string[] };
    const s = this.#schema;
    const living = `SELECT session_id FROM ${s}.sessions WHERE kind = $1 AND removed_at IS NULL`;
    const removals = `SELECT removed_xid AS xid, session_id, '' AS hash FROM ${s}.sessions WHERE removed_xid IS NOT NULL`;
    const isNew = "xid >= pg_snapshot_xmin($2::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $2::pg_snapshot)";
    const changed = `${living} AND session_id IN (SELECT session_id FROM ${s}.commits WHERE ${isNew})
      UNION ALL SELECT session_id FROM (${removals}) removed WHERE ${isNew}`;
    // The newest commit may have been removed with its session. If neither is there, the server has lost both.
    const known = `$3::text IS NULL
      OR EXISTS (SELECT FROM ${s}.commits WHERE xid = $3::text::xid8 AND hash = $4 AND session_id = $5)
      OR EXISTS (SELECT FROM ${s}.sessions WHERE session_id = $5 AND removed_xid >= $3::text::xid8)`;
    const [isKnown, ids] = since === undefined ? ["true", living] : [known, changed];
    const text = `SELECT ${LAST_COLUMNS}, ${isKnown} AS known,
      (SELECT coalesce(json_agg(session_id), '[]') FROM (${ids}) found) AS ids FROM ${lastIn(s, removals)}`;
    const values = [encodeText(kind), ...(since === undefined ? [] : positionValues(since))];
    const [row] = await this.#retrier.rows<Row>("list", { text, values });
    if (row?.known !== true) throw foreignPosition(since ?? "");
    return { sessionIds: row.ids.filter(isSessionId), position: positionText(positionOf(row)) };
  }

  /** Yields the commits since a position in pages, each with the position after it. */
  async *since(from: FeedPosition): AsyncGenerator<{ readonly commits: readonly Commit[]; readonly to: FeedPosition }> {
    let position = from;
    let [full, isBack] = [true, false];
    while (full) {
      const found = await this.#retrier.rows<FoundRow>("watch", this.#page(position));
      if (found[0]?.known === false) {
        // Asked again at once only once: connections may reach two servers in turn.
        if (isBack) return;
        isBack = true;
        position = await this.#withoutLost(position);
        continue;
      }
      const rows = found.filter((row): row is FeedRow => row.xid !== null);
      full = rows.length >= PAGE;
      const before = new Set(position.seen.map(nameOf));
      const commits = rows
        .filter((row) => !before.has(nameOf(seenIn(row))))
        .flatMap((row) => ifSound(() => commitOf(row)));
      position = positionWith(position, rows, found[0]?.until ?? position.snapshot, full);
      yield { commits, to: position };
    }
  }

  /**
   * Returns the statement for a page, which also takes the snapshot that it ends with, and says if the newest commit that was
   * seen is still there. It is one statement because two could reach different servers, if the primary fails in between.
   *
   * A session's next commit starts after the previous one is done, so transaction order is also its commit order. A page
   * ends with a whole transaction.
   */
  #page({ snapshot, newest }: FeedPosition): PgQuery {
    const commits = `${this.#schema}.commits`;
    return {
      text: `SELECT now.snapshot AS until, now.known, page.* FROM (SELECT ${SNAPSHOT},
          $2::text IS NULL OR EXISTS (SELECT FROM ${commits} WHERE xid = $2::text::xid8 AND hash = $3) AS known) now
        LEFT JOIN LATERAL (SELECT ${COMMIT_COLUMNS}, c.xid FROM ${commits} c
          WHERE c.xid >= pg_snapshot_xmin($1::pg_snapshot) AND c.xid < pg_snapshot_xmax(now.snapshot::pg_snapshot)
            AND NOT pg_visible_in_snapshot(c.xid, $1::pg_snapshot)
            AND pg_visible_in_snapshot(c.xid, now.snapshot::pg_snapshot)
          ORDER BY c.xid FETCH FIRST ${PAGE} ROWS WITH TIES) page ON now.known
        ORDER BY page.xid, page.session_id, page.version`,
      values: [snapshot, newest?.xid ?? null, newest?.hash ?? null],
    };
  }

  /** Returns the position after the newest commit that is still there, of those that were seen. */
  async #withoutLost({ snapshot, seen }: FeedPosition): Promise<FeedPosition> {
    const text = `SELECT xid::text, session_id AS session, hash FROM ${this.#schema}.commits
      WHERE xid = ANY($1::text[]::xid8[])`;
    const rows = await this.#retrier.rows<Seen & Record<string, string>>("watch", {
      text,
      values: [seen.map(({ xid }) => xid)],
    });
    const there = new Set(rows.map((row) => `${row.xid} ${nameOf(row)}`));
    const kept = seen.filter((one) => there.has(`${one.xid} ${nameOf(one)}`));
    const newest = newestOf(kept);
    const first = seen.reduce(
      (least, { xid }) => (BigInt(xid) < least ? BigInt(xid) : least),
      BigInt(seen[0]?.xid ?? 1),
    );
    const to = { snapshot: positionAfter(snapshot, newest?.xid ?? String(first - 1n)), seen };
    return newest === undefined ? to : { ...to, newest };
  }
}

function seenIn({ xid, session_id, hash }: FeedRow): Seen {
  return { xid, session: session_id, hash };
}

/** Returns what tells a commit from all others: sessions with the same commits may have the same hashes. */
function nameOf({ session, hash }: Omit<Seen, "xid">): string {
  return `${session} ${hash}`;
}

function newestOf(seen: readonly Seen[]): Seen | undefined {
  return seen.reduce<Seen | undefined>(
    (newest, one) => (newest === undefined || BigInt(one.xid) >= BigInt(newest.xid) ? one : newest),
    undefined,
  );
}

/** Returns the position after a page that was read from another position; `full` if there may be more in its snapshot. */
function positionWith(from: FeedPosition, rows: readonly FeedRow[], until: string, full: boolean): FeedPosition {
  const read = rows.map(seenIn);
  const last = from.newest === undefined ? read : [from.newest, ...read];
  const newest = newestOf(last);
  if (newest === undefined) return from;
  const end = full ? (read.at(-1)?.xid ?? newest.xid) : newest.xid;
  const snapshot = snapshotUpTo(from.snapshot, until, end);
  return { snapshot, newest, seen: [...from.seen, ...read].slice(-SEEN_MAX) };
}

/** The commits of the first page, and the most commits and characters of a later one, by the lengths in the page before. */
const [FIRST_PAGE, LONGEST_PAGE, PAGE_LENGTH] = [16, 500, 4_000_000];

/** Yields a session's commits in order, in pages, so that neither long logs nor large commits fill the memory. */
export async function* readLog(
  retrier: Retrier,
  { log }: Statements,
  id: SessionId,
  { after = 0, limit = Number.POSITIVE_INFINITY }: { readonly after?: number; readonly limit?: number },
): AsyncGenerator<Commit> {
  let [position, left, wanted] = [after, limit, FIRST_PAGE];
  while (left > 0) {
    const page = Math.min(wanted, left);
    const rows = await retrier.rows<CommitRow>("read", log([id, position, page]));
    for (const row of rows) yield commitOf(row);
    if (rows.length < page) return;
    position = Number(rows.at(-1)?.version);
    left -= rows.length;
    const length = rows.reduce((sum, { body, summary }) => sum + body.length + summary.length, 1);
    wanted = Math.max(1, Math.min(LONGEST_PAGE, Math.floor((PAGE_LENGTH * rows.length) / length)));
  }
}

/** A snapshot of the server, read from its text. Every transaction below `high` is visible, but those that were under way. */
interface Snapshot {
  readonly high: bigint;
  readonly underWay: readonly bigint[];
}

function readSnapshot(text: string): Snapshot {
  const [, high = "", list = ""] = text.split(":");
  return { high: BigInt(high), underWay: list.split(",").filter(Boolean).map(BigInt) };
}

function snapshotText({ high, underWay }: Snapshot): string {
  return `${underWay[0] ?? high}:${high}:${underWay.join(",")}`;
}

/**
 * Cuts a snapshot off after the last commit that was seen. A later id may be of a transaction that left no trace on the
 * disk: after a crash the server assigns it again, perhaps to a commit.
 */
export function positionAfter(snapshot: string, lastSeen: string): string {
  const end = BigInt(lastSeen) + 1n;
  const { high, underWay } = readSnapshot(snapshot);
  return snapshotText({ high: high < end ? high : end, underWay: underWay.filter((xid) => xid < end) });
}

/** Returns true for a text of {@link snapshotText}: the server refuses others. */
function isSnapshot(text: string): boolean {
  const snapshot = readSnapshot(text);
  const numbers = [0n, ...snapshot.underWay, snapshot.high];
  return snapshotText(snapshot) === text && numbers.every((xid, index) => xid > (numbers[index - 1] ?? -1n));
}

/** Returns the snapshot in which everything is visible that one shows, and what a later one shows up to a transaction. */
function snapshotUpTo(earlier: string, later: string, last: string): string {
  const [before, now, end] = [readSnapshot(earlier), readSnapshot(later), BigInt(last)];
  const high = before.high > end ? before.high : end + 1n;
  const underWay = [...now.underWay.filter((xid) => xid <= end), ...before.underWay.filter((xid) => xid > end)];
  return snapshotText({ high, underWay });
}
