/**
 * A process that appends to sessions: `append-worker <url> <schema> <appends> <session>...`. Each acknowledged version
 * goes to the standard output, in one write.
 */
import { writeSync } from "node:fs";
import { PostgresStorage } from "../../../src/adapters/postgres/postgres-storage.js";
import { parseSessionId, type SessionId } from "../../../src/definition/names.js";
import { isPhasegateError } from "../../../src/errors.js";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { makeCommit, nextCommit } from "../../../src/testing/make-commit.js";

const STATUSES = ["active", "active", "paused", "active", "completed"] as const;

const [url = "", schema = "", appends = "1", ...ids] = process.argv.slice(2);
const storage = await PostgresStorage.open({ url, schema, maxConnections: 2 });
for (let count = 0; count < Number(appends); count++) {
  await appendOne(parseSessionId(ids[count % ids.length]), count);
}
await storage.close();

async function appendOne(id: SessionId, count: number): Promise<void> {
  for (;;) {
    const commit = follow(id, await storage.read(id), STATUSES[count % STATUSES.length] ?? "active");
    try {
      await storage.append(commit);
      writeSync(1, `${id} ${commit.version} ${commit.hash}\n`);
      return;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
    }
  }
}

/** The body counts the commits, so that a lost update shows in it. */
function follow(id: SessionId, newest: Commit | undefined, status: (typeof STATUSES)[number]): Commit {
  const count = newest === undefined ? 0 : Number(newest.body.split(" ")[0]);
  // The same length, the same text: who wrote it has to show too.
  const body = `${count + 1} by ${process.pid} ${"x".repeat(1000)}`;
  const payloads = count % 7 === 0 ? [{ hash: String(count).padStart(64, "0"), body }] : [];
  if (newest === undefined) return makeCommit({ sessionId: id, body, payloads });
  return nextCommit(newest, { body, payloads, summary: { status } });
}
