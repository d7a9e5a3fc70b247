import { randomUUID } from "node:crypto";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { matchesQuery } from "../common/session-query.js";
import type { Asking, Connections } from "./connections.js";
import type { PgListeningClient, PgQuery } from "./options.js";
import { COMMIT_COLUMNS, type CommitRow, commitOf, type Statements } from "./rows.js";

/** What `watch` is made of. */
interface WatchParts {
  readonly connections: Connections;
  /** Asks without patience: `watch` has its own. */
  readonly asking: Asking;
  readonly feed: CommitFeed;
  readonly schema: string;
  /** How often to look where nothing wakes. */
  readonly pollMs: number;
}

/** Gives commits from a position on as they come, until the signal aborts. */
export async function* watchCommits(
  parts: WatchParts,
  begun: Promise<FeedPosition>,
  query: SessionQuery,
  signal: AbortSignal,
): AsyncGenerator<Commit> {
  const alarm = new Alarm();
  const wake = () => alarm.ring();
  signal.addEventListener("abort", wake);
  let listener: Listener | undefined;
  try {
    let position = await begun;
    if (!signal.aborted) listener = new Listener(parts.connections, parts.schema, wake);
    while (!signal.aborted) {
      for await (const { commits, to } of look(parts, position)) {
        for (const commit of commits) {
          if (signal.aborted) return;
          if (matchesQuery(commit.summary, query)) yield commit;
        }
        position = to;
      }
      if (!signal.aborted) await alarm.sleep(parts.pollMs);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    await listener?.close();
  }
}

/** What is new; less of it where the connection is lost in the middle. The next look goes on from there. */
async function* look({ asking, feed }: WatchParts, position: FeedPosition): ReturnType<CommitFeed["since"]> {
  try {
    yield* feed.since(position);
  } catch (error) {
    if (!isPhasegateError(error, "STORAGE_FAILED") || !asking.mayRepeat(error.cause)) throw error;
  }
}

const ANNOUNCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/**
 * A connection of its own that waits for notifications, made anew when it is lost. It only wakes: also when it is
 * connected again, since nobody knows what it has missed. Where none can be made, nothing ever wakes.
 */
class Listener {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #id = randomUUID();
  readonly #wake: () => void;
  readonly #lost = new Alarm();
  readonly #running: Promise<void>;
  #closed = false;

  constructor(connections: Connections, schema: string, wake: () => void) {
    this.#connections = connections;
    this.#schema = schema;
    this.#wake = wake;
    this.#running = this.#run();
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#lost.ring();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      try {
        const client = await this.#connections.listening();
        if (client === undefined) return;
        if (await this.#listen(client)) pause = FIRST_PAUSE_MS;
      } catch {
        // No server can be found now. Whoever watches asks for one by itself, and is told.
      }
      if (this.#closed) return;
      // Many that were cut off at once must not all come back at once.
      await this.#lost.sleep(pause * (0.5 + Math.random()));
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Listens until the connection is lost; whether there was one. */
  async #listen(client: PgListeningClient): Promise<boolean> {
    let [connected, over] = [false, false];
    const end = () => {
      over = true;
      this.#lost.ring();
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
        await this.#lost.sleep(ANNOUNCE_MS);
      }
      if (!over) await this.#announce(client, "now()");
    } catch (error) {
      // Tried again after a pause, by then perhaps at another server; until then whoever watches looks by itself.
      this.#connections.failed(error);
    }
    await client.end().catch(() => undefined);
    return connected;
  }

  /** Who appends notifies only where somebody listens. Rows of those who ended without a word go with the next ones. */
  async #announce(client: PgListeningClient, until: string): Promise<void> {
    const listeners = `"${this.#schema}".listeners`;
    await client.query({
      text: `WITH gone AS (DELETE FROM ${listeners} WHERE until < now() AND listener_id <> $1)
        INSERT INTO ${listeners} VALUES ($1, ${until}) ON CONFLICT (listener_id) DO UPDATE SET until = excluded.until`,
      values: [this.#id],
    });
  }
}

/** So long appends are gathered into one notification: those who listen are woken, and then read the log. */
const GATHER_MS = 10;

/** Where those who watch a schema are woken. */
function channelOf(schema: string): string {
  return `phasegate_${schema}`;
}

/**
 * Wakes those who watch, soon after an append and never as a part of it: at a commit that notifies, the server lets one
 * transaction through at a time, in the whole cluster. Where nobody listens nothing is notified; who begins to listen looks
 * once he has said so. A notification that is lost costs a moment, since who watches also looks by itself.
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

  /** Something was appended. */
  notify(): void {
    this.#wanted = true;
    if (this.#timer !== undefined || this.#pending !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => this.#send(), GATHER_MS);
    this.#timer.unref();
  }

  /** The same at once, for who waits. */
  async now(): Promise<void> {
    this.#send();
    await this.#pending;
  }

  /** Sends what is still to be sent. */
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
    // Nobody waits for it, and who wasn't woken looks by itself: a failure is told to nobody.
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
class Alarm {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Ends the sleep, or the next one. */
  ring(): void {
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
