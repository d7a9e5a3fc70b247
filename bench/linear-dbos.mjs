/** The same linear run on DBOS: each step is one of `DBOS.runStep`. DBOS is one for a process, and needs PostgreSQL. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import { allAtOnce } from "./linear-states.mjs";

/** What the steps hand on. A workflow is registered once, before DBOS is launched. */
let given = [];
const linearRun = DBOS.registerWorkflow(
  async () => {
    for (const [index, state] of given.entries()) {
      const done = await DBOS.runStep(async () => ({ state }), { name: `step ${index + 1}` });
      if (done.state !== state) throw new Error(`step ${index + 1} was not done`);
    }
  },
  { name: "linear" },
);

/** On PostgreSQL, with DBOS's own pool of 10 connections. */
export async function dbosInPostgres(states, url, runs = 1) {
  given = states;
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: url, logLevel: "error" });
  await DBOS.launch();
  return { run: allAtOnce(() => linearRun(), runs), close: () => DBOS.shutdown() };
}
