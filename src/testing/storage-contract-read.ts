import assert from "node:assert/strict";
import { digest } from "../definition/digest.js";
import { parseSessionId } from "../definition/names.js";
import { appendAll } from "./append-all.js";
import { collect, present, refuses } from "./contract-case.js";
import { commitChain, makeCommit, nextCommit } from "./make-commit.js";
import type { StorageCheck } from "./storage-check.js";

const NOBODY = parseSessionId("nobody");
const MEBIBYTE = 1024 * 1024;

const ODD_TEXTS = {
  "an empty text": "",
  "control characters": "\u0000\u0001\u001f\u007f\u2028\u2029",
  "line ends": "\n\r\n\r",
  quotes: `"\\"'\`{"body":"x"}`,
  emoji: "👩‍👩‍👧‍👦 ✅ 𝒳",
  "lone surrogates": "\ud800 \udc00 \udfff\ud800",
  "a byte order mark": "\ufeff{}",
  "combining marks": "e\u0301 é",
  "a long line": "x".repeat(70_000),
} as const;

/** What comes back of what was appended. */
export const readChecks: readonly StorageCheck[] = [
  [
    "read: an unknown id gives nothing",
    async (storage) => {
      assert.equal(await storage.read(NOBODY), undefined);
      assert.deepEqual(await collect(storage.log(NOBODY)), []);
      assert.equal(await storage.payload(NOBODY, digest("x")), undefined);
    },
  ],
  [
    "read: the newest of many",
    async (storage) => {
      const chain = await appendAll(storage, commitChain(20));
      assert.deepEqual(await storage.read(chain[0].sessionId), chain.at(-1));
    },
  ],
  [
    "log: all commits in order, those above a version, and no more than asked for",
    async (storage) => {
      const chain = await appendAll(storage, commitChain(20));
      const { sessionId } = chain[0];
      assert.deepEqual(await collect(storage.log(sessionId)), chain);
      assert.deepEqual(await collect(storage.log(sessionId, { after: 5 })), chain.slice(5));
      assert.deepEqual(await collect(storage.log(sessionId, { limit: 3 })), chain.slice(0, 3));
      assert.deepEqual(await collect(storage.log(sessionId, { after: 18, limit: 10 })), chain.slice(18));
      assert.deepEqual(await collect(storage.log(sessionId, { after: 20 })), []);
      assert.deepEqual(await collect(storage.log(sessionId, { limit: 0 })), []);
    },
  ],
  [
    "log: may be left before its end",
    async (storage) => {
      const [first] = await appendAll(storage, commitChain(10));
      for await (const commit of storage.log(first.sessionId)) if (commit.version === 2) break;
    },
  ],
  [
    "read: a body comes back to the letter",
    async (storage) => {
      let commit = makeCommit();
      await storage.append(commit);
      for (const [name, body] of Object.entries(ODD_TEXTS)) {
        commit = nextCommit(commit, { body, summary: { target: body.slice(0, 100) } });
        await storage.append(commit);
        const read = await storage.read(commit.sessionId);
        assert.ok(read?.body === body, `a body with ${name} must come back as it was`);
        assert.deepEqual(read.summary, commit.summary, `a summary with ${name} must come back as it was`);
      }
    },
  ],
  [
    "read: a commit of 1 MiB comes back",
    async (storage) => {
      const body = "0123456789abcdef".repeat(MEBIBYTE / 16);
      const [commit] = await appendAll(storage, [makeCommit({ body })]);
      assert.ok((await storage.read(commit.sessionId))?.body === body);
    },
  ],
  [
    "payload: each by its hash, also if it came twice",
    async (storage) => {
      const [one, two, three] = Object.values({ ...ODD_TEXTS, large: "x".repeat(MEBIBYTE) })
        .slice(-3)
        .map((body) => ({ hash: digest(body), body }));
      const payloads = [present(one, "one"), present(two, "two")];
      const first = makeCommit({ payloads });
      const second = nextCommit(first, { payloads: [present(two, "two"), present(three, "three")] });
      await appendAll(storage, [first, second]);
      for (const { hash, body } of [...payloads, present(three, "three")]) {
        assert.ok((await storage.payload(first.sessionId, hash)) === body);
      }
    },
  ],
  [
    "payload: odd texts come back to the letter",
    async (storage) => {
      const payloads = Object.values(ODD_TEXTS).map((body, index) => ({ hash: digest(`odd ${index}`), body }));
      const [commit] = await appendAll(storage, [makeCommit({ payloads })]);
      for (const { hash, body } of payloads) assert.ok((await storage.payload(commit.sessionId, hash)) === body);
    },
  ],
  [
    "payload: an unknown hash, or another session's, gives nothing",
    async (storage) => {
      const payload = { hash: digest("mine"), body: "mine" };
      const [one] = await appendAll(storage, [makeCommit({ sessionId: "one", payloads: [payload] })]);
      const [other] = await appendAll(storage, [makeCommit({ sessionId: "other" })]);
      assert.equal(await storage.payload(one.sessionId, digest("unknown")), undefined);
      assert.equal(await storage.payload(one.sessionId, "../../etc/passwd"), undefined);
      assert.equal(await storage.payload(other.sessionId, payload.hash), undefined);
    },
  ],
  [
    "read: changing what was appended or given back changes nothing that is stored",
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
];

// A frozen object refuses, which is as good.
function spoil(value: object): void {
  for (const key of Object.keys(value)) Reflect.set(value, key, "changed");
}
