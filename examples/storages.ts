/**
 * One host on three storages: in memory, in files, in a SQLite database. `examples/postgres.ts` has the fourth. Needs Node
 * 22.18 or later.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, type Engine, MemoryContent } from "phasegate";
import * as z from "zod";

const note = defineWorkflow({
  type: "note",
  revision: "1",
  name: "Note",
  description: "Write a note",
  phases: [{ number: 1, name: "Write", content: "Write it.", gate: { evidence: z.object({ words: z.int().min(1) }) } }],
});
const content = new MemoryContent({ workflows: [note] });

// #region memory
import { MemoryStorage } from "phasegate";

const inMemory = createEngine({ storage: new MemoryStorage(), content });

// #endregion memory

// #region files
import { FileStorage } from "phasegate/fs";

const inFiles = createEngine({ storage: await FileStorage.open("state"), content });

// #endregion files

// #region sqlite
import { SqliteStorage } from "phasegate/sqlite";

const inSqlite = createEngine({ storage: await SqliteStorage.open("state.db"), content });
// #endregion sqlite

for (const engine of [inMemory, inFiles, inSqlite]) await write(engine);

// #region close
await inFiles.close(); // closes its storage too
// #endregion close
await Promise.all([inMemory.close(), inSqlite.close()]);

// What was acknowledged is there when the storage is opened again.
const again = createEngine({ storage: await FileStorage.open("state"), content });
const { items } = await again.listSessions({ status: ["completed"] });
assert.equal(items.length, 1);
console.log(`${items[0]?.sessionId} is ${items[0]?.status}`);
await again.close();

async function write(engine: Engine): Promise<void> {
  const { sessionId } = await engine.start({ workflowType: "note", target: "note.md" });
  assert.ok((await engine.session(sessionId).completePhase(1, { words: 120 })).passed);
}
