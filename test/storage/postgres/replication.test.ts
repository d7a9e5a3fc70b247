import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "pg";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { newSchema, queryStandby, runSql } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres, startStandby } from "../../support/postgres-server.ts";

const workflow = defineWorkflow({
  type: "one",
  revision: "1",
  name: "One",
  description: "One phase",
  phases: [{ number: 1, name: "Do", content: "# Do", gate: { evidence: z.object({ done: z.boolean() }) } }],
});

/** Waits until a backend waits for its standby, and terminates or cancels it. */
async function endTheWait(url: string, what: "pg_terminate_backend" | "pg_cancel_backend"): Promise<void> {
  const text = `SELECT ${what}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  while ((await runSql(url, text)).length === 0) await delay(20);
}

/** Returns true while a backend waits for its standby. */
async function isWaiting(url: string): Promise<boolean> {
  return (await runSql(url, "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).length > 0;
}

describe("an append that waits for its synchronous standby", () => {
  const schema = newSchema();
  let primary: PostgresServer;
  let standby: PostgresServer;
  let storage: PostgresStorage;
  const newest = async () => (await storage.read(makeCommit().sessionId)) ?? makeCommit();
  beforeAll(async () => {
    primary = await startPostgres();
    standby = await startStandby(primary, ["synchronous_standby_names=standby"]);
    storage = await PostgresStorage.open({ url: primary.url, schema, retryMs: 20_000, statementTimeoutMs: 300 });
    await storage.append(makeCommit());
  }, 120_000);
  afterAll(async () => {
    await storage.close();
    await Promise.all([primary.remove(), standby.remove()]);
  });

  it.each(["pg_terminate_backend", "pg_cancel_backend"] as const)(
    "is acknowledged only once the standby has the commit, even if %s ends the wait",
    async (what) => {
      const commit = nextCommit(await newest());
      await standby.halt();
      let acknowledged = false;
      const appended = storage.append(commit).then(() => {
        acknowledged = true;
      });
      await endTheWait(primary.url, what);
      // The second wait belongs to the statement that confirms the append.
      while (!acknowledged && !(await isWaiting(primary.url))) await delay(20);
      expect(acknowledged, "the standby is not there").toBe(false);
      await standby.resume();
      await appended;
      const [row] = await queryStandby(
        standby.url,
        `SELECT hash FROM ${schema}.commits WHERE version = ${commit.version}`,
      );
      expect(row).toEqual({ hash: commit.hash });
    },
  );

  it("is acknowledged to a call with the same idempotency key only once the standby has the commit", async () => {
    const impatient = await PostgresStorage.open({ url: primary.url, schema, retryMs: 0, statementTimeoutMs: 20_000 });
    const content = new MemoryContent({ workflows: [workflow] });
    const { sessionId } = await createEngine({ storage, content }).start({ workflowType: "one", target: "a" });
    const submission = { phase: 1, evidence: { done: true }, idempotencyKey: "once" };
    await standby.halt();
    const failing = failure(
      createEngine({ storage: impatient, content })
        .session(sessionId)
        .completePhase(submission.phase, submission.evidence),
    );
    await endTheWait(primary.url, "pg_terminate_backend");
    expect((await failing).details).toMatchObject({ outcome: "unknown" });
    let answered = false;
    const again = createEngine({ storage, content })
      .session(sessionId)
      .completePhase(submission.phase, submission.evidence);
    const answer = again.finally(() => {
      answered = true;
    });
    while (!answered && !(await isWaiting(primary.url))) await delay(20);
    expect(answered, "the standby is not there").toBe(false);
    await standby.resume();
    expect(await answer).toMatchObject({ passed: true, replayed: true });
    const commits = `SELECT FROM ${schema}.commits WHERE session_id = '${sessionId}'`;
    expect(await queryStandby(standby.url, commits)).toHaveLength(2);
    await impatient.close();
  });

  it("may be a removal, which is also acknowledged only once the standby has it", async () => {
    const gone = makeCommit({ sessionId: "gone" });
    await storage.append(gone);
    await standby.halt();
    let removed = false;
    const removing = storage.remove(gone.sessionId).then(() => {
      removed = true;
    });
    await endTheWait(primary.url, "pg_terminate_backend");
    while (!removed && !(await isWaiting(primary.url))) await delay(20);
    expect(removed, "the standby is not there").toBe(false);
    await standby.resume();
    await removing;
    expect(await queryStandby(standby.url, `SELECT FROM ${schema}.commits WHERE session_id = 'gone'`)).toEqual([]);
  });

  it("is never acknowledged if the standby never gets the commit", { timeout: 120_000 }, async () => {
    const before = await newest();
    const commit = nextCommit(before);
    await standby.halt();
    // The server's statement timeout does not end a wait for a standby, so the client has a timeout of its own.
    const pool = new Pool({ connectionString: primary.url, query_timeout: 500 });
    const own = await PostgresStorage.open({ pool, schema, retryMs: 500 });
    const failing = failure(own.append(commit));
    await endTheWait(primary.url, "pg_terminate_backend");
    const error = await failing;
    expect([error.code, error.details]).toEqual(["STORAGE_FAILED", expect.objectContaining({ outcome: "unknown" })]);
    await own.close();
    await pool.end();
    expect(await storage.read(commit.sessionId), "the primary has it").toEqual(commit);
    await primary.halt("crash");
    await standby.resume();
    await runSql(standby.url, "SELECT pg_promote()");
    const promoted = await PostgresStorage.open({ url: standby.url, schema });
    expect(await promoted.read(commit.sessionId), "the promoted standby does not have it").toEqual(before);
    await promoted.close();
  });
});
