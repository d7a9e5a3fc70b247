/**
 * Copies logs of sessions between storages, commit by commit, until a whole pass finds nothing new. What
 * the target has of a session must be the beginning of the source's log.
 */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { isPhasegateError } from "../errors.js";
import { type Commit, pagesOf, type SessionQuery, type StorageAdapter } from "../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../workflow/names.js";
import {
  asRefusal,
  checkCommit,
  LogRefusal,
  newestVersion,
  type RefusalReason,
  type SessionKind,
  withPayloads,
} from "./log-check.js";

/** Selects sessions. Default: all. */
export interface SessionChoice {
  /** These sessions, in this order; the filters are ignored then. */
  readonly sessionIds?: readonly string[];
  /** Sessions that match these filters, newest first. */
  readonly query?: Omit<SessionQuery, "limit" | "cursor">;
}

/** The progress of a copy. */
export interface CopyProgress {
  /** 1 for the first pass. */
  readonly pass: number;
  /** The session that was just copied or refused. */
  readonly sessionId: SessionId;
  /** The sessions of this pass that the target has completely. */
  readonly sessions: number;
  /** The sessions that are refused so far. */
  readonly refused: number;
  /** The number of copied commits, in all passes. */
  readonly commits: number;
  /** The bytes of copied bodies and payloads, in all passes. */
  readonly bytes: number;
}

/** Which sessions are copied, and how. */
export interface CopyOptions extends SessionChoice {
  /** The key of the logs, if they are HMAC chains; a string is encoded as UTF-8. */
  readonly hashKey?: string | Uint8Array;
  /**
   * The maximum number of passes over all sessions, until one finds nothing new, since the source may be in
   * use. Default 5.
   */
  readonly passes?: number;
  /** Kinds of sessions in addition to phased ones: `ROUTED_SESSIONS` of `phasegate/routed`. Others are refused. */
  readonly kinds?: readonly SessionKind[];
  /** Called after each session. If it throws, the copy ends. */
  readonly onProgress?: (progress: CopyProgress) => void;
  /** Ends the copy between two commits, with the signal's reason. What was copied stays, and another call continues. */
  readonly signal?: AbortSignal;
}

/** A session that was not copied, or not completely. */
export interface RefusedSession {
  /** The session that is not copied. */
  readonly sessionId: SessionId;
  /** Why it is not copied. */
  readonly reason: RefusalReason;
  /** The reason in a sentence. */
  readonly message: string;
  /** The error, if there was one. */
  readonly cause?: unknown;
}

/** The result of a copy. */
export interface CopyReport {
  /** The sessions that the target has completely, including those that it had before. */
  readonly sessions: number;
  /** The commits copied by this call. */
  readonly commits: number;
  /** The bytes of bodies and payloads copied by this call. */
  readonly bytes: number;
  /** The sessions that were not copied, or not completely. */
  readonly refused: readonly RefusedSession[];
  /** True if the last pass found nothing new. If false, the source was in use to the end: copy again when it is not. */
  readonly caughtUp: boolean;
}

/** What was copied and refused in all passes. */
interface Sum {
  commits: number;
  bytes: number;
  readonly refused: Map<SessionId, RefusedSession>;
}

const PASSES = 5;

/** Copies until a whole pass found nothing new, or the allowed number of passes was made. */
export async function copyLogs(from: StorageAdapter, to: StorageAdapter, options: CopyOptions): Promise<CopyReport> {
  const { passes = PASSES } = options;
  const all: Sum = { commits: 0, bytes: 0, refused: new Map() };
  for (let pass = 1; ; pass += 1) {
    const before = all.commits;
    const sessions = await copyAll(from, to, options, pass, all);
    const caughtUp = all.commits === before;
    if (!caughtUp && pass < passes) continue;
    for await (const [id, refusal] of unlistedSessions(from, options)) refuse(all, id, refusal);
    return { ...all, sessions, refused: [...all.refused.values()], caughtUp };
  }
}

/**
 * Yields sessions that no list shows, since their newest commits can't be read: each may match. Not used if
 * ids are given.
 */
export async function* unlistedSessions(
  storage: StorageAdapter,
  { sessionIds }: SessionChoice,
): AsyncGenerator<readonly [SessionId, LogRefusal]> {
  if (sessionIds !== undefined || storage.damaged === undefined) return;
  for await (const id of storage.damaged()) {
    yield [id, new LogRefusal("unreadable", "its newest commit can't be read, so that no list shows it")];
  }
}

const PAGE = 100;

/** Yields the ids of the selected sessions, page by page. Throws `INVALID_INPUT` for what can't be an id. */
export async function* chosenSessions(
  storage: StorageAdapter,
  { sessionIds, query = {} }: SessionChoice,
): AsyncGenerator<SessionId> {
  if (sessionIds !== undefined) {
    yield* sessionIds.map(parseSessionId);
    return;
  }
  for await (const { items } of pagesOf((one) => storage.list(one), { ...query, limit: PAGE })) {
    for (const { sessionId } of items) yield sessionId;
  }
}

/** What was appended to the target. */
export interface Appended {
  /** The target's current version. */
  readonly version: number;
  readonly commits: number;
  /** Bytes of bodies and payloads, as UTF-8. */
  readonly bytes: number;
}

/** Reads the commits of a session from a version on, from the source. */
type ReadLog = (from: number) => AsyncIterable<Commit>;

/** Prepares a commit for the target: checked, with its payloads. */
type PrepareCommit = (commit: Commit, previous: Commit | undefined) => Promise<Commit>;

/** Limits the tries when another process writes the same session to the target. */
const TRIES_MAX = 20;

