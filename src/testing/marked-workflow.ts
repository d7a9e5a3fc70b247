import * as z from "zod";
import { MemoryContent } from "../adapters/memory/memory-content.js";
import { defineWorkflow } from "../definition/define-workflow.js";
import { parseSessionId } from "../definition/names.js";
import { createEngine, type Engine } from "../engine/engine.js";

import type { StorageAdapter } from "../ports/storage-adapter.js";

/** A workflow whose evidence carries a marker, by which each submission is known again in the log. */
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

/** An engine on that workflow, in which nobody is held up by a limit. */
export function markedEngine(storage: StorageAdapter): Engine {
  return createEngine({
    storage,
    content: new MemoryContent({ workflows: [marked] }),
    limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9, maxActiveSessions: Number.POSITIVE_INFINITY },
  });
}

/** Evidence that passes or not, with so many characters of filler. */
export function markedEvidence(marker: string, passes: boolean, filler = 10) {
  return { marker, passes, filler: "x".repeat(filler) };
}

/** The markers of all submissions in a session's log, in their order; evidence beside the log included. */
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
