/** Runtimes that are killed by SIGKILL while they append: what was acknowledged before is there afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { parseSessionId } from "../../../src/workflow/names.js";
import { countingCommit, payloadBeside } from "../../support/counting-commit.js";
import { howOften } from "../../support/how-often.js";
import { temporaryRoots } from "../files/temporary-root.js";
import { RemoteStorage } from "./remote-storage.js";
import { bundled } from "./workerd.js";

const SESSIONS = ["one", "two", "three"].map(parseSessionId);
const KILLS = howOften(5, 100);
/** The longest time from the first acknowledged commit to the kill, in milliseconds. */
const LIFE_MS = 400;

const newRoot = temporaryRoots();
let script: string;
beforeAll(async () => {
  script = await bundled("storage-object.ts");
});

interface Running {
  readonly url: URL;
  /** Kills the runtime with the process that has started it. */
  kill(): Promise<void>;
}

async function serve(bundle: string, folder: string): Promise<Running> {
  const worker = join(import.meta.dirname, "serve-worker.ts");
  // A group of its own, to which the signal goes: workerd is a child of this process.
  const child = spawn(process.execPath, [worker, bundle, folder], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const kill = () => killGroup(child);
  onTestFinished(kill);
  const [line] = await once(child.stdout, "data");
  return { url: new URL(String(line).trim()), kill };
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.signalCode !== null) return;
  const closed = once(child, "close");
  process.kill(-child.pid, "SIGKILL");
  await closed;
}

/** Appends to a session until the runtime is killed. Adds each acknowledged commit's hash, by its version. */
async function appendOn(sessions: RemoteStorage, id: (typeof SESSIONS)[number], acknowledged: Map<number, string>) {
  for (;;) {
    try {
      const commit = countingCommit(id, await sessions.call("read", id));
      await sessions.call("append", commit);
      acknowledged.set(commit.version, commit.hash);
    } catch (error) {
      // `fetch` fails with a TypeError when the connection ends.
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

test.skipIf(process.platform === "win32")(
  "a runtime that is killed has lost nothing that it has acknowledged, and the next one goes on",
  { timeout: 60_000 + KILLS * 10_000 },
  async () => {
    const folder = await newRoot();
    const bundle = join(folder, "worker.mjs");
    await writeFile(bundle, script);
    const acknowledged = new Map(SESSIONS.map((id) => [id, new Map<number, string>()]));
    for (let round = 0; round <= KILLS; round++) {
      const { url, kill } = await serve(bundle, join(folder, "objects"));
      const sessions = new RemoteStorage(url, "sessions");
      for (const [id, hashes] of acknowledged) {
        const log = await sessions.call("log", id);
        const before = hashes.size;
        for (const [version, hash] of hashes) expect(log[version - 1]?.hash).toBe(hash);
        // At most the one commit that was under way has come in without an answer.
        for (const { version, hash } of log) hashes.set(version, hash);
        expect(hashes.size - before).toBeLessThanOrEqual(1);
        for (const [index, { version, previousHash }] of log.entries()) {
          expect([version, previousHash]).toEqual([index + 1, log[index - 1]?.hash ?? ""]);
          const payload = payloadBeside(index);
          if (payload !== undefined) expect(await sessions.call("payload", id, payload)).toMatch(`${version} by`);
        }
        if (log.length > 0) {
          expect(await sessions.call("read", id)).toEqual(log.at(-1));
          const { items } = await sessions.call("list", { idPrefix: id });
          expect(items).toEqual([log.at(-1)?.summary]);
        }
      }
      if (round === KILLS) break;
      const working = [...acknowledged].map(([id, hashes]) => appendOn(sessions, id, hashes));
      await delay(50 + Math.random() * LIFE_MS);
      await kill();
      await Promise.all(working);
    }
    for (const hashes of acknowledged.values()) expect(hashes.size).toBeGreaterThan(KILLS);
  },
);
