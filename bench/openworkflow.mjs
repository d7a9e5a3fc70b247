/** The linear run side by side with OpenWorkflow's SQLite backend. */
import { openworkflowInSqlite } from "./linear-openworkflow.mjs";
import { phasegateInSqlite } from "./linear-phasegate.mjs";
import { sideBySide } from "./side-by-side.mjs";

export async function run() {
  const pair = { name: "OpenWorkflow", theirs: openworkflowInSqlite, ours: phasegateInSqlite };
  return sideBySide({ where: "SQLite FULL", ...pair });
}
