/**
 * A process that works on sessions through the engine, and prints what was acknowledged, in one write each.
 *
 * - `engine-worker <place> submit <count> <session>…`: submits evidence that every gate refuses, to each
 *   session in turn: transitions that any number of processes may make at once.
 * - `engine-worker <place> live <lanes> <key>…`: runs a whole session for each key, from its start to its end, so many
 *   sessions at the same time; every call has a key of its own, so that a later process can repeat it.
 */
import { writeSync } from "node:fs";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import { begin } from "../support/begin.js";
import { openStorage } from "../support/open-storage.js";
import { markedEvidence, stubborn } from "./stubborn-workflow.js";

const [place = "", mode, ...rest] = process.argv.slice(2);
const storage = await openStorage(place);
const engine = createEngine({
  storage,
  content: new MemoryContent({ workflows: [stubborn] }),
  limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9, maxActiveSessions: Number.POSITIVE_INFINITY },
});

await begin();
if (mode === "submit") await submit(Number(rest[0]), rest.slice(1));
else await liveAll(Number(rest[0]), rest.slice(1));
await engine.close();
await storage.close?.();

function acknowledge(sessionId: string, marker: string): void {
  writeSync(1, `${sessionId} ${marker}\n`);
}

async function submit(count: number, ids: readonly string[]): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const sessionId = ids[index % ids.length] ?? "";
    const marker = `${process.pid}-${index}`;
    await engine.session(sessionId).completePhase(1, markedEvidence(marker, false));
    acknowledge(sessionId, marker);
  }
}

async function liveAll(lanes: number, keys: readonly string[]): Promise<void> {
  const left = keys.values();
  const follow = async () => {
    for (const key of left) await live(key);
  };
  await Promise.all(Array.from({ length: lanes }, follow));
}

async function live(key: string): Promise<void> {
  const idempotencyKey = (step: string) => `${key} ${step}`;
  const request = { workflowType: "stubborn", target: key, idempotencyKey: idempotencyKey("start") };
  const { sessionId } = await engine.start(request);
  acknowledge(sessionId, `${key}-started`);
  for (const [step, passes] of [
    ["wrong", false],
    ["large", false],
    ["right", true],
  ] as const) {
    const marker = `${key}-${step}`;
    const evidence = markedEvidence(marker, passes, step === "large" ? 100_000 : 10);
    await engine.session(sessionId).completePhase(1, evidence, { idempotencyKey: idempotencyKey(step) });
    acknowledge(sessionId, marker);
  }
  await engine.session(sessionId).pause({ idempotencyKey: idempotencyKey("pause") });
  await engine.session(sessionId).resume({ idempotencyKey: idempotencyKey("resume") });
  const evidence = markedEvidence(`${key}-last`, true);
  await engine.session(sessionId).completePhase(2, evidence, { idempotencyKey: idempotencyKey("last") });
  acknowledge(sessionId, `${key}-last`);
}
