import { digest } from "../definition/digest.js";
import { parseSessionId } from "../definition/names.js";
import type { Commit, SessionSummary } from "../ports/storage-adapter.js";

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
