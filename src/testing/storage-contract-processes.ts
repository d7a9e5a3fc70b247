import { setTimeout as delay } from "node:timers/promises";
import { checkSessions } from "./check-sessions.js";
import { NotTried } from "./contract-case.js";
import type { StorageProcess } from "./storage-check.js";
import { type StorageChild, withChildren } from "./storage-child.js";
import type { StageCheck, StorageStage } from "./storage-stage.js";

const PROCESSES = 3;
const APPENDS = 40;
/** How long a stopped process stays so, if the others are held up by it. */
const STOPPED_MS = 250;
const PAUSES_MAX = 25;

/** Several processes on one storage, each awake when the others don't expect it. */
export const processChecks: readonly StageCheck[] = [
  ["processes: no update is lost among those that append to one session", (stage) => race(stage, ["one"])],
  [
    "processes: no update is lost among those that append to several sessions",
    (stage) => race(stage, ["one", "two", "three"]),
  ],
  [
    "processes: one that is stopped in the middle and wakes up late overwrites nothing",
    async (stage) => {
      // There are no such signals on Windows.
      if (process.platform === "win32") throw new NotTried("processes can't be stopped on Windows");
      const target = await shared(stage);
      const lines = await withChildren(async (start) => {
        const task = { kind: "append", ids: ["common"], count: 1e9 } as const;
        const [sleeper, other] = [start(target, task), start(target, task)];
        const pauses = Math.min(PAUSES_MAX, Math.ceil(stage.kills / 10));
        for (let count = 0; count < pauses; count++) await pause(sleeper, other);
        await Promise.all([sleeper.stop(), other.stop()]);
        return [...sleeper.lines, ...other.lines];
      });
      await checkSessions(await stage.reopen(), lines);
    },
  ],
];

async function race(stage: StorageStage, ids: readonly string[]): Promise<void> {
  const target = await shared(stage);
  const lines = await withChildren(async (start) => {
    const task = { kind: "append", ids, count: APPENDS } as const;
    const children = Array.from({ length: PROCESSES }, () => start(target, task));
    await Promise.all(children.map((child) => child.finish()));
    return children.flatMap((child) => child.lines);
  });
  await checkSessions(await stage.reopen(), lines);
}

/** Stops one wherever it is, lets the other write, and wakes it up. */
async function pause(sleeper: StorageChild, other: StorageChild): Promise<void> {
  await sleeper.until(sleeper.lines.length + 1, "a process that was stopped must go on");
  await delay(Math.random() * 5);
  sleeper.signal("SIGSTOP");
  // The other may have to wait for what the stopped one holds: then nothing is written, and nothing lost.
  const more = other.lines.length + 3;
  await Promise.race([other.until(more, "a process must go on beside one that is stopped"), delay(STOPPED_MS)]);
  sleeper.signal("SIGCONT");
}

/** How other processes open a storage that several may use. */
async function shared(stage: StorageStage): Promise<StorageProcess> {
  const target = await stage.process();
  if (stage.storage.capabilities.multiProcess) return target;
  throw new NotTried("the adapter does not say that several may use a storage at once");
}
