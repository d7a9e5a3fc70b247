/** The same linear run on OpenWorkflow: each step is one of `step.run`, in a worker of the same process. */
import { OpenWorkflow } from "openworkflow";
import { BackendSqlite } from "openworkflow/sqlite";

/**
 * On its SQLite backend, set to FULL. A worker looks for runs when it is told to, and what ends a run is listened to, so
 * that none of the time is waiting between two looks.
 */
export async function openworkflowInSqlite(states, file) {
  const backend = BackendSqlite.connect(file);
  backend.db.exec("PRAGMA synchronous = FULL");
  const complete = backend.completeWorkflowRun.bind(backend);
  let ended = () => {};
  backend.completeWorkflowRun = async (params) => {
    const run = await complete(params);
    ended();
    return run;
  };
  const client = new OpenWorkflow({ backend });
  const workflow = client.defineWorkflow({ name: "linear" }, async ({ step }) => {
    for (const [index, state] of states.entries()) {
      const done = await step.run({ name: `step ${index + 1}` }, async () => ({ state }));
      if (done.state !== state) throw new Error(`step ${index + 1} was not done`);
    }
  });
  // Two, so that a run need not wait until the one before has left its place.
  const worker = client.newWorker({ concurrency: 2 });
  const run = async () => {
    const end = new Promise((resolve) => {
      ended = resolve;
    });
    await workflow.run();
    await worker.tick();
    await end;
  };
  return { run, close: () => backend.stop() };
}
