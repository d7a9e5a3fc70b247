/**
 * Transitions of 100 sessions in one process, all sessions at the same time, against the same process working on one after
 * the other. Each session is a chain: its next transition begins when the one before is durable.
 */
import { createEngine, MemoryContent } from "phasegate";
import { ADAPTERS } from "./adapters.mjs";
import { refusingWorkflow } from "./contention-workflow.mjs";
import { median, ratio, row, time, warmUp } from "./measure.mjs";

const SESSIONS = 100;
const TRANSITIONS = 12;
const ROUNDS = 5;
const BARS = { SqliteStorage: 1 / 5, PostgresStorage: 1 / 6, FileStorage: 1 / 4 };

/** A transition on a storage in microseconds: of all sessions at the same time, and of one after the other. */
export async function bothWays(storage) {
  const content = new MemoryContent({ workflows: [refusingWorkflow] });
  const limits = { maxActiveSessions: Infinity, maxAttempts: 1e9, maxAttemptsTotal: 1e9 };
  const engine = createEngine({ storage, content, limits });
  const ids = [];
  for (let index = 0; index < SESSIONS; index += 1) {
    ids.push((await engine.start({ workflowType: "refusing", target: `${index}` })).sessionId);
  }
  const chain = async (id) => {
    const evidence = { done: false, note: "x".repeat(1000) };
    for (let index = 0; index < TRANSITIONS; index += 1) await engine.session(id).completePhase(1, evidence);
  };
  const timed = async (work) => {
    const begun = performance.now();
    await work();
    return ((performance.now() - begun) * 1000) / (SESSIONS * TRANSITIONS);
  };
  const inTurn = async () => {
    for (const id of ids) await chain(id);
  };
  const atOnce = () => Promise.all(ids.map(chain));
  await warmUp({ fn: atOnce });
  const times = { together: [], inTurn: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    times.together.push(await timed(atOnce));
    times.inTurn.push(await timed(inTurn));
  }
  await engine.close();
  return { together: median(times.together), alone: median(times.inTurn) };
}

async function measure(name) {
  const adapter = ADAPTERS[name];
  const place = await adapter.newPlace();
  const { together, alone } = await bothWays(await adapter.open(place));
  await adapter.dropPlace(place);
  const what = `a transition, ${SESSIONS} sessions at the same time, ${name}`;
  return row(what, time(together), `one session after the other ${time(alone)}`, ratio(together, alone), BARS[name]);
}

/** Measures all adapters, or only one. */
export async function run(only) {
  const rows = [];
  const names = Object.keys(BARS).filter((name) => only === undefined || only === name);
  for (const name of names) rows.push(await measure(name));
  return rows;
}