/**
 * Appends to the target what it lacks of a session's log. Throws a {@link LogRefusal} if what it has is not
 * the beginning of the log.
 */
export async function appendLog(
  id: SessionId,
  read: ReadLog,
  prepare: PrepareCommit,
  to: StorageAdapter,
): Promise<Appended> {
  const sum = { version: 0, commits: 0, bytes: 0 };
  for (let tries = 1; ; tries += 1) {
    try {
      await appendMissing(id, read, prepare, to, sum);
      return sum;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT") || tries === TRIES_MAX) throw error;
      if ((await to.read(id)) === undefined) {
        throw new LogRefusal("removed", "the target had a session of this id, which was removed", { cause: error });
      }
    }
  }
}

/** Returns the bytes of a commit's body and payloads, as UTF-8. */
export function bytesOf({ body, payloads = [] }: Commit): number {
  return [{ body }, ...payloads].reduce((sum, text) => sum + utf8ToBytes(text.body).length, 0);
}

async function copyAll(
  from: StorageAdapter,
  to: StorageAdapter,
  options: CopyOptions,
  pass: number,
  all: Sum,
): Promise<number> {
  let sessions = 0;
  for await (const sessionId of chosenSessions(from, options)) {
    const copied = await copyOne(from, to, sessionId, options).catch(asRefusal);
    if (copied instanceof LogRefusal) {
      refuse(all, sessionId, copied);
    } else {
      sessions += 1;
      all.refused.delete(sessionId);
      all.commits += copied.commits;
      all.bytes += copied.bytes;
    }
    const { commits, bytes, refused } = all;
    options.onProgress?.({ pass, sessionId, sessions, refused: refused.size, commits, bytes });
  }
  return sessions;
}

async function copyOne(
  from: StorageAdapter,
  to: StorageAdapter,
  id: SessionId,
  { hashKey, signal, kinds }: CopyOptions,
): Promise<Appended> {
  signal?.throwIfAborted();
  const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
  const newest = await newestVersion(from, id);
  if (newest === 0) throw gone();
  // No further than to what is there now: a session that grows all the time keeps no other one waiting.
  const read = (version: number) => from.log(id, { after: version - 1, limit: Math.max(0, newest - version + 1) });
  const prepare = async (commit: Commit, previous: Commit | undefined) => {
    signal?.throwIfAborted();
    const hashes = checkCommit(id, commit, previous, key, kinds);
    return withPayloads(commit, hashes, (session, hash) => from.payload(session, hash));
  };
  const appended = await appendLog(id, read, prepare, to);
  const mayBeGone = appended.commits > 0 || appended.version < newest;
  if (mayBeGone && (await from.read(id)) === undefined) throw gone();
  return appended;
}

function gone(): LogRefusal {
  return new LogRefusal("not_found", "there is no such session, or not any more");
}

async function appendMissing(
  id: SessionId,
  read: ReadLog,
  prepare: PrepareCommit,
  to: StorageAdapter,
  sum: { version: number; commits: number; bytes: number },
): Promise<void> {
  const there = await to.read(id);
  const writer = new LogWriter(to, there === undefined);
  let previous: Commit | undefined;
  try {
    for await (const commit of read(there?.version ?? 1)) {
      if (there !== undefined && previous === undefined) {
        if (commit.hash !== there.hash || commit.version !== there.version) throw differs();
      } else await writer.add(await prepare(commit, previous));
      previous = commit;
    }
    await writer.flush();
    sum.version = previous?.version ?? sum.version;
  } finally {
    sum.commits += writer.commits;
    sum.bytes += writer.bytes;
  }
  if (there !== undefined && previous === undefined) throw await shorter(id, read, to);
}

/** Up to this many bytes of a new session are appended at once, if the target supports it. */
const BEGIN_BYTES = 8 * 1024 * 1024;

/** Appends commits one by one; the first ones of a session at once, if the target supports it. */
class LogWriter {
  commits = 0;
  bytes = 0;
  readonly #to: StorageAdapter;
  #first: Commit[] | undefined;
  #waiting = 0;

  constructor(to: StorageAdapter, isNew: boolean) {
    this.#to = to;
    this.#first = isNew && to.begin !== undefined ? [] : undefined;
  }

  async add(commit: Commit): Promise<void> {
    if (this.#first === undefined) {
      await this.#to.append(commit);
      this.#count([commit]);
      return;
    }
    this.#first.push(commit);
    this.#waiting += bytesOf(commit);
    if (this.#waiting > BEGIN_BYTES) await this.flush();
  }

  async flush(): Promise<void> {
    const [first, ...others] = this.#first ?? [];
    this.#first = undefined;
    if (first === undefined) return;
    if (others.length === 0) await this.#to.append(first);
    else await this.#to.begin?.([first, ...others]);
    this.#count([first, ...others]);
  }

  #count(commits: readonly Commit[]): void {
    this.commits += commits.length;
    this.bytes += commits.reduce((sum, commit) => sum + bytesOf(commit), 0);
  }
}

function differs(): LogRefusal {
  return new LogRefusal("differs", "the target has another session of this id");
}

/** The target has more commits than the source: the same ones and more, or others. */
async function shorter(id: SessionId, read: ReadLog, to: StorageAdapter): Promise<LogRefusal> {
  let last: Commit | undefined;
  for await (const commit of read(1)) last = commit;
  for await (const { hash } of to.log(id, { after: (last?.version ?? 1) - 1, limit: 1 })) {
    if (hash === last?.hash) return new LogRefusal("ahead", "the target has all of it, and has gone on with it");
  }
  return differs();
}

function refuse({ refused }: Sum, sessionId: SessionId, { reason, message, cause }: LogRefusal): void {
  refused.set(sessionId, { sessionId, reason, message, cause });
}
