import { type EngineOptions, parseSessionId, type StorageAdapter } from "phasegate";
import type { Commit } from "phasegate/storage";
import { makeEngine, startTwoPhases } from "./make-engine.js";
import { built } from "./workflows.js";

/** Text that is valid but difficult for stores: lone surrogates, NUL, line ends of all kinds, text like JSON. */
const ODD = 'a\ud800b\udc00 \u0000\u2028\u2029\r\n"\\{"head":1}\u{1f600} ünï';

/** Fills a storage with sessions of all kinds, large evidence and unusual texts; returns their ids by kind. */
export async function livedIn(storage: StorageAdapter, options: Partial<EngineOptions> = {}) {
  const { engine, clock } = makeEngine({ ...options, storage });
  const started = async (target: string) => {
    clock.advance(1000);
    return startTwoPhases(engine, target);
  };
  const odd = await started("odd");
  await engine.session(odd).completePhase(1, { summary: ODD, other: ODD });
  await engine.session(odd).completePhase(1, { ...built, summary: `fine ${ODD}` });
  await engine.session(odd).pause({ note: ODD });
  const large = await started("large");
  await engine.session(large).completePhase(1, { summary: ODD.repeat(8000) });
  await engine.session(large).completePhase(1, { ...built, summary: "x".repeat(100_000) });
  const done = await started("done");
  await engine.session(done).completePhase(1, built, { idempotencyKey: "once" });
  await engine.session(done).completePhase(2, {});
  const failed = await started("failed");
  for (const _ of "123") await engine.session(failed).completePhase(1, {});
  return { engine, clock, ids: { odd, large, done, failed } };
}

/** Returns all commits of a session with their payloads: everything that a copy must contain. */
export async function logOf(storage: StorageAdapter, id: string): Promise<Commit[]> {
  const sessionId = parseSessionId(id);
  const log: Commit[] = [];
  for await (const { payloads: _, ...commit } of storage.log(sessionId)) {
    const hashes = [...commit.body.matchAll(/"payload":"([0-9a-f]{64})"/g)].map(([, hash = ""]) => hash);
    const payloads = await Promise.all(
      hashes.map(async (hash) => ({ hash, body: (await storage.payload(sessionId, hash)) ?? "missing" })),
    );
    log.push({ ...commit, payloads });
  }
  return log;
}
