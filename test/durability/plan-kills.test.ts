import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { FilePlans } from "../../src/content/file-plans.js";
import { createEngine } from "../../src/phased/engine.js";
import { FileStorage } from "../../src/storage/files/storage.js";
import { temporaryRoots } from "../storage/files/temporary-root.js";
import { howOften } from "../support/how-often.js";
import { workersOf } from "../support/worker-process.js";
import { claimOf, planned, THREE_PHASES, tickedIds } from "./planned-workflow.js";

const KILLS = howOften(4, 300);
const PLANS = ["tasks.md", "more-tasks.md", "other-tasks.md"];

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "plan-worker.ts"));

/**
 * A process passes gates and rolls back, in several sessions at the same time, and is killed at a random time. The next call
 * on each session corrects its plan.
 */
it(`a plan's ticks match its session after each of ${KILLS} kills`, { timeout: 900_000 }, async () => {
  const [state, project] = [await newRoot(), await newRoot()];
  for (const name of PLANS) await writeFile(join(project, name), THREE_PHASES);
  const open = async () =>
    createEngine({ storage: await FileStorage.open(state), content: planned, plans: new FilePlans({ root: project }) });
  const sessions = new Map<string, string>();
  for (const name of PLANS) {
    sessions.set(name, (await (await open()).start({ workflowType: "planned", target: name })).sessionId);
  }
  let behind = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = startWorker(state, project, ...sessions.values());
    await new Promise<void>((resolve) => {
      worker.process.stdout?.once("data", () => resolve());
      worker.process.once("close", () => resolve());
    });
    await delay(Math.random() * 60);
    worker.process.kill("SIGKILL");
    expect((await worker.ended).errors).toBe("");
    const engine = await open();
    for (const [name, sessionId] of sessions) {
      const { completedPhases, head, plan } = await engine.session(sessionId).state();
      if (plan?.ticks !== undefined) behind += 1;
      expect(head.due).toBeUndefined();
      const text = await readFile(join(project, name), "utf8");
      expect(tickedIds(text)).toEqual(completedPhases.flatMap((phase) => [`${phase}.1`, `${phase}.2`]));
      expect(text.replaceAll("[x]", "[ ]"), "nothing else has changed").toBe(THREE_PHASES);
      expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
    }
    await engine.close();
  }
  // Old temporary files next to the plan are deleted by the next tick. One is added here, so that there is at least
  // one.
  await writeFile(join(project, ".tasks.md.0123abcd.phasegate.tmp"), "");
  const left = (await readdir(project)).filter((name) => !PLANS.includes(name));
  const own = new RegExp(`^\\.(${PLANS.join("|")})\\.([\\da-f]+\\.phasegate\\.tmp|phasegate\\.claim)$`);
  expect(left.filter((name) => !own.test(name))).toEqual([]);
  for (const name of left) await utimes(join(project, name), 1, 1);
  const engine = await open();
  for (const sessionId of sessions.values()) {
    const { head } = await engine.session(sessionId).state();
    if (head.phase === 3) await engine.session(sessionId).rollback(1);
    else await engine.session(sessionId).completePhase(head.phase, claimOf(head.phase));
  }
  await engine.close();
  expect((await readdir(project)).sort()).toEqual(PLANS.toSorted());
  console.log(`${KILLS} kills of engines with a plan: ${behind} of them between commit and event, all made good`);
});
