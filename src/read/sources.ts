/**
 * The engines behind an inspector. Each kind of session is listed, watched and shown by its own engine; recorded sessions
 * have none, and are read from their storage. What happens in sessions without a commit, checks that run and repeated calls
 * that were answered again, no storage knows: it is known of the sessions that the inspector's own process works on.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { storageOf } from "../engine/engine.js";
import { BROKEN, listSessions, type SessionPage } from "../engine/lists.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Receipt } from "../log/commit.js";
import type { SessionAudit } from "../phased/approval/ledger.js";
import type { Engine } from "../phased/engine.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { RunningChecks } from "../phased/verify/run-verifiers.js";
import { type Actor, byOwner, type Caller, maySee } from "../ports/actor.js";
import { systemClock } from "../ports/clock.js";
import type { SessionQuery, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import type { RoutedEngine } from "../routed/engine.js";
import { RecentMap } from "../workflow/cache.js";
import type { SessionId } from "../workflow/names.js";
import {
  type RecordedCommit,
  type RecordedEntry,
  type RecordedHead,
  Recorder,
  recordedEntries,
  recordedMachine,
} from "../workspace/session/machine.js";
import type { Activity, Kind, ListedSession } from "./model.js";

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

export interface Source {
  readonly kind: Kind;
  readonly storage: StorageAdapter;
  list(query: SessionQuery): Promise<ListedPage>;
}

/** A page of a list, with what was waived. */
type ListedPage = Omit<SessionPage, "items"> & { readonly items: readonly ListedSession[] };

/** Returns the kinds of sessions that there are; recorded ones, which have no engine, as `actor` may see them. */
export function sourcesOf({ engine, routed, recorded }: InspectorSources, actor?: Actor): readonly Source[] {
  const sources: Source[] = [];
  if (engine !== undefined) {
    sources.push({
      kind: "phased",
      storage: storageOf(engine),
      list: async (query) => withWaivers(engine, await engine.listSessions({ ...query, total: false })),
    });
  }
  if (routed !== undefined) {
    sources.push({
      kind: "routed",
      storage: storageOf(routed),
      list: (query) => routed.listSessions({ ...query, total: false }),
    });
  }
  if (recorded !== undefined) {
    const reader = new RecordedReader(recorded, actor);
    sources.push({ kind: "recorded", storage: recorded.storage, list: (query) => reader.list(query) });
  }
  return sources;
}

/** Adds who has waived what: a head says only that something was waived. The log is read whole where that is so. */
async function withWaivers(engine: Engine, page: SessionPage): Promise<ListedPage> {
  const broken = [...(page.broken ?? [])];
  const items: ListedSession[] = [];
  for (const session of page.items) {
    if (session.waived === undefined) {
      items.push(session);
      continue;
    }
    const { sessionId } = session;
    try {
      items.push({ ...session, waivers: waiversIn(await engine.session(sessionId).history()) });
    } catch (error) {
      if (isPhasegateError(error, "SESSION_NOT_FOUND")) continue;
      if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
      broken.push({ sessionId, code: error.code, message: error.message });
    }
  }
  return { ...page, items, ...(broken.length > 0 && { broken }) };
}

function waiversIn(attempts: readonly PhaseAttempt[]): ListedSession["waivers"] {
  const counted = attempts.filter(({ status }) => status !== "rolled_back");
  return counted
    .flatMap(({ notes = [] }) => notes)
    .flatMap(({ event, fields, by }) =>
      event === "waiver_granted" && fields !== undefined && by !== undefined ? [{ fields, by }] : [],
    );
}

/** Reads recorded sessions without the workspace that records them: those of all, or those that an actor may see. */
export class RecordedReader {
  readonly #storage: StorageAdapter;
  readonly #recorder: Recorder;
  readonly #caller: Caller | undefined;

  constructor({ storage, hashKey }: NonNullable<InspectorSources["recorded"]>, actor?: Actor) {
    const caller = actor && { actor, authorize: byOwner };
    this.#storage = storage;
    this.#caller = caller;
    const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
    const all = new Recorder({ storage, clock: systemClock, hashKey: key });
    this.#recorder = caller === undefined ? all : all.limitedTo((summary) => maySee(caller, "listSessions", summary));
  }

  list(query: SessionQuery): Promise<SessionPage> {
    const { kind } = recordedMachine;
    const lookAt = (id: SessionId) => this.lookAt(id);
    return listSessions({ storage: this.#storage, kind, caller: this.#caller, lookAt }, { ...query, total: false });
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

/** Limits of how many sessions, and of how many commits of one, repeated calls are remembered. */
const [SESSIONS, COMMITS] = [1000, 100];

export class Activities {
  readonly #verifying = new Map<string, readonly string[]>();
  readonly #replays = new RecentMap<string, Map<number, number>>(SESSIONS);
  readonly #onChange: (kind: Kind, sessionId: string) => void;
  readonly #stops: readonly (() => void)[];

  constructor({ engine, routed }: InspectorSources, onChange: (kind: Kind, sessionId: string) => void) {
    this.#onChange = onChange;
    this.#stops = [
      engine?.on("verifying", (checks) => this.#check("phased", checks.sessionId, checks)),
      routed?.on("verifying", (checks) => this.#check("routed", checks.sessionId, checks)),
      engine?.on("replayed", ({ sessionId, version }) => this.#replay("phased", sessionId, version)),
      routed?.on("replayed", ({ sessionId, version }) => this.#replay("routed", sessionId, version)),
    ].filter((stop) => stop !== undefined);
  }

  of(sessionId: string): Activity {
    const verifying = this.#verifying.get(sessionId);
    const replays = this.#replays.get(sessionId);
    return { verifying, replays: replays && Object.fromEntries(replays) };
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  #check(kind: Kind, sessionId: string, { running }: RunningChecks): void {
    if (running.length > 0) this.#verifying.set(sessionId, running);
    else this.#verifying.delete(sessionId);
    this.#onChange(kind, sessionId);
  }

  #replay(kind: Kind, sessionId: string, version: number): void {
    const own = this.#replays.get(sessionId) ?? new Map<number, number>();
    own.set(version, (own.get(version) ?? 0) + 1);
    const [oldest] = own.keys();
    if (own.size > COMMITS && oldest !== undefined) own.delete(oldest);
    this.#replays.set(sessionId, own);
    this.#onChange(kind, sessionId);
  }
}

export function notThere(what: string, sessionId: string): PhasegateError<"SESSION_NOT_FOUND"> {
  return new PhasegateError("SESSION_NOT_FOUND", `session ${sessionId}: ${what}`, {
    remedy: "Open it from the list of sessions.",
    details: { sessionId },
  });
}
