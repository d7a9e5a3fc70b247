/** The same linear run on LangGraph: each step is a node that sets the state, and is durable before the next begins. */
import { Annotation, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import pg from "pg";
import { allAtOnce } from "./linear-states.mjs";
import { sizeOf } from "./measure.mjs";

/** A run of so many steps on a checkpointer, each in a thread of its own. */
function linearRun(checkpointer, states) {
  const graph = new StateGraph(Annotation.Root({ state: Annotation() }));
  const names = states.map((_, index) => `step_${index + 1}`);
  for (const [index, name] of names.entries()) graph.addNode(name, () => ({ state: states[index] }));
  for (const [index, name] of [...names, END].entries()) graph.addEdge(names[index - 1] ?? START, name);
  const app = graph.compile({ checkpointer });
  let runs = 0;
  return async () => {
    runs += 1;
    const thread = `linear_${runs}`;
    const options = { configurable: { thread_id: thread }, durability: "sync", recursionLimit: states.length + 2 };
    const { state } = await app.invoke({ state: "" }, options);
    if (state !== states.at(-1)) throw new Error("the last step was not done");
    return thread;
  };
}

/** On MemorySaver. */
export function langgraphInMemory(states) {
  const saver = new MemorySaver();
  const run = linearRun(saver, states);
  let last;
  return {
    run: async () => {
      last = await run();
    },
    forget: async () => {
      if (last !== undefined) await saver.deleteThread(last);
    },
    bytes: () => sizeOf([saver.storage, saver.writes]),
    close: () => {},
  };
}

/** On SqliteSaver, its database set as ours is: WAL (it does that) and FULL. */
export async function langgraphInSqlite(states, file, runs = 1) {
  const saver = SqliteSaver.fromConnString(file);
  saver.setup();
  saver.db.pragma("synchronous = FULL");
  const [mode, sync] = ["journal_mode", "synchronous"].map((name) => saver.db.pragma(name, { simple: true }));
  if (mode !== "wal" || sync !== 2) throw new Error(`the database is set to ${mode} and ${sync}`);
  return { run: allAtOnce(linearRun(saver, states), runs), close: () => saver.db.close() };
}

/** On PostgresSaver, with 10 connections. */
export async function langgraphInPostgres(states, url, runs = 1) {
  const saver = new PostgresSaver(new pg.Pool({ connectionString: url, max: 10 }));
  await saver.setup();
  return { run: allAtOnce(linearRun(saver, states), runs), close: () => saver.end() };
}
