import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { appendAll } from "./append-all.js";
import { collect, present, refuses, wins } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { StageCheck } from "./storage-stage.js";

const RACERS = 12;

/** Two adapters over one storage, both open. */
export const instanceChecks: readonly StageCheck[] = [
  [
    "instances: what one has acknowledged the other has at once",
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
    "instances: one that has not looked for a while overwrites nothing",
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
    "instances: of those that append to both at once, one wins each version",
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
    "instances: a session that one has removed is gone for the other, and never comes back",
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
