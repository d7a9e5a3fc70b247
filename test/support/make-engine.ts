import { createEngine, type EngineOptions, MemoryContent, MemoryStorage, type Workflow } from "phasegate";
import { FakeClock } from "phasegate/testing";
import { twoPhases } from "./workflows.js";

/** Creates an engine in memory with a fixed clock, and returns its parts. */
export function makeEngine(options: Partial<EngineOptions> = {}, workflows: readonly Workflow[] = [twoPhases]) {
  const clock = new FakeClock("2026-03-04T05:06:07.000Z");
  const storage = options.storage ?? new MemoryStorage();
  const content = options.content ?? new MemoryContent({ workflows });
  const engine = createEngine({ clock, ...options, storage, content });
  return { engine, clock, storage, content };
}

/** Starts a session on the two-phase workflow. */
export async function startTwoPhases(engine: ReturnType<typeof makeEngine>["engine"], target = "src/a.ts") {
  const { sessionId } = await engine.start({ workflowType: "two_phases", target });
  return sessionId;
}
