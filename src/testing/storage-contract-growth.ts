import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { parseSessionId } from "../definition/names.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { appendAll } from "./append-all.js";
import { collect, ifThere, present, refuses, wins } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { StageCheck } from "./storage-stage.js";

const NOBODY = parseSessionId("nobody");

/** `size` and `compact`, where an adapter has them. */
export const growthChecks: readonly StageCheck[] = [
  [
    "size: counts commits, and grows with them",
    async ({ storage }) => {
      const size = ifThere(storage.size?.bind(storage), "the adapter has no `size`");
      assert.equal(await size(NOBODY), undefined);
      let before = 0;
      let commit = makeCommit();
      for (let count = 1; count <= 5; count++) {
        if (count > 1) commit = nextCommit(commit, { body: incompressible(count) });
        await storage.append(commit);
        const { commits, bytes } = present(await size(commit.sessionId), "a size");
        assert.equal(commits, count);
        assert.ok(Number.isSafeInteger(bytes) && bytes > before, `${bytes} bytes after ${before}`);
        before = bytes;
      }
      await storage.remove(commit.sessionId);
      assert.equal(await size(commit.sessionId), undefined);
    },
  ],
  [
    "size: payloads count",
    async ({ storage }) => {
      const size = ifThere(storage.size?.bind(storage), "the adapter has no `size`");
      const body = Array.from({ length: 100 }, (_, index) => incompressible(index)).join("");
      await appendAll(storage, [
        makeCommit({ sessionId: "small" }),
        makeCommit({ sessionId: "large", payloads: [{ hash: digest(body), body }] }),
      ]);
      const [small, large] = [await size(parseSessionId("small")), await size(parseSessionId("large"))];
      assert.ok(present(large, "a size").bytes > present(small, "a size").bytes + 1000);
    },
  ],
  [
    "compact: nothing of a session is lost, and it goes on",
    async (stage) => {
      const compact = compactOf(stage.storage);
      const payload = { hash: digest("x"), body: "x" };
      const chain = await appendAll(stage.storage, commitChain(100, { payloads: [payload] }));
      const { payloads, ...first } = chain[0];
      assert.deepEqual(payloads, [payload]);
      const log = [first, ...chain.slice(1)];
      const last = present(chain.at(-1), "a commit");
      const check = async (storage: StorageAdapter, commits: readonly object[]) => {
        assert.deepEqual(await collect(storage.log(first.sessionId)), commits);
        assert.deepEqual(await collect(storage.log(first.sessionId, { after: 97, limit: 2 })), commits.slice(97, 99));
        assert.deepEqual(await storage.read(first.sessionId), commits.at(-1));
        assert.equal(await storage.payload(first.sessionId, payload.hash), payload.body);
        assert.deepEqual((await storage.list({})).items, [last.summary]);
      };
      await compact(first.sessionId);
      await check(stage.storage, log);
      await refuses("CONFLICT", stage.storage.append(nextCommit(first)));
      const next = nextCommit(last);
      await stage.storage.append(next);
      await compact(first.sessionId);
      await compact(first.sessionId);
      await check(stage.storage, [...log, next]);
      if (stage.canReopen) await check(await stage.reopen(), [...log, next]);
    },
  ],
  [
    "compact: while commits are appended, none is lost",
    async ({ storage }) => {
      const compact = compactOf(storage);
      let commit = makeCommit();
      await storage.append(commit);
      const appended = [commit.hash];
      const writing = { over: false };
      const write = async () => {
        while (appended.length < 60) {
          const next = nextCommit(commit, { body: `${appended.length}` });
          // Nobody else writes: a conflict would have to be the same commit's own, and shows in the log.
          if (await wins(storage.append(next))) {
            appended.push(next.hash);
            commit = next;
          } else commit = present(await storage.read(commit.sessionId), "the session");
        }
        writing.over = true;
      };
      const tidy = async () => {
        while (!writing.over) {
          await compact(commit.sessionId);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await Promise.all([write(), tidy()]);
      assert.deepEqual(
        (await collect(storage.log(commit.sessionId))).map(({ hash }) => hash),
        appended,
      );
    },
  ],
  [
    "compact: a session that there is not, or was removed, stays so",
    async ({ storage }) => {
      const compact = compactOf(storage);
      const [first] = await appendAll(storage, [makeCommit()]);
      await compact(NOBODY);
      await storage.remove(first.sessionId);
      await compact(first.sessionId);
      for (const id of [NOBODY, first.sessionId]) assert.equal(await storage.read(id), undefined);
      await refuses("CONFLICT", storage.append(first));
      await storage.append(makeCommit({ sessionId: NOBODY }));
    },
  ],
];

function compactOf(storage: StorageAdapter) {
  return ifThere(storage.compact?.bind(storage), "the adapter has no `compact`");
}

/** Text that an adapter that compresses can't make much smaller. */
function incompressible(seed: number): string {
  return Array.from({ length: 8 }, (_, index) => digest(`${seed} ${index}`)).join("");
}
