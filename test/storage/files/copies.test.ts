/**
 * A copy of a store that a plain tool makes while the store is written and compacted is a valid store. It contains
 * every session that existed when the tool started, with at least the commits that it had then.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdir, readdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { Commit, SessionSummary } from "../../../src/ports/storage-adapter.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { collect } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import { checkSession } from "../../support/acknowledged.js";
import { countingCommit } from "../../support/counting-commit.js";
import { howOften } from "../../support/how-often.js";
import { type Worker, workersOf } from "../../support/worker-process.js";
import { temporaryRoots } from "./temporary-root.js";

const COPIES = howOften(1, 50);
const SESSIONS = howOften(8, 400);
const RESTING_COMMITS = 6;
/** Number of ended sessions that are added before each copy, and compacted while it is made. */
const FRESH = howOften(4, 20);

const run = promisify(execFile);
const newRoot = temporaryRoots();
const startTraffic = workersOf(join(import.meta.dirname, "traffic-worker.ts"));
const workers: Worker[] = [];

afterEach(async () => {
  for (const { process } of workers) process.kill("SIGKILL");
  await Promise.all(workers.splice(0).map(({ ended }) => ended));
});

type CopyTool = (from: string, to: string) => Promise<unknown>;

const TOOLS: Readonly<Record<string, { readonly program: string; readonly copy: CopyTool }>> = {
  "cp -a": { program: "cp", copy: (from, to) => run("cp", ["-a", `${from}/.`, to]) },
  tar: {
    program: "tar",
    copy: async (from, to) => {
      const told = await run("tar", ["-cf", `${to}.tar`, "-C", from, "."]).catch(vanished);
      await run("tar", ["-xf", `${to}.tar`, "-C", to]);
      await rm(`${to}.tar`);
      return told;
    },
  },
  "rsync -a": { program: "rsync", copy: (from, to) => run("rsync", ["-a", `${from}/`, to]) },
  "rsync -aH": { program: "rsync", copy: (from, to) => run("rsync", ["-aH", `${from}/`, to]) },
};

/** Ignores the exit codes 1 and 24, which report that temporary files were deleted during the copy. */
function vanished(error: { readonly code?: unknown }): void {
  if (error.code !== 1 && error.code !== 24) throw error;
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function addResting(storage: FileStorage, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index++) {
    const id = parseSessionId(`resting_${index}`);
    let newest: Commit | undefined;
    for (let version = 1; version <= RESTING_COMMITS; version++) {
      newest = countingCommit(id, newest, version === RESTING_COMMITS ? "completed" : "active");
      await storage.append(newest);
    }
  }
}

async function allSummaries(storage: FileStorage): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await storage.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

/** Sets the times of all files back, so that they are packed, and packed files deleted, while the next copy is made. */
async function ageAll(root: string): Promise<void> {
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  for (const name of await readdir(join(root, "sessions"), { recursive: true })) {
    await utimes(join(root, "sessions", name), hoursAgo, hoursAgo).catch(() => undefined); // a removal may be faster
  }
}

async function checkCopy(copy: string, before: ReadonlyMap<string, Commit>): Promise<void> {
  const storage = await FileStorage.open(copy);
  expect(await collect(storage.damaged())).toEqual([]);
  const listed = new Map((await allSummaries(storage)).map((summary) => [summary.sessionId as string, summary]));
  const active = new Set((await storage.list({ status: ["active"], limit: 1000 })).items.map((one) => one.sessionId));
  for (const [id, commit] of before) {
    const summary = listed.get(id);
    expect(summary, `${id} is listed`).toBeDefined();
    const version = await checkSession(storage, id, [{ id, version: commit.version, hash: commit.hash }]);
    expect(version).toBeGreaterThanOrEqual(commit.version);
    // To an audit, a head that is newer than the log means that the log was cut off.
    expect(await storage.hint(commit.sessionId)).toBeLessThanOrEqual(version);
    expect(active.has(commit.sessionId), `${id} among the active ones`).toBe(summary?.status === "active");
  }
  await storage.close();
}

describe(`${COPIES} copies of a store, made while it is written and compacted`, () => {
  for (const [name, { program, copy }] of Object.entries(TOOLS)) {
    const reason = isInstalled(program) ? "" : ` (skipped: ${program} is not installed)`;
    it.skipIf(reason !== "")(
      `by ${name}: each contains every session intact${reason}`,
      {
        timeout: 3_600_000,
      },
      async () => {
        const root = await newRoot();
        const storage = await FileStorage.open(root);
        await addResting(storage, 0, SESSIONS);
        workers.push(startTraffic(root, "one"), startTraffic(root, "two"));
        await Promise.all(
          workers.map(({ process }) => new Promise((resolve) => process.stdout?.once("data", resolve))),
        );
        let [lost, versions] = [0, 0];
        for (let count = 0; count < COPIES; count++) {
          await addResting(storage, SESSIONS + count * FRESH, FRESH);
          const before = new Map<string, Commit>();
          for (const { sessionId } of await allSummaries(storage)) {
            const newest = await storage.read(sessionId);
            if (newest !== undefined) before.set(sessionId, newest);
          }
          await ageAll(root);
          const to = join(await newRoot(), "copy");
          await mkdir(to);
          const compacting = compactFresh(storage, SESSIONS + count * FRESH);
          await copy(root, to).catch(vanished);
          await compacting;
          // The writers are suspended meanwhile, since the store would only grow.
          for (const { process } of workers) process.kill("SIGSTOP");
          await checkCopy(to, before).catch((error: unknown) => {
            lost += 1;
            if (lost === 1) console.log(`${name}, copy ${count}:`, error);
          });
          for (const { process } of workers) process.kill("SIGCONT");
          versions += before.size;
          await rm(to, { recursive: true });
        }
        console.log(`${name}: ${COPIES} copies, ${versions} sessions in them, ${lost} copies incomplete`);
        expect(lost).toBe(0);
        for (const { process } of workers) expect(process.exitCode).toBeNull();
      },
    );
  }
});

/** Compacts the sessions that were added last. */
async function compactFresh(storage: FileStorage, from: number): Promise<void> {
  for (let index = from; index < from + FRESH; index++) await storage.compact(parseSessionId(`resting_${index}`));
}
