import type { Clock } from "../ports/clock.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { digest } from "../workflow/json.js";
import { parseSessionId } from "../workflow/names.js";
/** What a test says about a commit; the rest is filled in. */
export interface CommitParts extends Partial<Omit<Commit, "sessionId" | "summary">> {
  readonly sessionId?: string;
  readonly summary?: Partial<SessionSummary>;
}

const CREATED_AT = "2026-01-02T03:04:05.006Z";

/**
 * A commit to try a storage adapter with: by default the first one of a session that is active. Its hash follows from
 * the hash before it, its version and its body.
 */
export function makeCommit(parts: CommitParts = {}): Commit {
  const { summary, sessionId: givenId = "session_1", ...rest } = parts;
  const sessionId = parseSessionId(givenId);
  const { version = 1, previousHash = "", at = CREATED_AT, body = JSON.stringify({ sessionId, version }) } = rest;
  const hash = digest(`${previousHash}\n${version}\n${body}`);
  const defaults: SessionSummary = {
    sessionId,
    kind: "phased",
    workflowType: "demo",
    target: "src/demo.ts",
    status: "active",
    current: 1,
    total: 3,
    createdAt: CREATED_AT,
    updatedAt: at,
    activeSince: 1,
  };
  return { schema: 1, hash, ...rest, sessionId, version, previousHash, at, body, summary: { ...defaults, ...summary } };
}

/**
 * The commit after another one. A session that it makes active again is active since this version, as the engine has
 * it.
 */
export function nextCommit(previous: Commit, parts: CommitParts = {}): Commit {
  const { summary, version = previous.version + 1, ...rest } = parts;
  const status = summary?.status ?? previous.summary.status;
  const reopens = status === "active" && previous.summary.status !== "active";
  return makeCommit({
    sessionId: previous.sessionId,
    previousHash: previous.hash,
    at: previous.at,
    ...rest,
    version,
    summary: {
      ...previous.summary,
      updatedAt: rest.at ?? previous.at,
      ...(reopens ? { activeSince: version } : {}),
      ...summary,
    },
  });
}

/** The first commits of a session, at least one, each following the one before. */
export function commitChain(length: number, parts: CommitParts = {}): [Commit, ...Commit[]] {
  let last = makeCommit(parts);
  const chain: [Commit, ...Commit[]] = [last];
  while (chain.length < length) {
    last = nextCommit(last);
    chain.push(last);
  }
  return chain;
}

/** Appends commits one after the other, and gives them back. */
export async function appendAll<const T extends readonly Commit[]>(storage: StorageAdapter, commits: T): Promise<T> {
  for (const commit of commits) await storage.append(commit);
  return commits;
}

/** Numbers from 0 to 1 that look random and are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** One of several, by the next number. */
export function pick<T>(random: () => number, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

/** A clock that stands still until it is told to go on: sessions in tests begin and age when you say so. */
export class FakeClock implements Clock {
  #now: number;

  /** `start` is an ISO 8601 time; the first of January 2026 if not given. */
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#now = Date.parse(start);
  }

  now(): number {
    return this.#now;
  }

  /** Goes on by so many milliseconds. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
