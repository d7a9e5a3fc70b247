/**
 * A host in a process of its own, which works and watches while servers fail over:
 * `failover-worker <url> <schema> <folder> <name> <pooled|direct>`. In the folder it writes
 *
 * - `<name>.acknowledged`: `<time in ms> <session> <version> <key>` for each answer, before the next call;
 * - `<name>.failed`: the failures of the storage after which it repeated a call with its key;
 * - `<name>.watched`: `<session> <version> <hash>` for each commit that its watch delivered.
 *
 * It starts no further session once the folder has a file `stop`; it then writes `<name>.done`, and ends once there is a
 * file `end`.
 */
import { existsSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { MemoryContent } from "../../src/content/memory.js";
import { isPhasegateError } from "../../src/errors.js";
import { createEngine } from "../../src/phased/engine.js";
import { PostgresStorage } from "../../src/storage/postgres/storage.js";
import { begin } from "../support/begin.js";
import { LEGS, relay } from "./relay-workflow.js";

/** Sessions of the host's own that it works on at once. One more is common to all hosts. */
const OWN = 6;
const THINKING_MS = 40;

const [url = "", schema = "", folder = "", name = "", how] = process.argv.slice(2);
const [acknowledged, failed, watched] = ["acknowledged", "failed", "watched"].map((kind) => {
  const file = openSync(join(folder, `${name}.${kind}`), "a");
  return (...words: readonly (string | number)[]) => writeSync(file, `${words.join(" ")}\n`);
});
const storage = await PostgresStorage.open({
  url,
  schema,
  retryMs: 60_000,
  statementTimeoutMs: 5000,
  pollMs: 200,
  preparedStatements: how !== "pooled",
});
const verify = async () => {
  await delay(Math.random() * 10);
  return { ok: true, message: "the time was taken" };
};
const engine = createEngine({
  storage,
  content: new MemoryContent({ workflows: [relay] }),
  verifiers: { timekeeper: { verify } },
  limits: { maxAttempts: 100, maxAttemptsTotal: 1000, maxActiveSessions: Number.POSITIVE_INFINITY },
});

const stopping = new AbortController();
const watching = (async () => {
  for await (const { sessionId, version, hash } of engine.watch(
    { workflowType: "relay" },
    { signal: stopping.signal },
  )) {
    watched?.(sessionId, version, hash);
  }
})();
// An append waits until the position of the storage's watches is known: from here on the watch must see all commits.
await engine.start({ workflowType: "relay", target: "warm-up" });
await begin();
const chains = ["common", ...Array.from({ length: OWN }, (_, index) => `${name}-${index}`)].map(work);
const worked = Promise.all(chains).then(() => writeFileSync(join(folder, `${name}.done`), ""));
await Promise.all([worked, watching, ended()]);
await engine.close();

async function ended(): Promise<void> {
  while (!existsSync(join(folder, "end"))) await delay(50);
  stopping.abort();
}

/** Runs one session after the other. Each call has a key, so that a call without an answer can be repeated. */
async function work(chain: string): Promise<void> {
  for (let count = 0; !existsSync(join(folder, "stop")); count += 1) {
    const key = `${chain}-${count}`;
    const request = { workflowType: "relay", target: key, idempotencyKey: key };
    const { sessionId } = await persist(() => engine.start(request));
    acknowledged?.(now(), sessionId, 1, key);
    for (let leg = 1; leg <= LEGS; leg += 1) {
      // A refused submission is a commit too, and one that is done twice shows in the log.
      await submit(sessionId, leg, `${key}-${leg}-refused`, 0);
      await submit(sessionId, leg, `${key}-${leg}-passed`, leg);
    }
  }
}

async function submit(sessionId: string, phase: number, marker: string, leg: number): Promise<void> {
  await delay(Math.random() * 2 * THINKING_MS);
  const request = { phase, evidence: { leg, marker }, idempotencyKey: marker };
  const first = await persist(() => engine.session(sessionId).completePhase(request.phase, request.evidence));
  acknowledged?.(now(), sessionId, first.version, marker);
  if (Math.random() > 0.25) return;
  const again = await persist(() => engine.session(sessionId).completePhase(request.phase, request.evidence));
  if (!again.replayed || again.version !== first.version) throw new Error(`${marker}: another answer`);
  acknowledged?.(now(), sessionId, again.version, marker);
}

function now(): number {
  return Math.round(performance.timeOrigin + performance.now());
}

/** Repeats a call with its key while the storage fails. */
async function persist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isPhasegateError(error, "STORAGE_FAILED")) throw error;
      failed?.(now(), JSON.stringify(error.details));
    }
  }
}
