import assert from "node:assert/strict";
import { parseSessionId, type SessionId } from "../definition/names.js";
import type { SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { collect, present } from "./contract-case.js";
import { makeCommit, nextCommit } from "./make-commit.js";

/** What a process was told is stored. */
interface Acknowledged {
  readonly id: SessionId;
  readonly version: number;
  readonly hash: string;
}

/**
 * Checks sessions that processes have appended to, against what they said: what was acknowledged is there, once; no
 * version is missing or doubled, no commit torn, no update lost; lists and counts agree; and each session goes on.
 */
export async function checkSessions(storage: StorageAdapter, lines: readonly string[]): Promise<void> {
  const acknowledged = lines.map(readLine);
  const summaries = await listAll(storage);
  const listed = new Map(summaries.map((summary) => [summary.sessionId, summary]));
  assert.equal(listed.size, summaries.length, "a session is listed twice");
  const byId = new Map<SessionId, Acknowledged[]>();
  for (const one of acknowledged) {
    const known = byId.get(one.id);
    if (known === undefined) byId.set(one.id, [one]);
    else known.push(one);
  }
  for (const id of byId.keys()) assert.ok(listed.has(id), `session ${id} was acknowledged, and is in no list`);
  const active = summaries.filter(({ status }) => status === "active");
  const filtered = await listAll(storage, { status: ["active"] });
  assert.deepEqual(filtered, active, "the list of active sessions is not that of all");
  assert.ok((await storage.countActive(1e6)) >= active.length, "fewer sessions are counted as active than are");
  for (const [id, summary] of listed) await checkSession(storage, summary, byId.get(id) ?? []);
}

async function checkSession(
  storage: StorageAdapter,
  summary: SessionSummary,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  const { sessionId: id } = summary;
  const log = await collect(storage.log(id));
  const last = present(log.at(-1), `a commit of the listed session ${id}`);
  const versions = acknowledged.map(({ version }) => version);
  assert.equal(new Set(versions).size, versions.length, `a version of ${id} was acknowledged twice`);
  for (const { version, hash } of acknowledged) {
    assert.equal(log[version - 1]?.hash, hash, `version ${version} of ${id} was acknowledged, and is not in the log`);
  }
  for (const [index, commit] of log.entries()) {
    const before = log[index - 1];
    const { body } = commit;
    assert.equal(commit.version, index + 1, `the log of ${id} has a gap or a double`);
    const sound = before === undefined ? makeCommit({ sessionId: id, body }) : nextCommit(before, { body });
    assert.equal(commit.hash, sound.hash, `version ${index + 1} of ${id} is torn, or does not follow the one before`);
    assert.equal(body.split(" ")[0], String(index + 1), `an update of ${id} was lost before version ${index + 1}`);
    if (index % 7 === 0) await checkPayload(storage, id, index + 1);
  }
  assert.deepEqual(await storage.read(id), last);
  assert.deepEqual(summary, last.summary, `the list does not show the newest commit of ${id}`);
  const next = nextCommit(last, { body: `${log.length + 1} goes on` });
  await storage.append(next);
  assert.equal((await storage.read(id))?.hash, next.hash, `session ${id} does not go on`);
}

async function checkPayload(storage: StorageAdapter, id: SessionId, count: number): Promise<void> {
  const hash = String(count).padStart(64, "0");
  assert.equal(
    await storage.payload(id, hash),
    `payload ${count}`,
    `a payload of version ${count} of ${id} is missing`,
  );
}

async function listAll(storage: StorageAdapter, query = {}): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await storage.list({ ...query, limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...page.items);
    cursor = page.cursor;
  }
  return all;
}

function readLine(line: string): Acknowledged {
  const [id, version, hash = ""] = line.split(" ");
  return { id: parseSessionId(id), version: Number(version), hash };
}
