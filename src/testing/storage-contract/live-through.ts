/** Lives through whole sessions with an engine, so that a killed process can be followed by one that repeats its calls. */
import * as z from "zod";
import { MemoryContent } from "../../content/memory.js";
import { createEngine, type Engine } from "../../phased/engine.js";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { defineWorkflow } from "../../workflow/define-workflow.js";
import { parseSessionId } from "../../workflow/names.js";
import type { WorkerTask } from "./children.js";
/** The markers in the log of a completed session, in their order. */
export function markersOf(key: string): string[] {
  return ["wrong", "large", "right", "last"].map((step) => `${key}-${step}`);
}

/**
 * Lives through a whole session for each key. Every call has its own idempotency key, so that the successor of a killed
 * process can repeat all its calls and continue.
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

/** A workflow whose evidence has a marker, which identifies a submission in the log. */
const marked = defineWorkflow({
  type: "marked",
  revision: "1",
  name: "Marked",
  description: "Refuses what is not marked as passing",
  phases: [1, 2].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: "# A phase",
    gate: { evidence: z.object({ marker: z.string(), passes: z.literal(true), filler: z.string() }) },
  })),
});

/** The type of that workflow. */
export const MARKED = "marked";

/** Creates an engine with that workflow and without limits. */
export function markedEngine(storage: StorageAdapter): Engine {
  return createEngine({
    storage,
    content: new MemoryContent({ workflows: [marked] }),
    limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9, maxActiveSessions: Number.POSITIVE_INFINITY },
  });
}

/** Returns evidence that passes or not. `filler` is a number of characters. */
export function markedEvidence(marker: string, passes: boolean, filler = 10) {
  return { marker, passes, filler: "x".repeat(filler) };
}

/** Returns the markers of all submissions in a session's log, in their order, including evidence in payloads. */
export async function markersIn(storage: StorageAdapter, sessionId: string): Promise<string[]> {
  const id = parseSessionId(sessionId);
  const markers: string[] = [];
  for await (const { body } of storage.log(id)) {
    const { events }: { events: { evidence?: { inline?: { marker: string }; payload?: string } }[] } = JSON.parse(body);
    for (const { evidence } of events) {
      if (evidence?.inline !== undefined) markers.push(evidence.inline.marker);
      if (evidence?.payload === undefined) continue;
      const stored: { marker: string } = JSON.parse((await storage.payload(id, evidence.payload)) ?? "{}");
      markers.push(stored.marker);
    }
  }
  return markers;
}
