/**
 * The stream of changes. However many pages are open, and whoever has logged in, each storage has one watcher. A changed
 * session is read once for all pages that may see the same. Messages are numbered: a page that comes back gets what it has
 * missed, or is told to read everything anew.
 */
import { type Actor, actorKey, byOwner, maySee } from "../ports/actor.js";
import { type FullClock, pause } from "../ports/clock.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { findIn } from "../read/lists.js";
import type { BrokenSession } from "../read/model.js";
import { SessionIndex } from "../read/session-index.js";
import type { Source } from "../read/sources.js";
import { RecentMap } from "../workflow/cache.js";
import { isSessionId } from "../workflow/names.js";
import { Refused } from "./guard.js";
import type { LiveMessage } from "./wire.js";

/** Commits that follow each other within this time are one message, in milliseconds. */
const GATHER_MS = 100;
/** A proxy may close a connection on which nothing is sent. */
const BEAT_MS = 15_000;
/** The wait before a watch that failed is begun again, and between the looks where nothing can be watched. */
const AGAIN_MS = 2000;
const KEPT = 500;
/** More changed sessions at once than this: the pages read their lists anew. */
const AT_ONCE = 50;
/** The wait for the watches to begin: a storage may have to look at all of its sessions first. */
const READY_MS = 1500;
/** As many sessions are known by their last commits. */
const KNOWN = 1000;
/**
 * The time that a page gets to draw its first rows before the other sessions are read, in milliseconds. Where browser and server
 * share two cores, the rows are there a tenth to a quarter sooner.
 */
const DRAW_MS = 150;
/** The time for which changes are followed after the last page was closed: a page that is loaded anew reads nothing twice. */
const STAY_MS = 30_000;
/** A page that is so many messages behind is cut off; it comes back. */
const BEHIND = 1000;

interface Tools {
  readonly clock: FullClock;
  /** Returns the sessions whose logs are known to be damaged, although they can be listed. */
  readonly damaged: () => ReadonlyMap<string, BrokenSession>;
  readonly report: (error: unknown) => void;
}

interface Watching {
  readonly end: AbortController;
  /** Resolves when nothing that is committed later is missed. */
  readonly ready: Promise<unknown>;
}

/** The streams: one for all who see everything in the name of the host, and one for each actor. */
export class Streams {
  readonly #storages: ReadonlySet<StorageAdapter>;
  readonly #tools: Tools;
  readonly #lives = new Map<string, Live>();
  /** Sessions as their last commits have left them. */
  readonly #known = new RecentMap<string, SessionSummary>(KNOWN);
  /** The watches, as long as somebody looks. */
  #watching: Watching | undefined;

  constructor(sources: readonly Source[], tools: Tools) {
    this.#storages = new Set(sources.map(({ storage }) => storage));
    this.#tools = tools;
  }

  /**
   * Opens a stream. `sources` are those that the actor may see. `admit` tells who would send the request now: it is asked with
   * every beat, and a stream is closed when its login has ended. Resolves when nothing is missed any more: the page then reads
   * what there is.
   */
  async open(
    actor: Actor | undefined,
    sources: readonly Source[],
    request: Request,
    admit: () => Promise<Actor | undefined>,
  ): Promise<Response> {
    const keyOf = (one: Actor | undefined) => (one === undefined ? "" : actorKey(one));
    const key = keyOf(actor);
    let live = this.#lives.get(key);
    if (live === undefined) {
      for (const [other, { isAwake }] of this.#lives) if (!isAwake) this.#lives.delete(other);
      const caller = actor && { actor, authorize: byOwner };
      const sees = (session: SessionSummary) => caller === undefined || maySee(caller, "watch", session);
      live = new Live(sources, this.#tools, sees, () => this.#endUnseen());
      this.#lives.set(key, live);
    }
    const watching = this.#watching ?? this.#begin();
    this.#watching = watching;
    const body = live.open(request, async () => {
      try {
        return keyOf(await admit()) === key;
      } catch (error) {
        if (error instanceof Refused) return false;
        throw error;
      }
    });
    await watching.ready;
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        // A server that compresses would hold events back.
        "cache-control": "no-store, no-transform",
        "x-accel-buffering": "no",
      },
    });
  }

  /** Returns the sessions that an actor may see, which are kept up while a page of theirs is open, and a while longer. */
  indexFor(actor: Actor | undefined): SessionIndex | undefined {
    return this.#lives.get(actor === undefined ? "" : actorKey(actor))?.index;
  }

  /** Tells that something happens in a session without a commit. */
  touch(kind: string, sessionId: string): void {
    for (const live of this.#lives.values()) live.changed(kind, sessionId);
  }

  close(): void {
    for (const live of this.#lives.values()) live.close();
  }

  #begin(): Watching {
    const { clock, report } = this.#tools;
    const end = new AbortController();
    const { signal } = end;
    const begun = [...this.#storages].map(
      (storage) => new Promise<void>((resolve) => this.#follow(storage, signal, resolve).catch(report)),
    );
    this.#beat(signal).catch(report);
    return { end, ready: Promise.race([Promise.all(begun), pause(clock, READY_MS, signal)]) };
  }

  #endUnseen(): void {
    for (const { isAwake } of this.#lives.values()) if (isAwake) return;
    this.#watching?.end.abort();
    this.#watching = undefined;
  }

  async #beat(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#tools.clock, BEAT_MS, signal);
      if (signal.aborted) return;
      for (const live of this.#lives.values()) live.beat();
    }
  }

  /** Watches a storage until nobody looks any more. After a failure, everything is to be read anew. */
  async #follow(storage: StorageAdapter, signal: AbortSignal, onReady: () => void): Promise<void> {
    const reset = () => {
      for (const live of this.#lives.values()) live.reset();
    };
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        if (!isFirst) reset();
        const commits = storage.watch?.({}, { signal, onReady: isFirst ? onReady : reset }) ?? [];
        for await (const commit of commits) {
          const { sessionId, summary } = commit;
          const before = await this.#ownedBefore(storage, commit);
          for (const live of this.#lives.values()) live.changed(summary.kind, sessionId, summary, before);
        }
      } catch (error) {
        if (!signal.aborted) this.#tools.report(error);
      }
      onReady();
      await pause(this.#tools.clock, AGAIN_MS, signal);
    }
  }

  /** Returns a session as it was before a commit that has given it to somebody else. The one before is read once. */
  async #ownedBefore(
    storage: StorageAdapter,
    { sessionId, version, summary }: Commit,
  ): Promise<SessionSummary | undefined> {
    let before = this.#known.get(sessionId);
    this.#known.set(sessionId, summary);
    if (before === undefined && version > 1)
      for await (const commit of storage.log(sessionId, { after: version - 2, limit: 1 })) before = commit.summary;
    return before?.owner === summary.owner && before?.team === summary.team ? undefined : before;
  }
}

