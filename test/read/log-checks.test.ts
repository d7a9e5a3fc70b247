import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/ports/clock.js";
import { LogChecks } from "../../src/read/log-checks.js";
import { SessionIndex } from "../../src/read/session-index.js";
import { sourcesOf } from "../../src/read/sources.js";
import type { StatisticsRead } from "../../src/read/statistics.js";
import { Recorder } from "../../src/workspace/session/machine.js";
import { twoPhases } from "../support/workflows.js";

/** A storage in which the first commits of some sessions are not what was written, and which counts whole readings of logs. */
class DamagedStorage extends MemoryStorage {
  readonly changed = new Set<string>();
  readings = 0;

  override async *log(...given: Parameters<MemoryStorage["log"]>) {
    if (given[1]?.limit === undefined) this.readings += 1;
    for await (const commit of super.log(...given)) {
      const isDamaged = commit.version === 2 && this.changed.has(commit.sessionId);
      yield isDamaged ? { ...commit, body: `${commit.body} ` } : commit;
    }
  }
}

async function makeLogs() {
  const storage = new DamagedStorage();
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [twoPhases] }) });
  const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
  for (const _ of [1, 2]) {
    await engine.session(sessionId).pause({});
    await engine.session(sessionId).resume({});
  }
  const recorder = new Recorder({ storage, clock: systemClock });
  const recorded = "intake-20261123-a1b2";
  await recorder.open(recorded, { workflow: "intake", agent: "alex", inputs: {}, acts: [] });
  await recorder.record(recorded, { type: "read", path: "a.md", bytes: 1 });
  await recorder.complete(recorded, "completed", "Done.");
  const inspected = { engine, recorded: { storage } };
  const statistics: StatisticsRead = {};
  const told: string[] = [];
  const logs = new LogChecks(inspected, statistics, systemClock, (_, id) => told.push(id));
  const index = () => new SessionIndex(sourcesOf(inspected), { damaged: () => logs.damaged });
  return { storage, engine, sessionId, recorded, logs, index, told, sources: sourcesOf(inspected) };
}

describe("the logs behind a list", () => {
  it("are read once: damage is found, and told, and so is that it is mended", async () => {
    const { storage, sessionId, recorded, logs, index, told } = await makeLogs();
    for (const id of [sessionId, recorded]) storage.changed.add(id);
    const first = index();
    await logs.follow(first);
    expect(told.toSorted()).toEqual([sessionId, recorded].toSorted());
    expect(first.sessions).toEqual([]);
    expect(first.broken.map(({ code }) => code)).toEqual(["TAMPERED", "TAMPERED"]);
    storage.changed.clear();
    const second = index();
    await logs.follow(second);
    expect([second.sessions.length, second.broken.length, told.length]).toEqual([2, 0, 4]);
    // What was intact is not read again, unless it changes.
    storage.readings = 0;
    await logs.follow(index());
    expect(storage.readings).toBe(0);
  });

  it("are not read where there are too many sessions for a list", async () => {
    const { storage, engine, sessionId, logs, told, sources } = await makeLogs();
    await engine.start({ workflowType: "two_phases", target: "src/b.ts" });
    storage.changed.add(sessionId);
    storage.readings = 0;
    await logs.follow(new SessionIndex(sources, { max: 1 }));
    expect([storage.readings, told]).toEqual([0, []]);
  });
});
