/** Cases about the optional methods of an adapter, and about two adapters that are open at the same time. */
import assert from "node:assert/strict";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { parseSessionId } from "../../workflow/names.js";
import {
  appendAll,
  collect,
  commitChain,
  eachOf,
  hashesIn,
  makeCommit,
  nextCommit,
  present,
  refuses,
  wins,
} from "../contract.js";
import { race } from "./append.js";
import { methodOf, type StageChecks } from "./stage.js";

const NOBODY = parseSessionId("nobody");

/** `size` and `compact`, if the adapter has them. */
export const growthChecks: StageChecks = {
  "size: counts commits and grows with them": async ({ storage }) => {
    const size = methodOf(storage, "size");
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
  "size: includes payloads": async ({ storage }) => {
    const size = methodOf(storage, "size");
    const body = Array.from({ length: 100 }, (_, index) => incompressible(index)).join("");
    await appendAll(storage, [
      makeCommit({ sessionId: "small" }),
      makeCommit({ sessionId: "large", payloads: [{ hash: digest(body), body }] }),
    ]);
    const [small, large] = [await size(parseSessionId("small")), await size(parseSessionId("large"))];
    const [less, more] = [present(small, "a size").bytes, present(large, "a size").bytes];
    assert.ok(more > less + 1000, `a session with a large payload has ${more} bytes, and one without it ${less}`);
  },
  "compact: keeps the whole session, which can be continued; an outdated commit is refused with CONFLICT": async (
    stage,
  ) => {
    const compact = methodOf(stage.storage, "compact");
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
  "compact: loses no commit that is appended meanwhile": async ({ storage }) => {
    const compact = methodOf(storage, "compact");
    let commit = makeCommit();
    await storage.append(commit);
    const appended = [commit.hash];
    const writing = { over: false };
    const write = async () => {
      while (appended.length < 60) {
        const next = nextCommit(commit, { body: `${appended.length}` });
        // There is no other writer. A conflict means that this commit was stored already, which shows in the log.
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
    assert.deepEqual(await hashesIn(storage.log(commit.sessionId)), appended);
  },
  "compact: does not create a session that is missing or was removed, whose id is still refused with CONFLICT": async ({
    storage,
  }) => {
    const compact = methodOf(storage, "compact");
    const [first] = await appendAll(storage, [makeCommit()]);
    await compact(NOBODY);
    await storage.remove(first.sessionId);
    await compact(first.sessionId);
    for (const id of [NOBODY, first.sessionId]) assert.equal(await storage.read(id), undefined);
    await refuses("CONFLICT", storage.append(first));
    await storage.append(makeCommit({ sessionId: NOBODY }));
  },
};

/** `begin`, `makeDurable`, `hint`, `damaged` and `repair`, if the adapter has them. */
export const optionalChecks: StageChecks = {
  "begin: stores all commits of a new session": async ({ storage }) => {
    const begin = methodOf(storage, "begin");
    const chain = commitChain(5);
    await begin(chain);
    assert.deepEqual(await collect(storage.log(chain[0].sessionId)), chain);
    assert.deepEqual((await storage.list({})).items, [chain.at(-1)?.summary]);
    await storage.append(nextCommit(present(chain.at(-1), "a commit")));
  },
  "begin: refuses an id that exists or was removed, with CONFLICT, and stores nothing": async ({ storage }) => {
    const begin = methodOf(storage, "begin");
    const [there, removed] = await appendAll(storage, [
      makeCommit({ sessionId: "there" }),
      makeCommit({ sessionId: "removed" }),
    ]);
    await storage.remove(removed.sessionId);
    const again = (sessionId: string) => begin(commitChain(3, { sessionId, summary: { target: "again" } }));
    await eachOf([
      ["an id that exists", () => refuses("CONFLICT", again("there"))],
      ["an id that was removed", () => refuses("CONFLICT", again("removed"))],
    ]);
    assert.deepEqual(await collect(storage.log(there.sessionId)), [there]);
    assert.equal(await storage.read(removed.sessionId), undefined);
    assert.deepEqual((await storage.list({})).items, [there.summary]);
  },
  "makeDurable: accepts a session that exists, and one that does not": async ({ storage }) => {
    const makeDurable = methodOf(storage, "makeDurable");
    const [first] = await appendAll(storage, [makeCommit()]);
    await storage.read(first.sessionId);
    await makeDurable(first.sessionId);
    await makeDurable(NOBODY);
    assert.deepEqual(await storage.read(first.sessionId), first);
    assert.equal(await storage.read(NOBODY), undefined);
  },
  "hint: is not ahead of the log": async ({ storage }) => {
    const hint = methodOf(storage, "hint");
    assert.equal(await hint(NOBODY), 0);
    for (const { sessionId, version } of await appendAll(storage, commitChain(5))) {
      const noted = await hint(sessionId);
      assert.ok(Number.isSafeInteger(noted) && noted >= 0 && noted <= 5, `hint ${noted} at version ${version} of 5`);
    }
  },
  "damaged: yields no session that can be read": async ({ storage }) => {
    const damaged = methodOf(storage, "damaged");
    await appendAll(storage, commitChain(3));
    assert.deepEqual(await collect(damaged()), []);
  },
  "repair: changes no log and no list of a sound storage": async ({ storage }) => {
    const repair = methodOf(storage, "repair");
    const chain = await appendAll(storage, commitChain(3));
    const { sessions, damaged } = await repair();
    assert.equal(sessions, 1, `${sessions} sessions, and there is 1`);
    assert.deepEqual(damaged, []);
    assert.deepEqual(await collect(storage.log(chain[0].sessionId)), chain);
    assert.deepEqual((await storage.list({})).items, [chain.at(-1)?.summary]);
  },
};

function incompressible(seed: number): string {
  return Array.from({ length: 8 }, (_, index) => digest(`${seed} ${index}`)).join("");
}

const RACERS = 12;

/** Two adapters over one storage that are open at the same time. */
export const instanceChecks: StageChecks = {
  "instances: a commit that one has acknowledged is visible to the other at once": async (stage) => {
    const [one, other] = [stage.storage, await stage.another()];
    const payload = { hash: digest("x"), body: "x" };
    let commit = makeCommit();
    for (let count = 1; count <= 6; count++) {
      const next = { ...(count === 1 ? commit : nextCommit(commit)), payloads: count === 1 ? [payload] : [] };
      const [writer, reader] = count % 2 === 0 ? [other, one] : [one, other];
      await writer.append(next);
      commit = next;
      assert.equal((await reader.read(commit.sessionId))?.hash, commit.hash);
      assert.equal((await collect(reader.log(commit.sessionId))).length, count);
      assert.deepEqual((await reader.list({ status: ["active"] })).items, [commit.summary]);
      assert.equal(await reader.countActive(10), 1);
      assert.equal(await reader.payload(commit.sessionId, payload.hash), payload.body);
    }
  },
  "instances: one with outdated knowledge overwrites nothing, and is refused with CONFLICT": async (stage) => {
    const [one, other] = [stage.storage, await stage.another()];
    const [first, second, third] = commitChain(3);
    await one.append(first);
    assert.equal((await one.read(first.sessionId))?.version, 1);
    await appendAll(other, [present(second, "a commit"), present(third, "a commit")]);
    await refuses("CONFLICT", one.append(nextCommit(first, { body: "late" })));
    assert.deepEqual(await one.read(first.sessionId), third);
    assert.deepEqual(await collect(one.log(first.sessionId)), [first, second, third]);
  },
  "instances: of concurrent appends to both, exactly one is stored for each version, and the others are refused with CONFLICT":
    async (stage) => {
      const [one, other] = [stage.storage, await stage.another()];
      let before: Parameters<typeof nextCommit>[0] | undefined;
      const hashes: string[] = [];
      for (let round = 0; round < 5; round++) {
        const commits = Array.from({ length: RACERS }, (_, racer) => {
          const body = `round ${round}, racer ${racer}`;
          return before === undefined ? makeCommit({ body }) : nextCommit(before, { body });
        });
        before = await race(commits, one, other);
        hashes.push(before.hash);
      }
      for (const storage of [one, other]) {
        assert.deepEqual(await hashesIn(storage.log(makeCommit().sessionId)), hashes);
      }
    },
  "instances: a session that one has removed is gone for the other, which is refused with CONFLICT": async (stage) => {
    const [one, other] = [stage.storage, await stage.another()];
    const [first, second] = commitChain(2);
    await one.append(first);
    assert.equal((await other.read(first.sessionId))?.hash, first.hash);
    await one.remove(first.sessionId);
    await refuses("CONFLICT", other.append(first));
    await refuses("CONFLICT", other.append(makeCommit({ body: "another" })));
    await refuses("CONFLICT", other.append(present(second, "a commit")));
    assert.equal(await other.read(first.sessionId), undefined);
    assert.deepEqual((await other.list({})).items, []);
    assert.deepEqual(await collect(other.log(first.sessionId)), []);
  },
};
