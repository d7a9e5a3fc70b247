import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { temporaryRoots } from "../storage/files/temporary-root.js";
import { howOften } from "../support/how-often.js";
import { DURABLE, openStorage } from "../support/open-storage.js";
import { workersOf } from "../support/worker-process.js";
import { lookingEngine, readMarkers } from "./read-markers.js";

/** The storage contract kills 100 processes over each storage in every run; most kills here are in the long run. */
const KILLS = howOften(4, 1000);
const STEPS = ["wrong", "large", "right", "last"];

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "engine-worker.ts"));

/**
 * A process runs session after session and is killed at a random time. The next process repeats the same calls with the
 * same keys, from the session on that the killed process was running.
 */
describe.each(Object.entries(DURABLE))("an engine on %s", (name, place) => {
  it(`continues after each of ${KILLS} kills, and nothing is lost or done twice`, {
    timeout: 900_000,
  }, async () => {
    const counts = await killAgainAndAgain(join(await newRoot(), place));
    console.log(`${KILLS} kills of engines on ${name}: ${counts}, none lost or doubled`);
  });
});

async function killAgainAndAgain(place: string): Promise<string> {
  const acknowledged = new Map<string, Set<string>>();
  let first = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const keys = Array.from({ length: 40 }, (_, index) => `s${first + index}`);
    const worker = startWorker(place, "live", ...keys);
    await new Promise<void>((resolve) => {
      worker.process.stdout?.once("data", () => resolve());
      worker.process.once("close", () => resolve());
    });
    await delay(Math.random() * 40);
    worker.process.kill("SIGKILL");
    const { lines, errors } = await worker.ended;
    expect(errors).toBe("");
    for (const line of lines) note(acknowledged, line);
    first += lines.filter((line) => line.endsWith("-last")).length;
  }
  const last = startWorker(place, "live", `s${first}`);
  const { lines, exitCode } = await last.ended;
  expect([lines.length, exitCode], "the session that the last kill left is lived to its end").toEqual([5, 0]);
  for (const line of lines) note(acknowledged, line);
  await check(place, acknowledged);
  const count = [...acknowledged.values()].reduce((sum, markers) => sum + markers.size, 0);
  return `${acknowledged.size} sessions, ${count} acknowledged calls`;
}

function note(acknowledged: Map<string, Set<string>>, line: string): void {
  const [id = "", marker = ""] = line.split(" ");
  acknowledged.set(id, (acknowledged.get(id) ?? new Set()).add(marker));
}

async function check(place: string, acknowledged: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const storage = await openStorage(place);
  const engine = lookingEngine(storage);
  for (const id of acknowledged.keys()) {
    expect(await engine.audit(id)).toMatchObject({ intact: true });
    const { head } = await engine.getState(id);
    expect(head.status).toBe("completed");
    expect(await readMarkers(storage, id)).toEqual(STEPS.map((step) => `${head.target}-${step}`));
  }
  const listed = await engine.listSessions({ limit: 1000 });
  expect(listed.items.map(({ sessionId }) => sessionId).sort()).toEqual([...acknowledged.keys()].sort());
  await engine.close();
  await storage.close?.();
  if (place.endsWith(".db")) checkIntegrity(place);
}

/**
 * Checks the file with SQLite itself: no torn pages, no index that differs from its table, no row without its parent.
 */
function checkIntegrity(file: string): void {
  const database = new DatabaseSync(file);
  expect(database.prepare("PRAGMA integrity_check").all().map(Object.values)).toEqual([["ok"]]);
  expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  database.close();
}
