/** A session is started and found again in PostgreSQL. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";

const gate = { fields: { tests: { type: "integer", required: true } } };
const phases = [{ number: 1, name: "Test", content: "Run the tests.", gate }];
const release = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "Test it", phases });
const storage = await PostgresStorage.open({ url: process.env.DATABASE_URL, schema: process.env.PEER_SCHEMA });
const engine = createEngine({ storage, content: new MemoryContent({ workflows: [release] }) });
const { sessionId } = await engine.start({ workflowType: "release", target: "package.json" });
const { passed } = await engine.session(sessionId).completePhase(1, { tests: 12 });
assert.equal(passed, true);
assert.equal((await engine.session(sessionId).state()).status, "completed");
await storage.close();
