/**
 * The engines behind an inspector. Each kind of session is listed, watched and shown by its own engine; recorded sessions
 * have none, and are read from their storage.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Receipt } from "../log/commit.js";
import type { SessionAudit } from "../phased/approval/ledger.js";
import type { Engine } from "../phased/engine.js";
import { checkedPage, type SessionPage, withTotal } from "../phased/lists.js";
import { systemClock } from "../ports/clock.js";
import type { SessionQuery, SessionSummary, StorageAdapter, WatchOptions } from "../ports/storage-adapter.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { SessionId } from "../workflow/names.js";
import {
  type RecordedCommit,
  type RecordedEntry,
  type RecordedHead,
  Recorder,
  recordedEntries,
  recordedMachine,
} from "../workspace/session/machine.js";
import type { Kind } from "./wire.js";

/** What an inspector shows: at least one kind of sessions. */
export interface InspectorSources {
  /** The engine of phased sessions. */
  readonly engine?: Engine;
  /** The engine of routed sessions. */
  readonly routed?: RoutedEngine;
  /** The storage of a workspace's recorded sessions. */
  readonly recorded?: {
    /** The storage. It stays the host's, who closes it. */
    readonly storage: StorageAdapter;
    /** The key of the hash chain, if the workspace has one. */
    readonly hashKey?: string | Uint8Array;
  };
}

/** A commit that somebody has made in a session. */
export interface Change {
  readonly sessionId: string;
}

/** One kind of session. */
export interface Source {
  readonly kind: Kind;
  list(query: SessionQuery): Promise<SessionPage>;
  /** Yields what changes from now on; missing if nothing tells. */
  watch?(options: WatchOptions & { readonly signal: AbortSignal }): AsyncIterable<Change>;
}

/** Returns the kinds of sessions that there are. */
export function sourcesOf({ engine, routed, recorded }: InspectorSources): readonly Source[] {
  const sources: Source[] = [];
  if (engine !== undefined) {
    const list = (query: SessionQuery) => engine.listSessions(query);
    sources.push({ kind: "phased", list, watch: (options) => engine.watch({}, options) });
  }
  if (routed !== undefined) {
    const watch = (options: WatchOptions) => routed.watch({}, options);
    sources.push({ kind: "routed", list: (query) => routed.listInstances(query), watch });
  }
  if (recorded !== undefined) {
    const reader = new RecordedReader(recorded);
    const { storage } = recorded;
    const watch = storage.watch?.bind(storage, { kind: recordedMachine.kind });
    sources.push({ kind: "recorded", list: (query) => reader.list(query), ...(watch && { watch }) });
  }
  return sources;
}

/** Reads recorded sessions without the workspace that records them. */
export class RecordedReader {
  readonly #storage: StorageAdapter;
  readonly #recorder: Recorder;

  constructor({ storage, hashKey }: NonNullable<InspectorSources["recorded"]>) {
    this.#storage = storage;
    const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
    this.#recorder = new Recorder({ storage, clock: systemClock, ...(key === undefined ? {} : { hashKey: key }) });
  }

  async list(query: SessionQuery): Promise<SessionPage> {
    const own = { ...query, kind: recordedMachine.kind };
    const page = await checkedPage(await this.#storage.list(own), query, (id) => this.lookAt(id));
    return withTotal(this.#storage, own, page);
  }

  /** Returns the entry of a session in a list; undefined if the session does not exist. */
  lookAt(id: SessionId): Promise<SessionSummary | undefined> {
    return this.#recorder.lookAt(id);
  }

  /** Reads a whole session: its state, and its entries from the oldest to the newest. Undefined if there is none. */
  async read(sessionId: string): Promise<RecordedSession | undefined> {
    const entries: RecordedEntry[] = [];
    let last: Pick<RecordedCommit, "head" | "version" | "hash"> | undefined;
    for await (const commit of this.#recorder.log(sessionId)) {
      entries.push(...recordedEntries(commit));
      last = commit;
    }
    return last && { head: last.head, version: last.version, hash: last.hash, entries };
  }

  /** Audits a session. Recorded sessions have no approvals. */
  async audit(sessionId: string, receipt?: Receipt): Promise<SessionAudit> {
    return { ...(await this.#recorder.audit(sessionId, receipt)), approvals: [], warnings: [] };
  }

  async close(): Promise<void> {
    await this.#storage.close?.();
  }
}

/** A whole recorded session, with the receipt of its last commit. */
export interface RecordedSession extends Receipt {
  readonly head: RecordedHead;
  readonly entries: readonly RecordedEntry[];
}
