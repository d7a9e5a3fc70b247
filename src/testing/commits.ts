/** Commits, random numbers and a clock for tests of storage adapters and hosts. */
import type { Clock } from "../ports/clock.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { digest } from "../workflow/json.js";
import { parseSessionId } from "../workflow/names.js";

/** The parts of a commit that a test chooses. Defaults are used for the rest. */
export interface CommitParts extends Partial<Omit<Commit, "sessionId" | "summary">> {
  /** The id of the session. Default `session_1`. */
  readonly sessionId?: string;
  /** Parts of the summary. Default: an active phased session. */
  readonly summary?: Partial<SessionSummary>;
}

const CREATED_AT = "2026-01-02T03:04:05.006Z";

/**
 * Returns a commit for tests of a storage adapter: by default the first one of an active session. Its hash is made from
 * the previous hash, its version and its body.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when `sessionId` is not a valid id.
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
 * Returns the commit after another one. If it makes the session active again, `activeSince` is its version, as in commits
 * of an engine.
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

/** Returns the first commits of a session, at least one, each following the one before. */
export function commitChain(length: number, parts: CommitParts = {}): [Commit, ...Commit[]] {
  let last = makeCommit(parts);
  const chain: [Commit, ...Commit[]] = [last];
  while (chain.length < length) {
    last = nextCommit(last);
    chain.push(last);
  }
  return chain;
}

/** Appends commits one after the other, and returns them. */
export async function appendAll<const T extends readonly Commit[]>(storage: StorageAdapter, commits: T): Promise<T> {
  for (const commit of commits) await storage.append(commit);
  return commits;
}

/** Returns a generator of pseudo-random numbers from 0 to 1, which depend on the seed only (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Picks an element by the next number. */
export function pick<T>(random: () => number, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

/** A clock that moves only when a test advances it. */
export class FakeClock implements Clock {
  #now: number;

  /** Creates a clock at an ISO 8601 time. Default: 1 January 2026, UTC. */
  constructor(start = "2026-01-01T00:00:00.000Z") {
    this.#now = Date.parse(start);
  }

  /** Returns the time in milliseconds since 1970. */
  now(): number {
    return this.#now;
  }

  /** Advances the clock, in milliseconds. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
