/**
 * Watches commits, and reads logs in pages. A notification only wakes a watch; what is new is found by comparing
 * transaction snapshots, because the ids of concurrent transactions are not in the order of their commits.
 */
import { randomUUID } from "node:crypto";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { matchesQuery } from "../common/session-query.js";
import type { Connections, Retrier } from "./connections.js";
import type { PgListeningClient, PgQuery } from "./options.js";
import { COMMIT_COLUMNS, type CommitRow, commitOf, type Statements } from "./rows.js";

/** The parts of a watch. */
interface WatchParts {
  readonly connections: Connections;
  /** Without retries: the watch repeats by itself. */
  readonly retrier: Retrier;
  readonly feed: CommitFeed;
  readonly schema: string;
  /** Polling interval in milliseconds. */
  readonly pollMs: number;
}

/** Yields commits from a position on until the signal aborts. */
export async function* watchCommits(
  parts: WatchParts,
  begun: Promise<FeedPosition>,
  query: SessionQuery,
  signal: AbortSignal,
): AsyncGenerator<Commit> {
  const timer = new WakeableTimer();
  const wake = () => timer.wake();
  signal.addEventListener("abort", wake);
  let listener: Listener | undefined;
  try {
    let position = await begun;
    if (!signal.aborted) listener = new Listener(parts.connections, parts.schema, wake);
    while (!signal.aborted) {
      for await (const { commits, to } of newCommits(parts, position)) {
        for (const commit of commits) {
          if (!signal.aborted && matchesQuery(commit.summary, query)) yield commit;
          if (signal.aborted) return;
        }
        position = to;
      }
      if (!signal.aborted) await timer.sleep(parts.pollMs);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    await listener?.close();
  }
}

/** Yields what is new. If the connection is lost, it ends early, and the next poll continues. */
async function* newCommits({ retrier, feed }: WatchParts, position: FeedPosition): ReturnType<CommitFeed["since"]> {
  try {
    yield* feed.since(position);
  } catch (error) {
    if (!isPhasegateError(error, "STORAGE_FAILED") || !retrier.mayRepeat(error.cause)) throw error;
  }
}

const [ANNOUNCE_MS, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, CLOSE_MS] = [60_000, 100, 5000, 2000];

/**
 * A separate connection for notifications, replaced when it is lost. It only wakes the watch, also after each
 * reconnection, since notifications may have been missed. If none can be made, the watch polls.
 */
class Listener {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #id = randomUUID();
  readonly #wake: () => void;
  /** Ended by `close` alone: what a lost connection reports must not shorten the pause before the next one. */
  readonly #pause = new WakeableTimer();
  #current: { readonly client: PgListeningClient; readonly lost: WakeableTimer } | undefined;
  readonly #running: Promise<void>;
  #closed = false;

  constructor(connections: Connections, schema: string, wake: () => void) {
    this.#connections = connections;
    this.#schema = schema;
    this.#wake = wake;
    this.#running = this.#run();
  }

  /** Ends the connection. If the server does not answer in time, it is cut off. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pause.wake();
    this.#current?.lost.wake();
    const ended = new WakeableTimer();
    this.#running.then(() => ended.wake(), ignore);
    await ended.sleep(CLOSE_MS);
    // With a query that waits for its answer, this destroys the socket.
    this.#current?.client.end().catch(ignore);
  }

  async #run(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      try {
        const client = await this.#connections.listening();
        if (client === undefined) return;
        if (await this.#listen(client)) pause = FIRST_PAUSE_MS;
      } catch {
        // No server can be found now. The watch's own queries report that.
      }
      if (this.#closed) return;
      // Jitter: many listeners that were cut off together must not reconnect together.
      await this.#pause.sleep(pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Listens until the connection is lost. Returns true if it was established. */
  async #listen(client: PgListeningClient): Promise<boolean> {
    let [connected, over] = [false, false];
    const lost = new WakeableTimer();
    this.#current = { client, lost };
    const end = () => {
      over = true;
      lost.wake();
    };
    client.on("error", end);
    client.on("end", end);
    client.on("notification", this.#wake);
    try {
      await client.connect();
      await client.query({ text: `LISTEN "${channelOf(this.#schema)}"` });
      connected = true;
      while (!over && !this.#closed) {
        await this.#announce(client, `now() + interval '${2 * ANNOUNCE_MS} milliseconds'`);
        this.#wake();
        await lost.sleep(ANNOUNCE_MS);
      }
      if (!over) await this.#announce(client, "now()");
    } catch (error) {
      // Retried after a pause, perhaps at another server. Until then the watch polls.
      this.#connections.failed(error);
    }
    await client.end().catch(ignore);
    this.#current = undefined;
    return connected;
  }

  /** Registers the listener: writers notify only if there is one. Also deletes expired rows of others. */
  async #announce(client: PgListeningClient, until: string): Promise<void> {
    const listeners = `"${this.#schema}".listeners`;
    await client.query({
      text: `WITH gone AS (DELETE FROM ${listeners} WHERE until < now() AND listener_id <> $1)
        INSERT INTO ${listeners} VALUES ($1, ${until}) ON CONFLICT (listener_id) DO UPDATE SET until = excluded.until`,
      values: [this.#id],
    });
  }
}

/** Appends within this time share one notification, in milliseconds. */
const GATHER_MS = 10;

/** Returns the notification channel of a schema. */
function channelOf(schema: string): string {
  return `phasegate_${schema}`;
}

/**
 * Notifies watches soon after an append, but outside of its transaction: the server serializes commits that notify,
 * in the whole cluster. Without listeners nothing is sent; a new listener polls after it has registered. A lost
 * notification only costs time, since watches also poll.
 */
export class Channel {
  readonly #connections: Connections;
  readonly #statements: Statements;
  readonly #name: string;
  #pending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #wanted = false;
  #closed = false;

  constructor(connections: Connections, statements: Statements, schema: string) {
    this.#connections = connections;
    this.#statements = statements;
    this.#name = channelOf(schema);
  }

  /** Schedules a notification. */
  notify(): void {
    this.#wanted = true;
    if (this.#timer !== undefined || this.#pending !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => this.#send(), GATHER_MS);
    this.#timer.unref();
  }

  /** Sends it immediately and waits for it. */
  async now(): Promise<void> {
    this.#send();
    await this.#pending;
  }

  /** Sends a pending notification. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== undefined) this.#send();
    await this.#pending;
    if (this.#wanted) this.#send();
    await this.#pending;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wanted = false;
    const query = this.#statements.wake([this.#name]);
    // Failures are ignored: a watch that was not notified polls.
    this.#pending = this.#connections
      .use((client) => client.query(query))
      .then(ignore, ignore)
      .then(() => {
        this.#pending = undefined;
        if (this.#wanted) this.notify();
      });
  }
}

function ignore(): void {}

/** A sleep that can be ended from outside, also before it has begun: what wakes is never missed. */
class WakeableTimer {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Ends the sleep, or the next one. */
  wake(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Sleeps for so many milliseconds, or until it rings. */
  async sleep(milliseconds: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#rung = false;
  }
}

interface FeedRow extends CommitRow {
  readonly until: string;
  readonly xid: string;
}

type FoundRow = FeedRow | (Record<string, unknown> & { readonly until: string; readonly xid: null });

/** The position of a reader of all commits. */
export interface FeedPosition {
  /**
   * A snapshot of the server as text (`xmin:xmax:running`). Commits visible now that were not visible in it are new.
   */
  readonly snapshot: string;
  /** The newest transaction of a commit that was seen. */
  readonly lastSeen: string;
}

type FeedPlace = Pick<FeedRow, "xid" | "session_id" | "version">;

const PAGE = 100;
const BEGINNING: FeedPlace = { xid: "0", session_id: "", version: "0" };

/**
 * A snapshot of the server. On a standby a snapshot does not list the transactions that are in progress, so there it
 * ends before the oldest of them.
 */
const SNAPSHOT = `CASE WHEN pg_is_in_recovery()
  THEN concat(pg_snapshot_xmin(pg_current_snapshot()), ':', pg_snapshot_xmin(pg_current_snapshot()), ':')
  ELSE pg_current_snapshot()::text END AS snapshot`;

/** Reads everything committed since a position, each commit once, in order within a session. */
export class CommitFeed {
  readonly #retrier: Retrier;
  readonly #schema: string;

  constructor(retrier: Retrier, schema: string) {
    this.#retrier = retrier;
    this.#schema = `"${schema}"`;
  }

  /** Returns the position after everything committed. */
  async now(): Promise<FeedPosition> {
    const text = `SELECT ${SNAPSHOT},
      coalesce((SELECT xid::text FROM ${this.#schema}.commits ORDER BY xid DESC LIMIT 1), '0') AS last`;
    const rows = await this.#retrier.rows<{ snapshot: string; last: string }>("watch", { text });
    const { snapshot = "", last = "" } = rows[0] ?? {};
    return { snapshot: positionAfter(snapshot, last), lastSeen: last };
  }

  /** Yields the commits since a position in pages, each with the position after it: after the last page a new one. */
  async *since(from: FeedPosition): AsyncGenerator<{ readonly commits: readonly Commit[]; readonly to: FeedPosition }> {
    let { lastSeen } = from;
    let until: string | undefined;
    let after = BEGINNING;
    for (let full = true; full; ) {
      const found = await this.#retrier.rows<FoundRow>("watch", this.#page(from.snapshot, until, after));
      until ??= found[0]?.until ?? from.snapshot;
      const rows = found.filter(isFeedRow);
      full = rows.length === PAGE;
      after = rows.at(-1) ?? after;
      if (BigInt(after.xid) > BigInt(lastSeen)) lastSeen = after.xid;
      const to = full ? from : { snapshot: positionAfter(until, lastSeen), lastSeen };
      yield { commits: rows.flatMap(ifSound), to };
    }
  }

  /**
   * Returns the statement for a page. The first one also takes the snapshot that it ends with; later commits belong to the
   * next call. It is one statement because two could reach different servers, if the primary fails in between, and each
   * gives its own meaning to transaction numbers that the other one lacks.
   *
   * A session's next commit starts after the previous one is done, so transaction order is also its commit order.
   */
  #page(from: string, until: string | undefined, after: FeedPlace): PgQuery {
    return {
      text: `SELECT now.snapshot AS until, page.* FROM (SELECT coalesce($2::text, snapshot) AS snapshot FROM (SELECT ${SNAPSHOT}) s) now
        LEFT JOIN LATERAL (SELECT ${COMMIT_COLUMNS}, c.xid FROM ${this.#schema}.commits c
          WHERE c.xid >= pg_snapshot_xmin($1::pg_snapshot) AND c.xid < pg_snapshot_xmax(now.snapshot::pg_snapshot)
            AND NOT pg_visible_in_snapshot(c.xid, $1::pg_snapshot)
            AND pg_visible_in_snapshot(c.xid, now.snapshot::pg_snapshot)
            AND (c.xid, c.session_id, c.version) > ($3::xid8, $4, $5)
          ORDER BY c.xid, c.session_id, c.version LIMIT ${PAGE}) page ON true
        ORDER BY page.xid, page.session_id, page.version`,
      values: [from, until, after.xid, after.session_id, after.version],
    };
  }
}

/** Returns true for a row with a commit. Without any commit, there is one row with the snapshot alone. */
function isFeedRow(row: FoundRow): row is FeedRow {
  return row.xid !== null;
}

/** Returns the commit in a row, unless it is damaged: reading its session reports the damage. */
function ifSound(row: CommitRow): Commit[] {
  try {
    return [commitOf(row)];
  } catch (error) {
    if (isPhasegateError(error, "TAMPERED")) return [];
    throw error;
  }
}

const FIRST_PAGE = 16;
const LONGEST_PAGE = 500;
/** Characters to fetch per page, estimated from the previous page. */
const PAGE_LENGTH = 4_000_000;

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
    wanted = nextPage(rows);
  }
}

/** Returns the number of commits for the next page. */
function nextPage(rows: readonly CommitRow[]): number {
  const length = rows.reduce((sum, { body, summary }) => sum + body.length + summary.length, 0);
  const fitting = Math.floor((PAGE_LENGTH * rows.length) / Math.max(length, 1));
  return Math.max(1, Math.min(LONGEST_PAGE, fitting));
}

/**
 * Returns the snapshot, cut off after the last commit that was seen. A later id may have been assigned to a
 * transaction that left no trace on the disk; after a crash the server assigns it again, perhaps to a commit.
 */
export function positionAfter(snapshot: string, lastSeen: string): string {
  const [low = "", high = "", list = ""] = snapshot.split(":");
  const end = BigInt(lastSeen) + 1n;
  if (end >= BigInt(high)) return snapshot;
  const underWay = list.split(",").filter((number) => number !== "" && BigInt(number) < end);
  const begin = BigInt(low) < end ? low : end;
  return `${begin}:${end}:${underWay.join(",")}`;
}