type Page = ReadableStreamDefaultController<Uint8Array>;

/** The sessions of one kind that have changed and are to be told, and whether by a commit. */
interface Queue {
  readonly list: Source["list"];
  readonly changed: Map<string, boolean>;
  isTelling: boolean;
}

/** One stream for all who may see the same. */
class Live {
  readonly #sources: readonly Source[];
  readonly #tools: Tools;
  readonly #sees: (session: SessionSummary) => boolean;
  readonly #onEmpty: () => void;
  /** Tells the messages of this process from those of an earlier one. */
  readonly #epoch: string;
  /** The open pages, each with what tells whether it may still see something. */
  readonly #pages = new Map<Page, () => Promise<boolean>>();
  /** Those whose login has not answered since the last beat. */
  readonly #asking = new Set<Page>();
  readonly #kept: Uint8Array[] = [];
  #index: SessionIndex | undefined;
  #number = 0;
  /** By kind; new ones whenever somebody looks again. */
  #queues: ReadonlyMap<string, Queue> = new Map();
  /** Missing while nobody looks. */
  #end: AbortController | undefined;
  #cancelSleep = () => {};

  /** `sees` says whether these pages may see the session of a commit; `onEmpty` is called when nobody looks any more. */
  constructor(
    sources: readonly Source[],
    tools: Tools,
    sees: (session: SessionSummary) => boolean,
    onEmpty: () => void,
  ) {
    this.#sources = sources;
    this.#tools = tools;
    this.#sees = sees;
    this.#onEmpty = onEmpty;
    this.#epoch = tools.clock.newId();
  }

  /** True while a page is open, and a while longer. */
  get isAwake(): boolean {
    return this.#end !== undefined;
  }

  /** The sessions, as long as somebody looks. */
  get index(): SessionIndex | undefined {
    return this.#index;
  }

