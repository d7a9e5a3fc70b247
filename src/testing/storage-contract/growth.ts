/** Cases about `size` and `compact`, and about two adapters that are open at the same time. */
import assert from "node:assert/strict";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { parseSessionId } from "../../workflow/names.js";
import { appendAll, commitChain, makeCommit, nextCommit } from "../commits.js";
import { collect, ifThere, present, refuses, wins } from "../contract.js";
import type { StageCheck } from "./stage.js";

const NOBODY = parseSessionId("nobody");

/** `size` and `compact`, if the adapter has them. */
export const growthChecks: readonly StageCheck[] = [
  [
    "size: counts commits and grows with them",
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
    "size: includes payloads",
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
    "compact: keeps the whole session, which can be continued",
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
    "compact: loses no commit that is appended meanwhile",
    async ({ storage }) => {
      const compact = compactOf(storage);
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
      assert.deepEqual(
        (await collect(storage.log(commit.sessionId))).map(({ hash }) => hash),
        appended,
      );
    },
  ],
  [
    "compact: does not create a session that is missing or was removed",
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

/** Returns a text that can hardly be compressed. */
function incompressible(seed: number): string {
  return Array.from({ length: 8 }, (_, index) => digest(`${seed} ${index}`)).join("");
}

const RACERS = 12;

/** Two adapters over one storage that are open at the same time. */
export const instanceChecks: readonly StageCheck[] = [
  [
    "instances: a commit that one has acknowledged is visible to the other at once",
    async (stage) => {
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
  ],
  [
    "instances: one with outdated knowledge overwrites nothing",
    async (stage) => {
      const [one, other] = [stage.storage, await stage.another()];
      const [first, second, third] = commitChain(3);
      await one.append(first);
      assert.equal((await one.read(first.sessionId))?.version, 1);
      await appendAll(other, [present(second, "a commit"), present(third, "a commit")]);
      await refuses("CONFLICT", one.append(nextCommit(first, { body: "late" })));
      assert.deepEqual(await one.read(first.sessionId), third);
      assert.deepEqual(await collect(one.log(first.sessionId)), [first, second, third]);
    },
  ],
  [
    "instances: of concurrent appends to both, exactly one is stored for each version",
    async (stage) => {
      const both = [stage.storage, await stage.another()] as const;
      let before: Parameters<typeof nextCommit>[0] | undefined;
      const hashes: string[] = [];
      for (let round = 0; round < 5; round++) {
        const commits = Array.from({ length: RACERS }, (_, racer) => {
          const body = `round ${round}, racer ${racer}`;
          return before === undefined ? makeCommit({ body }) : nextCommit(before, { body });
        });
        const won = await Promise.all(
          commits.map((commit, racer) => wins(both[racer % 2 === 0 ? 0 : 1].append(commit))),
        );
        const winners = commits.filter((_, index) => won[index]);
        assert.equal(winners.length, 1, `of ${RACERS} at once one must win, not ${winners.length}`);
        before = present(winners[0], "the winner");
        hashes.push(before.hash);
      }
      for (const storage of both) {
        const log = await collect(storage.log(makeCommit().sessionId));
        assert.deepEqual(
          log.map(({ hash }) => hash),
          hashes,
        );
      }
    },
  ],
  [
    "instances: a session that one has removed is gone for the other and never comes back",
    async (stage) => {
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
  ],
];
