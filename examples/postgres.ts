/**
 * Sessions in PostgreSQL: two hosts on one database; each continues where the other one stopped. To run it, copy it into a
 * project with "type": "module" in its package.json; Node runs no TypeScript inside of node_modules.
 *
 *     npm install phasegate pg zod
 *     docker run --rm -d -p 5432:5432 -e POSTGRES_PASSWORD=secret postgres:18
 *     DATABASE_URL=postgres://postgres:secret@localhost/postgres node postgres.ts
 *
 * It needs Node 22.18 or later (before that, add --experimental-strip-types).
 */
import assert from "node:assert/strict";
import process from "node:process";
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

// Another process could be the one that watches. It begins before the hosts do: a watch has what follows its beginning.
const abort = new AbortController();
const storage = await PostgresStorage.open({ url });
const watched = storage.watch({ status: ["completed"] }, { signal: abort.signal });

// #region open
import { PostgresStorage } from "phasegate/postgres";

const content = new MemoryContent({ workflows: [workflow] });
const monday = createEngine({ storage: await PostgresStorage.open({ url }), content });
const tuesday = createEngine({ storage: await PostgresStorage.open({ url, schema: "phasegate" }), content });
// #endregion open

const { sessionId } = await monday.start({ workflowType: "handover", target: "report.md" });
await monday.session(sessionId).completePhase(1, { done: true });
const { passed } = await tuesday.session(sessionId).completePhase(2, { done: true });
assert.ok(passed);
for await (const commit of watched) {
  if (commit.sessionId !== sessionId) continue; // other hosts may use the database, too
  console.log(`${commit.sessionId} is ${commit.summary.status}, said by another connection`);
  abort.abort();
}

await Promise.all([monday.close(), tuesday.close(), storage.close()]);
