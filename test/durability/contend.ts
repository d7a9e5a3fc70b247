import { writeSync } from "node:fs";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { begin } from "../support/begin.js";
import { markedEvidence, stubborn } from "./stubborn-workflow.js";

/**
 * The work of a process that contends with others: `<worker> <place> <count> <session>…` submits evidence `count`
 * times, to each session in turn, and prints a line for each submission that was acknowledged.
 */
export async function contend(open: (place: string) => Promise<StorageAdapter>): Promise<void> {
  const [place = "", count = "1", ...ids] = process.argv.slice(2);
  const engine = createEngine({
    storage: await open(place),
    content: new MemoryContent({ workflows: [stubborn] }),
    limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9, maxActiveSessions: Number.POSITIVE_INFINITY },
  });
  await begin();
  for (let index = 0; index < Number(count); index += 1) {
    const sessionId = ids[index % ids.length] ?? "";
    const marker = `${process.pid}-${index}`;
    await engine.session(sessionId).completePhase(1, markedEvidence(marker, false));
    writeSync(1, `${sessionId} ${marker}\n`);
  }
  await engine.close();
}
