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
/** The number of sessions that every second process runs at once: their commits may be written together. */
const LANES = 10;

const newRoot = temporaryRoots();
const startWorker = workersOf(join(import.meta.dirname, "engine-worker.ts"));

/**
 * A process runs session after session, or several at the same time, and is killed at a random time. The next process repeats
 * the same calls with the same keys in all sessions that the killed process has not finished.
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
  const finished = new Set<string>();
  /** The sessions below this number may have begun. */
  let begun = 0;
  const unfinished = (end: number) =>
    Array.from({ length: end }, (_, index) => `s${index}`).filter((key) => !finished.has(key));
  const noteAll = (lines: readonly string[]) => {
    for (const line of lines) {
      const [id = "", marker = ""] = line.split(" ");
      acknowledged.set(id, (acknowledged.get(id) ?? new Set()).add(marker));
      const [key = "", step] = marker.split("-");
      if (step === "last") finished.add(key);
      // As many others may have begun without having said so.
      begun = Math.max(begun, Number(key.slice(1)) + 1 + LANES);
    }
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    const lanes = kill % 2 === 0 ? LANES : 1;
    const worker = startWorker(place, "live", `${lanes}`, ...unfinished(begun + 100));
    await new Promise<void>((resolve) => {
      worker.process.stdout?.once("data", () => resolve());
      worker.process.once("close", () => resolve());
    });
    await delay(Math.random() * 40);
    worker.process.kill("SIGKILL");
    const { lines, errors } = await worker.ended;
    expect(errors).toBe("");
    noteAll(lines);
  }
  const left = unfinished(begun);
  const last = startWorker(place, "live", `${LANES}`, ...left);
  const { lines, exitCode } = await last.ended;
  expect([lines.length, exitCode], "the sessions that are left are lived to their ends").toEqual([5 * left.length, 0]);
  noteAll(lines);
  await check(place, acknowledged);
  const count = [...acknowledged.values()].reduce((sum, markers) => sum + markers.size, 0);
  return `${acknowledged.size} sessions, ${count} acknowledged calls`;
}

async function check(place: string, acknowledged: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const storage = await openStorage(place);
  const engine = lookingEngine(storage);
  for (const id of acknowledged.keys()) {
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
    const { head } = await engine.session(id).state();
    expect(head.status).toBe("completed");
    expect(await readMarkers(storage, id)).toEqual(STEPS.map((step) => `${head.target}-${step}`));
  }
  const listed: string[] = [];
  let page = await engine.listSessions({ limit: 1000 });
  for (;;) {
    listed.push(...page.items.map(({ sessionId }) => sessionId));
    if (page.cursor === undefined) break;
    page = await engine.listSessions({ limit: 1000, cursor: page.cursor });
  }
  expect(listed.sort()).toEqual([...acknowledged.keys()].sort());
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
