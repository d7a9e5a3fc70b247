/** The same linear run on OpenWorkflow: each step is one of `step.run`, in a worker of the same process. */
import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import { BackendSqlite } from "openworkflow/sqlite";

/** On SQLite, set to FULL. */
export function openworkflowInSqlite(states, file, runs = 1) {
  const backend = BackendSqlite.connect(file);
  backend.db.exec("PRAGMA synchronous = FULL");
  return openworkflowIn(backend, states, runs);
}

/** On PostgreSQL, with its own pool of 10 connections. */
export async function openworkflowInPostgres(states, url, runs = 1) {
  return openworkflowIn(await BackendPostgres.connect(url), states, runs);
}

/**
 * So many runs at once on a backend. A worker looks for runs when it is told to, and what ends a run is listened to, so that
 * none of the time is waiting between two looks.
 */
function openworkflowIn(backend, states, runs) {
  const complete = backend.completeWorkflowRun.bind(backend);
  let open = 0;
  let ended = () => {};
  backend.completeWorkflowRun = async (params) => {
    const run = await complete(params);
    open -= 1;
    if (open === 0) ended();
    return run;
  };
  const client = new OpenWorkflow({ backend });
  const workflow = client.defineWorkflow({ name: "linear" }, async ({ step }) => {
    for (const [index, state] of states.entries()) {
      const done = await step.run({ name: `step ${index + 1}` }, async () => ({ state }));
      if (done.state !== state) throw new Error(`step ${index + 1} was not done`);
    }
  });
  // Twice as many places, so that a run need not wait until those before have left theirs.
  const worker = client.newWorker({ concurrency: 2 * runs });
  const run = async () => {
    open = runs;
    const end = new Promise((resolve) => {
      ended = resolve;
    });
    await Promise.all(Array.from({ length: runs }, () => workflow.run()));
    await worker.tick();
    await end;
  };
  return { run, close: () => backend.stop() };
}
