import { expect } from "vitest";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { stubborn } from "./stubborn-workflow.js";

/** Returns an engine that only reads. */
export function lookingEngine(storage: StorageAdapter) {
  return createEngine({ storage, content: new MemoryContent({ workflows: [stubborn] }) });
}

/**
 * Returns the markers of all submissions in a session's log, in order, also of evidence that is stored as a payload.
 */
export async function readMarkers(storage: StorageAdapter, id: string): Promise<string[]> {
  const markers: string[] = [];
  for await (const { body } of storage.log(parseSessionId(id))) {
    const { events }: { events: { evidence?: { inline?: { marker: string }; payload?: string } }[] } = JSON.parse(body);
    for (const { evidence } of events) {
      if (evidence?.inline !== undefined) markers.push(evidence.inline.marker);
      if (evidence?.payload !== undefined) markers.push(await markerOfPayload(storage, id, evidence.payload));
    }
  }
  return markers;
}

async function markerOfPayload(storage: StorageAdapter, id: string, hash: string): Promise<string> {
  const text = await storage.payload(parseSessionId(id), hash);
  expect(text, "a payload is missing").toBeDefined();
  const { marker }: { marker: string } = JSON.parse(text ?? "{}");
  return marker;
}
