/** Cases about removed sessions, and about a storage that is opened again. */
import assert from "node:assert/strict";
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
import type { StageChecks } from "./stage.js";

/** Nothing of a removed session is left, except that its id cannot be used again. */
export const removeChecks: StageChecks = {
  "remove: leaves nothing of the session": async ({ storage }) => {
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
  "remove: an active session is no longer counted": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    await storage.remove(first.sessionId);
    assert.deepEqual((await storage.list({ status: ["active"] })).items, []);
    assert.equal(await storage.countActive(10), 0);
  },
  "remove: the id is never used again, and a commit with it is refused with CONFLICT": async ({ storage }) => {
    const chain = await appendAll(storage, commitChain(3));
    const last = present(chain.at(-1), "a commit");
    await storage.remove(last.sessionId);
    const other = makeCommit({ body: "other", summary: { createdAt: last.at } });
    await eachOf([
      ["the same first commit", () => refuses("CONFLICT", storage.append(makeCommit()))],
      ["another first commit", () => refuses("CONFLICT", storage.append(other))],
      ["the next commit", () => refuses("CONFLICT", storage.append(nextCommit(last)))],
    ]);
    assert.equal(await storage.read(last.sessionId), undefined);
    assert.deepEqual((await storage.list({})).items, []);
  },
  "remove: accepts an unknown id and a second call": async ({ storage }) => {
    const [first] = await appendAll(storage, [makeCommit()]);
    await storage.remove(first.sessionId);
    await storage.remove(first.sessionId);
    await storage.remove(parseSessionId("nobody"));
  },
  "remove: the session is gone even if commits are appended at the same time, and later ones are refused with CONFLICT":
    async ({ storage }) => {
      const [first] = await appendAll(storage, [makeCommit()]);
      await Promise.all([wins(storage.append(nextCommit(first))), storage.remove(first.sessionId)]);
      assert.equal(await storage.read(first.sessionId), undefined);
      await refuses("CONFLICT", storage.append(makeCommit()));
    },
  "remove: keeps other sessions": async ({ storage }) => {
    const [gone, stays] = await appendAll(storage, [makeCommit({ sessionId: "a" }), makeCommit({ sessionId: "a-b" })]);
    await storage.remove(gone.sessionId);
    assert.deepEqual(await storage.read(stays.sessionId), stays);
    assert.deepEqual((await storage.list({ status: ["active"] })).items, [stays.summary]);
  },
};

export const reopenChecks: StageChecks = {
  "reopen: commits, payloads, lists and counts are as before": async (stage) => {
    const { storage } = stage;
    const payload = { hash: digest("x"), body: "x" };
    const chain = await appendAll(storage, commitChain(5, { payloads: [payload] }));
    const ended = makeCommit({ sessionId: "ended", summary: { status: "completed" } });
    await storage.append(ended);
    const [first, last] = [chain[0], present(chain.at(-1), "a commit")];
    const again = await stage.reopen();
    assert.deepEqual(await again.read(last.sessionId), last);
    const hashes = chain.map(({ hash }) => hash);
    assert.deepEqual(await hashesIn(again.log(last.sessionId)), hashes);
    assert.equal(await again.payload(first.sessionId, payload.hash), payload.body);
    assert.deepEqual((await again.list({})).items, [ended.summary, last.summary]);
    assert.deepEqual((await again.list({ status: ["active"] })).items, [last.summary]);
    assert.equal(await again.countActive(10), 1);
  },
  "reopen: the session can be continued, and an outdated commit is refused with CONFLICT": async (stage) => {
    const { storage } = stage;
    const chain = await appendAll(storage, commitChain(3));
    const [first, last] = [chain[0], present(chain.at(-1), "a commit")];
    const again = await stage.reopen();
    await refuses("CONFLICT", again.append(nextCommit(first)));
    const next = nextCommit(last);
    await again.append(next);
    assert.deepEqual(await again.read(last.sessionId), next);
  },
  "reopen: a cursor is still valid, and a removed id is still refused with CONFLICT": async (stage) => {
    const { storage } = stage;
    const commits = ["a", "b", "c"].map((sessionId) => makeCommit({ sessionId }));
    await appendAll(storage, commits);
    const page = await storage.list({ limit: 1 });
    const removed = present(commits[1], "a commit");
    await storage.remove(removed.sessionId);
    const again = await stage.reopen();
    const rest = await again.list({ cursor: present(page.cursor, "a cursor") });
    assert.deepEqual(rest.items, [present(commits[2], "a commit").summary]);
    await refuses("CONFLICT", again.append(removed));
  },
};
