import { createEngine, type EngineOptions, MemoryContent, MemoryStorage, type Workflow } from "phasegate";
import { FakeClock } from "phasegate/testing";
import { systemClock } from "../../src/ports/clock.js";
import { digest } from "../../src/workflow/json.js";
import { twoPhases } from "./workflows.js";

/** A fixed clock whose ids are counted, so that a test knows the ids of sessions. */
export class CountingClock extends FakeClock {
  #ids = 0;

  newId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }
}

/** A clock on which a wrong id waits no time, for tests that ask for many; other timers are real. */
export function impatientClock(): CountingClock {
  const after = (milliseconds: number, callback: () => void) =>
    systemClock.after(milliseconds <= 50 ? 0 : milliseconds, callback);
  return Object.assign(new CountingClock("2026-03-04T05:06:07.000Z"), { after });
}

/** Returns the id of the nth session of a host with such a clock, by its beginning: the workflow and the target. */
export function idOn(workflowAndTarget: string, nth = 1): string {
  const random = Number.parseInt(digest(`id-${nth}`).slice(0, 10), 16).toString(32);
  return `${workflowAndTarget}_20260304_050607_${random.padStart(8, "0")}`;
}

/** Creates an engine in memory with a fixed clock, and returns its parts. */
export function makeEngine(options: Partial<EngineOptions> = {}, workflows: readonly Workflow[] = [twoPhases]) {
  const clock = new CountingClock("2026-03-04T05:06:07.000Z");
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
