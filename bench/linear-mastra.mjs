/** The same linear run on Mastra: each step is one of `createStep`, its output is the input of the next one. */
import { Mastra } from "@mastra/core";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { PostgresStore } from "@mastra/pg";
import * as z from "zod";
import { allAtOnce } from "./linear-states.mjs";

/** It would call a server on the network. */
process.env.MASTRA_TELEMETRY_DISABLED = "1";

function mastraOn(storage, states, runs) {
  const schema = z.object({ state: z.string() });
  const base = createWorkflow({ id: "linear", inputSchema: schema, outputSchema: schema });
  const withSteps = states.reduce((workflow, state, index) => {
    const execute = async () => ({ state });
    return workflow.then(createStep({ id: `step_${index + 1}`, inputSchema: schema, outputSchema: schema, execute }));
  }, base);
  const mastra = new Mastra({ storage, workflows: { linear: withSteps.commit() }, logger: false });
  const workflow = mastra.getWorkflow("linear");
  const run = async () => {
    const { status, result } = await (await workflow.createRun()).start({ inputData: { state: "" } });
    if (status !== "success" || result.state !== states.at(-1))
      throw new Error(`the last step was not done: ${status}`);
  };
  return { run: allAtOnce(run, runs), close: () => storage.close() };
}

/** On libSQL, its database set as ours is: WAL (it does that) and FULL. */
export async function mastraInSqlite(states, file, runs = 1) {
  const storage = new LibSQLStore({ id: "bench", url: `file:${file}` });
  await storage.init();
  await storage.client.execute("PRAGMA synchronous = FULL");
  const { run, close } = mastraOn(storage, states, runs);
  return { run, close: () => checkSync(storage).then(close) };
}

/** libSQL replaces its connection now and then: the last one, too, must sync each commit. */
async function checkSync({ client }) {
  for (const [name, wanted] of Object.entries({ journal_mode: "wal", synchronous: 2 })) {
    const { rows } = await client.execute(`PRAGMA ${name}`);
    if (rows[0]?.[name] !== wanted) throw new Error(`the database is set to ${name} ${rows[0]?.[name]}`);
  }
}

/** On PostgreSQL, with 10 connections as the others have. */
export async function mastraInPostgres(states, url, runs = 1) {
  const storage = new PostgresStore({ id: "bench", connectionString: url, max: 10 });
  await storage.init();
  return mastraOn(storage, states, runs);
}
