import assert from "node:assert/strict";
import { parseSessionId } from "../definition/names.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { collect } from "./contract-case.js";
import { MARKED, markedEngine, markedEvidence, markersIn } from "./marked-workflow.js";
import type { StageCheck } from "./storage-stage.js";

/** How many keys a session remembers, beside the one that started it. */
const KEYS = 16;
const START = { workflowType: MARKED, target: "a.md", idempotencyKey: "start" };

/** Repeated calls through the engine: adapters know nothing of keys, and yet they rest on them. */
export const keyChecks: readonly StageCheck[] = [
  [
    "keys: each of the last 16 calls, and the start, gives its first answer again, also to another engine",
    async (stage) => {
      const { storage } = stage;
      const engine = markedEngine(storage);
      const started = await engine.start(START);
      const { sessionId } = started;
      const submit = (on: StorageAdapter, index: number) =>
        markedEngine(on).completePhase(sessionId, {
          phase: 1,
          evidence: markedEvidence(`m${index}`, false),
          idempotencyKey: `k${index}`,
        });
      const answers: unknown[] = [];
      for (let index = 0; index < KEYS; index++) answers.push({ ...(await submit(storage, index)), replayed: true });
      const repeat = async (on: StorageAdapter) => {
        assert.equal((await markedEngine(on).start(START)).sessionId, sessionId, "a start must give its session again");
        for (let index = KEYS - 1; index >= 0; index--) assert.deepEqual(await submit(on, index), answers[index]);
        const log = await collect(on.log(parseSessionId(sessionId)));
        assert.equal(log.length, KEYS + 1, "a repeated call was done twice");
        assert.equal((await on.list({})).items.length, 1, "a repeated start has begun another session");
      };
      await repeat(storage);
      if (stage.canReopen) await repeat(await stage.reopen());
    },
  ],
  [
    "keys: of calls under one key at once one is done, and all get its answer",
    async ({ storage }) => {
      const engines = Array.from({ length: 6 }, () => markedEngine(storage));
      const starts = await Promise.all(engines.map((engine) => engine.start(START)));
      const [{ sessionId } = { sessionId: "" }] = starts;
      assert.deepEqual(new Set(starts.map((start) => start.sessionId)), new Set([sessionId]));
      const request = { phase: 1, evidence: markedEvidence("once", false), idempotencyKey: "once" };
      const answers = await Promise.all(engines.map((engine) => engine.completePhase(sessionId, request)));
      assert.equal(answers.filter(({ replayed }) => !replayed).length, 1, "one call must be the first");
      for (const answer of answers) assert.deepEqual({ ...answer, replayed: true }, { ...answers[0], replayed: true });
      assert.deepEqual(await markersIn(storage, sessionId), ["once"]);
      assert.equal((await storage.list({})).items.length, 1);
    },
  ],
];
