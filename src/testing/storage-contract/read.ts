/** Cases about `read`, `log` and `payload`, and about the capabilities that an adapter declares. */
import assert from "node:assert/strict";
import type { Commit } from "../../ports/storage-adapter.js";
import { digest } from "../../workflow/json.js";
import { parseSessionId } from "../../workflow/names.js";
import { appendAll, collect, commitChain, eachOf, makeCommit, NotTried, nextCommit, present } from "../contract.js";
import type { StageChecks } from "./stage.js";

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
  "both directions": "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0645\u0631\u062d\u0628\u0627 \u2066x\u2069",
  "what no character is": "\uffff\ufffe\u{10ffff}\ufdd0",
  "a long line": "x".repeat(70_000),
  "a long text of wide characters": "\u{1f331}\u00e9\ud800".repeat(20_000),
} as const;

export const readChecks: StageChecks = {
  "read: returns nothing for an unknown id": async ({ storage }) => {
    assert.equal(await storage.read(NOBODY), undefined);
    assert.deepEqual(await collect(storage.log(NOBODY)), []);
    assert.equal(await storage.payload(NOBODY, digest("x")), undefined);
  },
  "read: returns the newest of many commits": async ({ storage }) => {
    const chain = await appendAll(storage, commitChain(20));
    assert.deepEqual(await storage.read(chain[0].sessionId), chain.at(-1));
  },
  "log: returns all commits in order, from a version on, and at most the requested number": async ({ storage }) => {
    const chain = await appendAll(storage, commitChain(20));
    const { sessionId } = chain[0];
    assert.deepEqual(await collect(storage.log(sessionId)), chain);
    assert.deepEqual(await collect(storage.log(sessionId, { after: 5 })), chain.slice(5));
    assert.deepEqual(await collect(storage.log(sessionId, { limit: 3 })), chain.slice(0, 3));
    assert.deepEqual(await collect(storage.log(sessionId, { after: 18, limit: 10 })), chain.slice(18));
    assert.deepEqual(await collect(storage.log(sessionId, { after: 20 })), []);
    assert.deepEqual(await collect(storage.log(sessionId, { limit: 0 })), []);
  },
  "log: can be left before its end": async ({ storage }) => {
    const [first] = await appendAll(storage, commitChain(10));
    for await (const commit of storage.log(first.sessionId)) if (commit.version === 2) break;
  },
  "read: returns a body exactly as it was stored": async ({ storage }) => {
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
  "read: returns a summary exactly, with and without its optional fields": async ({ storage }) => {
    let commit = makeCommit({ summary: { current: "1", completedAt: "2026-01-02T03:04:05.007Z" } });
    await storage.append(commit);
    for (const current of [1, 0, -1, 2 ** 40, "", "a step", "__proto__"]) {
      const { total, completedAt, ...summary } = commit.summary;
      assert.deepEqual(
        [total, completedAt],
        commit.version === 1 ? [3, "2026-01-02T03:04:05.007Z"] : [undefined, undefined],
      );
      assert.deepEqual((await storage.read(commit.sessionId))?.summary, commit.summary);
      assert.deepEqual((await storage.list({})).items, [commit.summary]);
      const bare = { ...nextCommit(commit), summary: { ...summary, current } };
      await storage.append(bare);
      commit = bare;
    }
    assert.deepEqual(await storage.read(commit.sessionId), commit);
  },
  "read: returns large commits, up to the adapter's maxCommitBytes": async ({ storage }) => {
    const { maxCommitBytes: most } = storage.capabilities;
    const bytes = Math.min(8 * MEBIBYTE, most > 64 * 1024 ? most - 16 * 1024 : most);
    const texts = [MEBIBYTE, bytes].filter((size) => size <= bytes).map((size) => "0123456789abcdef".repeat(size / 16));
    let commit: Commit | undefined;
    for (const body of texts) {
      commit = commit === undefined ? makeCommit({ body }) : nextCommit(commit, { body });
      await storage.append(commit);
      assert.ok((await storage.read(commit.sessionId))?.body === body, `a body of ${body.length} bytes must come back`);
    }
    const payload = { hash: digest("large"), body: present(texts.at(-1), "a text") };
    await storage.append(makeCommit({ sessionId: "large", body: "", payloads: [payload] }));
    const large = await storage.payload(makeCommit({ sessionId: "large" }).sessionId, payload.hash);
    assert.ok(large === payload.body, `a payload of ${payload.body.length} bytes must come back`);
  },
  "payload: returns each by its hash, also if it was stored twice": async ({ storage }) => {
    const [one, two, three] = Object.values({ ...ODD_TEXTS, large: "x".repeat(MEBIBYTE) })
      .slice(-3)
      .map((body) => ({ hash: digest(body), body }));
    const payloads = [present(one, "one"), present(two, "two")];
    const first = makeCommit({ payloads });
    const second = nextCommit(first, { payloads: [present(two, "two"), present(three, "three")] });
    await appendAll(storage, [first, second]);
    for (const { hash, body } of [...payloads, present(three, "three")]) {
      const stored = await storage.payload(first.sessionId, hash);
      assert.ok(stored === body, `the payload ${hash} must come back as it was`);
    }
  },
  "payload: stays as it is when another with its hash comes": async ({ storage }) => {
    const hash = digest("mine");
    const first = makeCommit({ payloads: [{ hash, body: "mine" }] });
    await appendAll(storage, [first, nextCommit(first, { payloads: [{ hash, body: "another" }] })]);
    assert.equal(await storage.payload(first.sessionId, hash), "mine");
  },
  "payload: returns unusual texts exactly": async ({ storage }) => {
    const named = Object.entries(ODD_TEXTS).map(([name, body]) => ({ name, hash: digest(`odd ${name}`), body }));
    const [{ sessionId }] = await appendAll(storage, [
      makeCommit({ payloads: named.map(({ hash, body }) => ({ hash, body })) }),
    ]);
    const same = async (hash: string, body: string) => {
      assert.ok((await storage.payload(sessionId, hash)) === body, "the payload must come back as it was");
    };
    await eachOf(named.map(({ name, hash, body }) => [`a payload with ${name}`, () => same(hash, body)] as const));
  },
  "payload: returns nothing for an unknown hash or another session's": async ({ storage }) => {
    const payload = { hash: digest("mine"), body: "mine" };
    const [one] = await appendAll(storage, [makeCommit({ sessionId: "one", payloads: [payload] })]);
    const [other] = await appendAll(storage, [makeCommit({ sessionId: "other" })]);
    assert.equal(await storage.payload(one.sessionId, digest("unknown")), undefined);
    assert.equal(await storage.payload(one.sessionId, "../../etc/passwd"), undefined);
    assert.equal(await storage.payload(other.sessionId, payload.hash), undefined);
  },
};

export const capabilityChecks: StageChecks = {
  "capabilities: have values that the port defines": async ({ storage }) => {
    const { durability, multiProcess, maxCommitBytes } = storage.capabilities;
    assert.ok(["memory", "process", "power"].includes(durability), `durability is no ${durability}`);
    assert.equal(typeof multiProcess, "boolean");
    assert.ok(
      Number.isSafeInteger(maxCommitBytes) && maxCommitBytes >= 2_000_000,
      "maxCommitBytes is below 2 MB, or no size",
    );
  },
  "capabilities: sessions exist after a restart unless the durability is memory": async (stage) => {
    const { durability } = stage.storage.capabilities;
    if (durability === "memory") throw new NotTried("the adapter keeps nothing");
    assert.ok(stage.canReopen, `durability is ${durability}, and the options have no \`reopen\` to show it`);
    const commit = makeCommit();
    await stage.storage.append(commit);
    assert.deepEqual(await (await stage.reopen()).read(commit.sessionId), commit);
  },
  "capabilities: are the same after a restart": async (stage) => {
    const before = { ...stage.storage.capabilities };
    assert.deepEqual({ ...(await stage.reopen()).capabilities }, before);
  },
};
