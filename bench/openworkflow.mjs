/**
 * The linear run side by side with OpenWorkflow's SQLite backend. It keeps the output of a step and no more, so that its
 * rows are smaller where states are small: ours have the head, two hashes, the summary for lists and a line of history.
 * Where they are large, ours are packed and hashed, which takes processor time and halves the bytes.
 */
import { openworkflowInSqlite } from "./linear-openworkflow.mjs";
import { phasegateInSqlite } from "./linear-phasegate.mjs";
import { sideBySide } from "./side-by-side.mjs";

export async function run() {
  const pair = { name: "OpenWorkflow", theirs: openworkflowInSqlite, ours: phasegateInSqlite };
  return sideBySide({ where: "SQLite FULL", ...pair });
}
