/**
 * A process that passes gates of sessions with plans and rolls them back, repeatedly, in all of them at the same time, until
 * it is killed.
 *
 * - `plan-worker <state> <project> <session>…`
 */
import { writeSync } from "node:fs";
import { FilePlans } from "../../src/content/file-plans.js";
import { createEngine } from "../../src/phased/engine.js";
import { FileStorage } from "../../src/storage/files/storage.js";
import { claimOf, planned } from "./planned-workflow.js";

const [state = "", root = "", ...sessionIds] = process.argv.slice(2);
const engine = createEngine({
  storage: await FileStorage.open(state),
  content: planned,
  plans: new FilePlans({ root }),
});
writeSync(1, "at work\n");
await Promise.all(
  sessionIds.map(async (sessionId) => {
    for (;;) {
      const { head } = await engine.session(sessionId).state();
      if (head.phase === 3) await engine.session(sessionId).rollback(1);
      else await engine.session(sessionId).completePhase(head.phase, claimOf(head.phase));
    }
  }),
);
