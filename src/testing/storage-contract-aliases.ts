import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { collect, present, refuses } from "./contract-case.js";
import { makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";

/** Objects that are handed in or given back are nobody's hands on what is stored. */
export const aliasChecks: readonly StorageCheck[] = [
  [
    "aliases: changing what was appended or given back changes nothing that is stored",
    async (storage) => {
      const commit = makeCommit();
      const given = { ...commit, summary: { ...commit.summary } };
      await storage.append(given);
      given.summary.target = given.body = "changed";
      for (let time = 1; time <= 2; time++) {
        const read = present(await storage.read(commit.sessionId), "the commit");
        assert.deepEqual(read, commit);
        spoil(read.summary);
        spoil(read);
        for (const summary of (await storage.list({})).items) spoil(summary);
      }
      assert.deepEqual((await storage.list({})).items, [commit.summary]);
      await refuses("CONFLICT", storage.append(commit));
    },
  ],
  [
    "aliases: changing what a log or a list gave back changes nothing that is stored",
    async (storage) => {
      const first = makeCommit();
      const second = nextCommit(first);
      for (const commit of [first, second]) await storage.append(commit);
      for (let time = 1; time <= 2; time++) {
        const log = await collect(storage.log(first.sessionId));
        assert.deepEqual(log, [first, second]);
        for (const commit of log) {
          spoil(commit.summary);
          spoil(commit);
        }
        const page = await storage.list({});
        assert.deepEqual(page.items, [second.summary]);
        spoil(page.items);
      }
      await storage.append(nextCommit(second));
    },
  ],
  [
    "aliases: a commit that the caller changes while it is appended is stored as it was handed in",
    async (storage) => {
      const payload = { hash: digest("x"), body: "x" };
      const first = makeCommit({ payloads: [payload] });
      const handed = { ...payload };
      const given = { ...first, summary: { ...first.summary }, payloads: [handed] };
      const appended = storage.append(given);
      given.summary.target = given.body = given.hash = handed.body = "changed";
      given.payloads.length = 0;
      await appended;
      const { payloads, ...kept } = first;
      assert.deepEqual(payloads, [payload]);
      // An adapter may leave them out.
      const { payloads: _, ...read } = (await storage.read(first.sessionId)) ?? {};
      assert.deepEqual(read, kept);
      assert.equal(await storage.payload(first.sessionId, payload.hash), payload.body);
      assert.deepEqual((await storage.list({})).items, [first.summary]);
      await storage.append(nextCommit(first, { payloads: [] }));
    },
  ],
];

// A frozen object refuses, which is as good.
function spoil(value: object): void {
  for (const key of Object.keys(value)) Reflect.set(value, key, "changed");
}
