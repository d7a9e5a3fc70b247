import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { parseSessionId } from "../definition/names.js";
import { appendAll } from "./append-all.js";
import { collect, present, refuses, wins } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";

/** What is left of a session that was removed: nothing but that its id is used up. */
export const removeChecks: readonly StorageCheck[] = [
  [
    "remove: nothing is there afterwards",
    async (storage) => {
      const payload = { hash: digest("x"), body: "x" };
      const first = makeCommit({ payloads: [payload] });
      const last = nextCommit(first, { summary: { status: "deleted" } });
      await appendAll(storage, [first, last]);
      await storage.remove(first.sessionId);
      assert.equal(await storage.read(first.sessionId), undefined);
      assert.deepEqual(await collect(storage.log(first.sessionId)), []);
      assert.equal(await storage.payload(first.sessionId, payload.hash), undefined);
      assert.deepEqual((await storage.list({})).items, []);
      assert.equal(await storage.countActive(10), 0);
    },
  ],
  [
    "remove: an active session no longer counts",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await storage.remove(first.sessionId);
      assert.deepEqual((await storage.list({ status: ["active"] })).items, []);
      assert.equal(await storage.countActive(10), 0);
    },
  ],
  [
    "remove: the id is never used again",
    async (storage) => {
      const chain = await appendAll(storage, commitChain(3));
      const last = present(chain.at(-1), "a commit");
      await storage.remove(last.sessionId);
      await refuses("CONFLICT", storage.append(makeCommit()));
      await refuses("CONFLICT", storage.append(makeCommit({ body: "other", summary: { createdAt: last.at } })));
      await refuses("CONFLICT", storage.append(nextCommit(last)));
      assert.equal(await storage.read(last.sessionId), undefined);
      assert.deepEqual((await storage.list({})).items, []);
    },
  ],
  [
    "remove: twice, and of an unknown id, is no error",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await storage.remove(first.sessionId);
      await storage.remove(first.sessionId);
      await storage.remove(parseSessionId("nobody"));
    },
  ],
  [
    "remove: against commits at once, the session is gone in the end",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await Promise.all([wins(storage.append(nextCommit(first))), storage.remove(first.sessionId)]);
      assert.equal(await storage.read(first.sessionId), undefined);
      await refuses("CONFLICT", storage.append(makeCommit()));
    },
  ],
  [
    "remove: other sessions stay",
    async (storage) => {
      const [gone, stays] = await appendAll(storage, [
        makeCommit({ sessionId: "a" }),
        makeCommit({ sessionId: "a-b" }),
      ]);
      await storage.remove(gone.sessionId);
      assert.deepEqual(await storage.read(stays.sessionId), stays);
      assert.deepEqual((await storage.list({ status: ["active"] })).items, [stays.summary]);
    },
  ],
];