  /** Opens a stream. A page that comes back names in `last-event-id` the last message that it has got. */
  open({ headers, signal }: Request, mayGoOn: () => Promise<boolean>): ReadableStream<Uint8Array> {
    this.#cancelSleep();
    if (this.#end === undefined) {
      this.#end = new AbortController();
      const queueOf = ({ kind, list }: Source) => [kind, { list, changed: new Map(), isTelling: false }] as const;
      this.#queues = new Map(this.#sources.map(queueOf));
      this.#index = this.#newIndex();
    }
    let page: Page | undefined;
    const close = () => page && this.#close(page);
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          page = controller;
          this.#pages.set(controller, mayGoOn);
          for (const message of this.#missedBy(headers.get("last-event-id"))) controller.enqueue(message);
        },
        cancel: close,
      },
      { highWaterMark: BEHIND },
    );
    if (signal.aborted) close();
    signal.addEventListener("abort", close, { once: true });
    return body;
  }

  close(): void {
    for (const page of this.#pages.keys()) this.#close(page);
    this.#cancelSleep();
    this.#sleep();
  }

  beat(): void {
    this.#send(encoder.encode(": beat\n\n"));
    // Not awaited: a login that does not answer holds up no other page.
    for (const [page, mayGoOn] of this.#pages) {
      if (this.#asking.has(page)) this.#close(page);
      else this.#ask(page, mayGoOn);
    }
  }

  /** `summary`: as a commit has left the session; `before`: as it was, if a commit has given it to somebody else. */
  changed(kind: string, sessionId: string, summary?: SessionSummary, before?: SessionSummary): void {
    const queue = this.#queues.get(kind);
    const isCommitted = summary !== undefined;
    // Of a session that these pages have lost, they are told that it is gone: they read it as they may see it now.
    const isSeen = !isCommitted || this.#sees(summary) || (before !== undefined && this.#sees(before));
    if (queue === undefined || !isSeen || this.#end === undefined) return;
    queue.changed.set(sessionId, isCommitted || queue.changed.get(sessionId) === true);
    if (queue.isTelling) return;
    this.#tellAll(queue, this.#end.signal).catch((error: unknown) => {
      queue.isTelling = false;
      this.#tools.report(error);
      this.reset();
    });
  }

  /** Something may have been missed. */
  reset(): void {
    this.#index?.close();
    this.#index = this.isAwake ? this.#newIndex() : undefined;
    this.#tell({ type: "reset" });
  }

  #newIndex(): SessionIndex {
    return new SessionIndex(this.#sources, { damaged: this.#tools.damaged, drawMs: DRAW_MS });
  }

  /** Returns what a page has missed; for one that begins, the number behind which it continues, should it lose its connection. */
  #missedBy(lastId: string | null): readonly Uint8Array[] {
    if (lastId === null) return [this.#numbered(": open\n\n")];
    const isKnown = lastId.startsWith(`${this.#epoch}-`);
    const last = isKnown ? Number(lastId.slice(this.#epoch.length + 1)) : Number.NaN;
    const missed = this.#number - last;
    if (missed >= 0 && missed <= this.#kept.length) return this.#kept.slice(this.#kept.length - missed);
    return [this.#numbered(dataOf({ type: "reset" }))];
  }

  #numbered(text: string): Uint8Array {
    return encoder.encode(`id: ${this.#epoch}-${this.#number}\n${text}`);
  }

  async #ask(page: Page, mayGoOn: () => Promise<boolean>): Promise<void> {
    this.#asking.add(page);
    const may = await mayGoOn().catch(this.#tools.report);
    this.#asking.delete(page);
    if (may !== true) this.#close(page);
  }

  /** Tells of one session after the other: what is read later must not be told first. */
  async #tellAll(queue: Queue, signal: AbortSignal): Promise<void> {
    const { list, changed } = queue;
    queue.isTelling = true;
    while (changed.size > 0 && !signal.aborted) {
      await pause(this.#tools.clock, GATHER_MS, signal);
      const all = [...changed];
      changed.clear();
      if (signal.aborted) break;
      if (all.length > AT_ONCE) this.reset();
      else for (const [id, isCommitted] of all) await this.#tellOf(list, id, isCommitted);
    }
    queue.isTelling = false;
  }

  async #tellOf(list: Source["list"], sessionId: string, isCommitted: boolean): Promise<void> {
    if (!isSessionId(sessionId)) return;
    const found = await findIn(list, sessionId);
    const { summary: session } = found;
    if (isCommitted || session !== undefined) this.#index?.note(sessionId, found);
    const isDamaged = this.#tools.damaged().has(sessionId);
    if (session !== undefined && !isDamaged) this.#tell({ type: "session", session });
    // A session that these pages may not see is touched, too.
    else if (isCommitted || session !== undefined) this.#tell({ type: "gone", sessionId });
  }

  #tell(message: LiveMessage): void {
    if (!this.isAwake) return;
    this.#number += 1;
    const sent = this.#numbered(dataOf(message));
    this.#kept.push(sent);
    if (this.#kept.length > KEPT) this.#kept.shift();
    this.#send(sent);
  }

  #send(message: Uint8Array): void {
    for (const page of this.#pages.keys()) {
      if ((page.desiredSize ?? 0) <= 0) this.#close(page);
      else page.enqueue(message);
    }
  }

  #close(page: Page): void {
    if (!this.#pages.delete(page)) return;
    try {
      page.close();
    } catch {
      // The page has closed it.
    }
    if (this.#pages.size === 0) this.#cancelSleep = this.#tools.clock.after(STAY_MS, () => this.#sleep());
  }

  #sleep(): void {
    this.#end?.abort();
    this.#end = undefined;
    this.#index?.close();
    this.#index = undefined;
    // Commits are not kept while nobody looks: a page that comes back later reads everything anew.
    this.#kept.length = 0;
    this.#number += 1;
    this.#onEmpty();
  }
}

const encoder = new TextEncoder();

function dataOf(message: LiveMessage): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}
