/** A transition in phase 300 with 300 artifacts of 10 KiB, against one in phase 3. */
import { medians, ratio, row, time } from "./measure.mjs";
import { benchTool, completePhase, evidenceOf, startSession } from "./workflow.mjs";

const EVIDENCE = evidenceOf(10 * 1024);
const PHASES = 301;

/** Completes one phase and rolls back to it, so that the next round finds the session in the same place. */
async function at(host, phase) {
  const sessionId = await startSession(host);
  for (let number = 1; number < phase; number += 1) await completePhase(host, sessionId, number, EVIDENCE);
  return {
    beforeEach: async () => {
      const { head } = await host.engine.session(sessionId).state();
      if (head.phase !== phase) await host.engine.session(sessionId).rollback(phase);
    },
    fn: async () => completePhase(host, sessionId, phase, EVIDENCE),
  };
}

export async function run() {
  const host = benchTool(PHASES);
  const found = await medians({ early: await at(host, 3), late: await at(host, 300) });
  return [
    row(
      "complete_phase in phase 300, 300 artifacts of 10 KiB",
      time(found.late),
      `in phase 3 ${time(found.early)}`,
      ratio(found.late, found.early),
      1.2,
    ),
  ];
}
