/** A linear run on phasegate: each step is a phase, completed through the engine with the state as its evidence. */
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { SqliteStorage } from "phasegate/sqlite";
import * as z from "zod";
import { allAtOnce } from "./linear-states.mjs";
import { sizeOf } from "./measure.mjs";

function linearWorkflow(steps) {
  return defineWorkflow({
    type: "linear",
    revision: "1",
    name: "Linear",
    description: "One step after the other",
    phases: Array.from({ length: steps }, (_, index) => ({
      number: index + 1,
      name: `Step ${index + 1}`,
      content: `# Step ${index + 1}`,
      gate: { evidence: z.object({ state: z.string() }) },
    })),
  });
}

/** A run of so many phases on a storage, each in a session of its own. */
export function linearRun(storage, states) {
  const content = new MemoryContent({ workflows: [linearWorkflow(states.length)] });
  const engine = createEngine({ storage, content, limits: { maxActiveSessions: Infinity } });
  let runs = 0;
  return {
    engine,
    run: async () => {
      runs += 1;
      const { sessionId } = await engine.start({ workflowType: "linear", target: `src/linear-${runs}.ts` });
      for (const [index, state] of states.entries()) {
        const { passed } = await engine.session(sessionId).completePhase(index + 1, { state });
        if (!passed) throw new Error(`step ${index + 1} was not done`);
      }
      return sessionId;
    },
  };
}

/** On MemoryStorage. What it keeps is what it was handed, all of it. */
export function phasegateInMemory(states) {
  const storage = new MemoryStorage();
  const append = storage.append.bind(storage);
  let commits = [];
  storage.append = async (commit) => {
    commits.push(commit);
    await append(commit);
  };
  const { engine, run } = linearRun(storage, states);
  let last;
  return {
    run: async () => {
      last = await run();
    },
    forget: async () => {
      if (last !== undefined) await storage.remove(last);
      commits = [];
    },
    bytes: () => sizeOf(commits),
    close: () => engine.close(),
  };
}

/** On SqliteStorage, as it opens a file: WAL and FULL. */
export async function phasegateInSqlite(states, file, runs = 1) {
  const storage = await SqliteStorage.open(file);
  const { engine, run } = linearRun(storage, states);
  return { run: allAtOnce(run, runs), close: () => engine.close() };
}

/** On PostgresStorage, with its own pool of 10 connections. */
export async function phasegateInPostgres(states, url, runs = 1) {
  const storage = await PostgresStorage.open({ url });
  const { engine, run } = linearRun(storage, states);
  return { run: allAtOnce(run, runs), close: () => engine.close().then(() => storage.close()) };
}
