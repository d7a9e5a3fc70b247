/**
 * Sessions in PostgreSQL: two hosts on one database; each continues where the other one stopped. Set DATABASE_URL to an
 * empty database, for example one of `docker run --rm -p 5432:5432 -e POSTGRES_PASSWORD=secret postgres:18`.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import * as z from "zod";

const url = process.env.DATABASE_URL;
if (url === undefined)
  throw new Error("Set DATABASE_URL, for example to postgres://postgres:secret@localhost/postgres");

const workflow = defineWorkflow({
  type: "handover",
  revision: "1",
  name: "Handover",
  description: "Begun on one host, ended on another",
  phases: [1, 2].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: "# Work",
    gate: { evidence: z.object({ done: z.literal(true) }) },
  })),
});

// #region open
import { PostgresStorage } from "phasegate/postgres";

const content = new MemoryContent({ workflows: [workflow] });
const monday = createEngine({ storage: await PostgresStorage.open({ url }), content });
const tuesday = createEngine({ storage: await PostgresStorage.open({ url, schema: "phasegate" }), content });
// #endregion open

// Another process could be the one that watches.
const abort = new AbortController();
const storage = await PostgresStorage.open({ url });
const watched = storage.watch({ status: ["completed"] }, { signal: abort.signal });

const { sessionId } = await monday.start({ workflowType: "handover", target: "report.md" });
await monday.completePhase(sessionId, { phase: 1, evidence: { done: true } });
const { passed } = await tuesday.completePhase(sessionId, { phase: 2, evidence: { done: true } });
assert.ok(passed);
for await (const commit of watched) {
  assert.equal(commit.sessionId, sessionId);
  console.log(`${commit.sessionId} is ${commit.summary.status}, said by another connection`);
  abort.abort();
}

await Promise.all([monday.close(), tuesday.close(), storage.close()]);
