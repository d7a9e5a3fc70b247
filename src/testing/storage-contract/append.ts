/** Cases about `append`: compare-and-set, the size limit, and copies of what the adapter is given and returns. */
import assert from "node:assert/strict";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import {
  appendAll,
  collect,
  commitChain,
  eachOf,
  makeCommit,
  NotTried,
  nextCommit,
  present,
  refuses,
  wins,
} from "../contract.js";
import type { StageChecks } from "./stage.js";

const RACERS = Array.from({ length: 16 }, (_, index) => `racer ${index}`);

/** Compare-and-set: a commit is accepted only after the newest one. */
export const appendChecks: StageChecks = {
  "append: stores the first commit and those that follow it": async ({ storage }) => {
    const chain = commitChain(3);
    for (const commit of chain) {
      await storage.append(commit);
      assert.deepEqual(await storage.read(commit.sessionId), commit);
    }
  },
  "append: refuses a second first commit, with CONFLICT": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    await refuses("CONFLICT", storage.append(makeCommit({ body: "another" })));
    assert.deepEqual(await storage.read(first.sessionId), first);
  },
  "append: refuses a version that is taken, with CONFLICT": async ({ storage }) => {
    const [first, second] = await appendAll(storage, commitChain(2));
    await refuses("CONFLICT", storage.append(nextCommit(first, { body: "too late" })));
    assert.deepEqual(await storage.read(first.sessionId), second);
  },
  "append: refuses the same commit a second time, with CONFLICT": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    await refuses("CONFLICT", storage.append(first));
  },
  "append: refuses a wrong previousHash, with CONFLICT": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    await eachOf([
      ["another hash", () => conflicts(storage, nextCommit(first, { previousHash: "0".repeat(64) }))],
      ["an empty one", () => conflicts(storage, nextCommit(first, { previousHash: "" }))],
      ["another session's", () => conflicts(storage, makeCommit({ sessionId: "other", previousHash: first.hash }))],
    ]);
    assert.deepEqual(await storage.read(first.sessionId), first);
  },
  "append: refuses a version that leaves a gap, with CONFLICT": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    const foreign = makeCommit({ sessionId: "other", version: 2, previousHash: first.hash });
    await eachOf([
      ["version 3 after version 1", () => conflicts(storage, nextCommit(first, { version: 3 }))],
      ["version 2 of a session that does not exist", () => conflicts(storage, foreign)],
    ]);
    assert.equal((await collect(storage.log(first.sessionId))).length, 1);
  },
  "append: of concurrent first commits of a session, stores exactly one, and refuses the others with CONFLICT": async ({
    storage,
  }) => {
    const winner = await race(
      RACERS.map((body) => makeCommit({ body })),
      storage,
    );
    assert.deepEqual(await collect(storage.log(winner.sessionId)), [winner]);
  },
  "append: of concurrent next commits, stores exactly one, and refuses the others with CONFLICT": async ({
    storage,
  }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    const winner = await race(
      RACERS.map((body) => nextCommit(first, { body })),
      storage,
    );
    assert.deepEqual(await collect(storage.log(first.sessionId)), [first, winner]);
  },
  "append: keeps sessions independent of each other": async ({ storage }) => {
    const chains = ["a", "b", "a-b", "a_b"].map((sessionId) => commitChain(5, { sessionId }));
    await Promise.all(chains.map((chain) => appendAll(storage, chain)));
    for (const chain of chains) {
      assert.deepEqual(await collect(storage.log(chain[0].sessionId)), chain);
    }
  },
  "append: refuses a commit over the largest size, with TOO_LARGE": async ({ storage }) => {
    const { maxCommitBytes } = storage.capabilities;
    // A very large limit cannot be tested: the commit would not fit into memory.
    if (maxCommitBytes > 128 * 1024 * 1024) throw new NotTried("the adapter's `maxCommitBytes` is too large to try");
    const commit = makeCommit({ hash: "0".repeat(64), body: "x".repeat(maxCommitBytes + 1) });
    await refuses("TOO_LARGE", storage.append(commit));
    assert.equal(await storage.read(commit.sessionId), undefined);
  },
};

function conflicts(storage: StorageAdapter, commit: Commit): Promise<void> {
  return refuses("CONFLICT", storage.append(commit));
}

/** Appends commits at the same time, to adapters in turn. One must be accepted, and is returned; others are refused. */
export async function race(commits: readonly Commit[], ...storages: [StorageAdapter, ...StorageAdapter[]]) {
  const appends = commits.map((commit, index) => (storages[index % storages.length] ?? storages[0]).append(commit));
  const won = await Promise.all(appends.map(wins));
  const winners = commits.filter((_, index) => won[index]);
  assert.equal(winners.length, 1, `of ${commits.length} commits at once one must win, not ${winners.length}`);
  return present(winners[0], "the winner");
}

/** Changing an object that was given to the adapter or returned by it must not change what is stored. */
export const aliasChecks: StageChecks = {
  "aliases: objects that were appended or read can be changed without changing what is stored, which refuses with CONFLICT":
    async ({ storage }) => {
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
  "aliases: objects from a log or a list can be changed without changing what is stored": async ({ storage }) => {
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
  "aliases: stores a commit as it was when append was called, even if the caller changes it meanwhile": async ({
    storage,
  }) => {
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
    // An adapter may leave out the payloads.
    const { payloads: _, ...read } = (await storage.read(first.sessionId)) ?? {};
    assert.deepEqual(read, kept);
    assert.equal(await storage.payload(first.sessionId, payload.hash), payload.body);
    assert.deepEqual((await storage.list({})).items, [first.summary]);
    await storage.append(nextCommit(first, { payloads: [] }));
  },
};

/** Changes every property. A frozen object stays as it is, which is fine as well. */
function spoil(value: object): void {
  for (const key of Object.keys(value)) Reflect.set(value, key, "changed");
}
