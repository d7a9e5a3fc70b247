import assert from "node:assert/strict";
import type { Commit } from "../ports/storage-adapter.js";
import { appendAll } from "./append-all.js";
import { collect, present, refuses, wins } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";

const RACERS = 16;

/** Compare-and-set: who may append what. */
export const appendChecks: readonly StorageCheck[] = [
  [
    "append: a first commit, and those that follow it",
    async (storage) => {
      const chain = commitChain(3);
      for (const commit of chain) {
        await storage.append(commit);
        assert.deepEqual(await storage.read(commit.sessionId), commit);
      }
    },
  ],
  [
    "append: a second first commit is refused",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await refuses("CONFLICT", storage.append(makeCommit({ body: "another" })));
      assert.deepEqual(await storage.read(first.sessionId), first);
    },
  ],
  [
    "append: a commit on an older version is refused",
    async (storage) => {
      const [first, second] = await appendAll(storage, commitChain(2));
      await refuses("CONFLICT", storage.append(nextCommit(first, { body: "too late" })));
      assert.deepEqual(await storage.read(first.sessionId), second);
    },
  ],
  [
    "append: the same commit twice is refused",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await refuses("CONFLICT", storage.append(first));
    },
  ],
  [
    "append: a wrong previousHash is refused",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await refuses("CONFLICT", storage.append(nextCommit(first, { previousHash: "0".repeat(64) })));
      await refuses("CONFLICT", storage.append(nextCommit(first, { previousHash: "" })));
      await refuses("CONFLICT", storage.append(makeCommit({ sessionId: "other", previousHash: first.hash })));
      assert.deepEqual(await storage.read(first.sessionId), first);
    },
  ],
  [
    "append: a version that leaves a gap is refused",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await refuses("CONFLICT", storage.append(nextCommit(first, { version: 3 })));
      await refuses(
        "CONFLICT",
        storage.append(makeCommit({ sessionId: "other", version: 2, previousHash: first.hash })),
      );
      assert.equal((await collect(storage.log(first.sessionId))).length, 1);
    },
  ],
  [
    "append: of those that begin a session at once, one wins",
    async (storage) => {
      const winner = await race(storage, (name) => makeCommit({ body: name }));
      assert.deepEqual(await collect(storage.log(winner.sessionId)), [winner]);
    },
  ],
  [
    "append: of those that follow a commit at once, one wins",
    async (storage) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      const winner = await race(storage, (name) => nextCommit(first, { body: name }));
      assert.deepEqual(await collect(storage.log(first.sessionId)), [first, winner]);
    },
  ],
  [
    "append: sessions don't get in each other's way",
    async (storage) => {
      const chains = ["a", "b", "a-b", "a_b"].map((sessionId) => commitChain(5, { sessionId }));
      await Promise.all(chains.map((chain) => appendAll(storage, chain)));
      for (const chain of chains) {
        assert.deepEqual(await collect(storage.log(chain[0].sessionId)), chain);
      }
    },
  ],
  [
    "append: a commit over the largest size is refused",
    async (storage) => {
      const { maxCommitBytes } = storage.capabilities;
      // One that is larger than what a test may hold is taken at its word.
      if (maxCommitBytes > 128 * 1024 * 1024) return;
      const commit = makeCommit({ hash: "0".repeat(64), body: "x".repeat(maxCommitBytes + 1) });
      await refuses("TOO_LARGE", storage.append(commit));
      assert.equal(await storage.read(commit.sessionId), undefined);
    },
  ],
];

/** Appends several commits at once, of which one must win and the others be refused; gives back the winner. */
async function race(storage: Parameters<StorageCheck[1]>[0], make: (name: string) => Commit): Promise<Commit> {
  const commits = Array.from({ length: RACERS }, (_, index) => make(`racer ${index}`));
  const results = await Promise.all(commits.map((commit) => wins(storage.append(commit))));
  const winners = commits.filter((_, index) => results[index]);
  assert.equal(winners.length, 1, `of ${RACERS} commits at once one must win, not ${winners.length}`);
  return present(winners[0], "the winner");
}
