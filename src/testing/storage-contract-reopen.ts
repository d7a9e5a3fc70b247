import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { appendAll } from "./append-all.js";
import { collect, present, refuses } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { ReopenCheck } from "./storage-check.js";

/** What is there after a restart. */
export const reopenChecks: readonly ReopenCheck[] = [
  [
    "reopen: commits, payloads, lists and counts are as before",
    async (storage, reopen) => {
      const payload = { hash: digest("x"), body: "x" };
      const chain = await appendAll(storage, commitChain(5, { payloads: [payload] }));
      const ended = makeCommit({ sessionId: "ended", summary: { status: "completed" } });
      await storage.append(ended);
      const [first, last] = [chain[0], present(chain.at(-1), "a commit")];
      const again = await reopen();
      assert.deepEqual(await again.read(last.sessionId), last);
      const log = (await collect(again.log(last.sessionId))).map((commit) => commit.hash);
      assert.deepEqual(
        log,
        chain.map((commit) => commit.hash),
      );
      assert.equal(await again.payload(first.sessionId, payload.hash), payload.body);
      assert.deepEqual((await again.list({})).items, [ended.summary, last.summary]);
      assert.deepEqual((await again.list({ status: ["active"] })).items, [last.summary]);
      assert.equal(await again.countActive(10), 1);
    },
  ],
  [
    "reopen: the session goes on where it was",
    async (storage, reopen) => {
      const chain = await appendAll(storage, commitChain(3));
      const [first, last] = [chain[0], present(chain.at(-1), "a commit")];
      const again = await reopen();
      await refuses("CONFLICT", again.append(nextCommit(first)));
      const next = nextCommit(last);
      await again.append(next);
      assert.deepEqual(await again.read(last.sessionId), next);
    },
  ],
  [
    "reopen: a cursor is still valid, and a removed id still used up",
    async (storage, reopen) => {
      const commits = ["a", "b", "c"].map((sessionId) => makeCommit({ sessionId }));
      await appendAll(storage, commits);
      const page = await storage.list({ limit: 1 });
      const removed = present(commits[1], "a commit");
      await storage.remove(removed.sessionId);
      const again = await reopen();
      const rest = await again.list({ cursor: present(page.cursor, "a cursor") });
      assert.deepEqual(rest.items, [present(commits[2], "a commit").summary]);
      await refuses("CONFLICT", again.append(removed));
    },
  ],
];
