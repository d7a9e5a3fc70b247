/** A linear run side by side with LangGraph: in memory against its MemorySaver, on SQLite against its SqliteSaver. */
import { langgraphInMemory, langgraphInSqlite } from "./linear-langgraph.mjs";
import { phasegateInMemory, phasegateInSqlite } from "./linear-phasegate.mjs";
import { sideBySide } from "./side-by-side.mjs";

export async function run() {
  return [
    ...(await sideBySide({
      where: "memory",
      name: "LangGraph, MemorySaver",
      theirs: langgraphInMemory,
      ours: phasegateInMemory,
    })),
    ...(await sideBySide({
      where: "SQLite FULL",
      name: "LangGraph, SqliteSaver",
      theirs: langgraphInSqlite,
      ours: phasegateInSqlite,
    })),
  ];
}
