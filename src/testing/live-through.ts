import type { StorageAdapter } from "../ports/storage-adapter.js";
import { MARKED, markedEngine, markedEvidence } from "./marked-workflow.js";
import type { WorkerTask } from "./worker-task.js";

/** The markers that the log of a session that was lived through has, in their order. */
export function markersOf(key: string): string[] {
  return ["wrong", "large", "right", "last"].map((step) => `${key}-${step}`);
}

/**
 * Lives through a whole session for each key. Every call has an idempotency key of its own, so that whoever comes after
 * one that was killed repeats all its calls, and goes on.
 */
export async function liveThrough(
  storage: StorageAdapter,
  { keys }: Extract<WorkerTask, { kind: "live" }>,
  say: (line: string) => void,
): Promise<void> {
  const engine = markedEngine(storage);
  for (const key of keys) {
    const keyed = (step: string) => ({ idempotencyKey: `${key} ${step}` });
    const { sessionId } = await engine.start({ workflowType: MARKED, target: key, ...keyed("start") });
    const submit = async (phase: number, step: string, passes: boolean, filler?: number) => {
      const evidence = markedEvidence(`${key}-${step}`, passes, filler);
      await engine.completePhase(sessionId, { phase, evidence, ...keyed(step) });
      say(`${sessionId} ${key}-${step}`);
    };
    say(`${sessionId} ${key}`);
    await submit(1, "wrong", false);
    await submit(1, "large", false, 100_000);
    await submit(1, "right", true);
    await engine.pause(sessionId, keyed("pause"));
    await engine.resume(sessionId, keyed("resume"));
    await submit(2, "last", true);
  }
}
