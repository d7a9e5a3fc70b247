import { describe, expect, it, vi } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { commitHash, type Receipt, readBody, readWhole } from "../../src/log/commit.js";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { digest } from "../../src/workflow/json.js";
import { AlteredStorage } from "./altered-storage.js";
import { adding, count, counter, doing, ID, makeKernel, OTHER_ID } from "./counter.js";

const KEY = new TextEncoder().encode("the host's own key");

/** Creates a session of five commits in a storage that can be altered, and kernels that have not read it. */
async function five(hashKey?: Uint8Array) {
  const storage = new AlteredStorage();
  const options = { storage, ...(hashKey === undefined ? {} : { hashKey }) };
  const { kernel } = makeKernel(options);
  await count(kernel, 5);
  const commits: Commit[] = [];
  for await (const commit of storage.log(ID)) commits.push(commit);
  const fresh = () => makeKernel(options).kernel;
  const [first, second, third, fourth, fifth] = commits;
  if (!first || !second || !third || !fourth || !fifth) throw new Error("five were counted");
  return { storage, kernel, fresh, commits: { first, second, third, fourth, fifth } };
}

/** Rewrites a commit as an attacker would, with a hash that matches. */
function forged(commit: Commit, change: (body: Record<string, unknown>) => void, key?: Uint8Array): Commit {
  const body = JSON.parse(commit.body);
  change(body);
  const text = JSON.stringify(body);
  return { ...commit, body: text, hash: commitHash(commit.previousHash, text, key) };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (!isPhasegateError(error, "TAMPERED")) throw error;
  expect(error.remedy).toMatch(/backup/);
  return `${error.details.version}: ${error.details.reason}`;
}

describe("the newest commit", () => {
  const edits: [string, (commit: Commit) => Partial<Commit>, string][] = [
    [
      "an edited body",
      ({ body }) => ({ body: body.replace('"total":15', '"total":99') }),
      "its hash is not that of its body",
    ],
    ["a body with a space more", ({ body }) => ({ body: `${body} ` }), "its hash is not that of its body"],
    ["an edited hash", () => ({ hash: "0".repeat(64) }), "its hash is not that of its body"],
    ["an edited previous hash", () => ({ previousHash: "0".repeat(64) }), "its hash is not that of its body"],
    ["another version", () => ({ version: 6 }), "its body belongs to another place"],
    ["another time", () => ({ at: "2020-01-01T00:00:00.000Z" }), "its body belongs to another place"],
    ["another session's id", () => ({ sessionId: OTHER_ID }), "it belongs to another session"],
    [
      "another session's id in its body",
      (commit) => forged(commit, (body) => (body.sessionId = OTHER_ID)),
      "its body belongs to another place",
    ],
    [
      "a body that is not JSON",
      (commit) => ({ body: "{", hash: commitHash(commit.previousHash, "{") }),
      "its body is no JSON",
    ],
    [
      "a body that is not an object",
      (commit) => ({ body: "[]", hash: commitHash(commit.previousHash, "[]") }),
      "its body is not one that this library writes",
    ],
    [
      "an event of another kind",
      (commit) => forged(commit, (body) => (body.events = [{}])),
      "phasegate does not write such events",
    ],
    [
      "a body without a head",
      (commit) => forged(commit, (body) => delete body.head),
      "its body is not one that this library writes",
    ],
    [
      "keys of another form",
      (commit) => forged(commit, (body) => (body.keys = [1])),
      "its body is not one that this library writes",
    ],
  ];
  for (const [name, edit, reason] of edits) {
    it(`with ${name} is refused by find, execute and audit`, async () => {
      const { storage, fresh, commits } = await five();
      storage.edit(5, edit(commits.fifth));
      expect(await reasonOf(fresh().find(ID))).toContain(reason);
      expect(await reasonOf(fresh().execute(ID, adding(1)))).toContain(reason);
      const { intact, versions } = await fresh().audit(ID);
      expect([intact, versions]).toEqual([false, 4]);
    });
  }

  it("is checked again if it was altered after the first read", async () => {
    const { storage, kernel, commits } = await five();
    expect((await kernel.find(ID))?.head.total).toBe(15);
    for (const parts of [{ body: commits.fifth.body.replace("15", "99") }, { hash: "0".repeat(64) }, { body: "" }]) {
      storage.edit(5, parts);
      expect(await reasonOf(kernel.find(ID))).toBe("5: its hash is not that of its body");
      expect(await reasonOf(kernel.execute(ID, adding(1)))).toBe("5: its hash is not that of its body");
    }
    storage.alter = undefined;
    expect((await kernel.find(ID))?.head.total).toBe(15);
  });

  it("fails with the machine's parse error as the cause", async () => {
    const { storage, fresh, commits } = await five();
    storage.edit(
      5,
      forged(commits.fifth, (body) => (body.head = { total: "many" })),
    );
    const error = await fresh()
      .find(ID)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "TAMPERED", cause: { name: "ZodError" } });
  });

  it("is refused if it belongs to another session", async () => {
    const { storage, fresh } = await five();
    await makeKernel({ storage }).kernel.execute(OTHER_ID, adding(1_000));
    const others: Commit[] = [];
    for await (const commit of storage.log(OTHER_ID)) others.push(commit);
    storage.alter = () => others;
    expect(await reasonOf(fresh().find(ID))).toBe("1: it belongs to another session");
    expect(await reasonOf(fresh().at(ID, 1))).toBe("1: it belongs to another session");
    expect(await fresh().audit(ID)).toMatchObject({ intact: false, versions: 0 });
  });
});

describe("a summary that does not match its body", () => {
  it("cannot hide a session, nor show a removed one", async () => {
    const { storage, fresh, commits } = await five();
    const summary = { ...commits.fifth.summary, status: "deleted", current: 99 } as const;
    storage.edit(5, { summary });
    expect((await fresh().find(ID))?.summary).toEqual(commits.fifth.summary);
    storage.alter = undefined;
    const { hash } = await fresh().execute(ID, doing("bury"));
    storage.edit(6, { summary: commits.fifth.summary });
    expect((await storage.read(ID))?.hash).toBe(hash);
    expect(await fresh().find(ID)).toBeUndefined();
  });
});

describe("an audit of the summaries", () => {
  const edits: [string, Partial<Commit["summary"]>][] = [
    ["status", { status: "completed" }],
    ["place", { current: 99 }],
    ["total", { total: 99 }],
    ["kind", { kind: "other" }],
    ["workflow", { workflowType: "other" }],
    ["target", { target: "other" }],
    ["times", { createdAt: "2020-01-01T00:00:00.000Z" }],
    ["end", { completedAt: "2020-01-01T00:00:00.000Z" }],
    ["id", { sessionId: OTHER_ID }],
    ["beginning", { activeSince: 99 }],
  ];
  for (const [name, parts] of edits) {
    it(`fails if the ${name} differs from the head, with a hash key and without one`, async () => {
      for (const key of [undefined, KEY]) {
        const { storage, fresh, commits } = await five(key);
        expect(await fresh().audit(ID)).toMatchObject({ intact: true });
        storage.edit(3, { summary: { ...commits.third.summary, ...parts } });
        const reason = expect.stringContaining("commit 3");
        expect(await fresh().audit(ID)).toMatchObject({ intact: false, versions: 2, reason });
      }
    });
  }

  it("corrects an invalid activeSince, so that the next commit can be stored", async () => {
    const { storage, fresh, commits } = await five();
    for (const activeSince of [1.5, 0, -1, 6]) {
      storage.edit(5, { summary: { ...commits.fifth.summary, activeSince } });
      expect((await fresh().find(ID))?.summary.activeSince).toBe(5);
      expect((await fresh().newest(ID))?.summary.activeSince).toBe(5);
    }
  });

  it("accepts one without the fields that a summary may omit", async () => {
    const { storage, fresh, kernel } = await five();
    const { summary } = await kernel.execute(ID, doing("close"));
    expect(summary.completedAt).toBeDefined();
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 6 });
    const { completedAt: _, ...without } = summary;
    storage.edit(6, { summary: without });
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 6 });
  });

  it("is part of reading a single commit", async () => {
    const { commits } = await five();
    const { third } = commits;
    expect(readWhole(counter, third, undefined)).toMatchObject({
      version: 3,
      events: [{ added: 3 }],
      head: { total: 6 },
    });
    const altered = { ...third, summary: { ...third.summary, current: 99 } };
    expect(await reasonOf((async () => readWhole(counter, altered, undefined))())).toContain("3: its summary");
  });
});

describe("a log format", () => {
  it("that is newer is refused before anything else is read, and is not an audit result", async () => {
    const { storage, fresh } = await five();
    storage.edit(5, { schema: 3, body: "whatever that will be" });
    const expected = { code: "FORMAT_TOO_NEW", details: { found: 3, supported: 2 } };
    await expect(fresh().find(ID)).rejects.toMatchObject(expected);
    await expect(fresh().audit(ID)).rejects.toMatchObject(expected);
  });

  it("that is older is read", async () => {
    const storage = new AlteredStorage();
    await count(makeKernel({ storage, machine: { ...counter, schema: 1 } }).kernel, 5);
    expect((await makeKernel({ storage }).kernel.find(ID))?.head.total).toBe(15);
  });

  it("that differs from the written one is refused", async () => {
    const { storage, fresh } = await five();
    storage.edit(5, { schema: 1 });
    expect(await reasonOf(fresh().find(ID))).toBe("5: its format is not the one that it was written in");
  });
});

describe("the hash chain", () => {
  const alterations: [string, (commits: readonly Commit[]) => readonly Commit[], number, string][] = [
    [
      "without its first commit",
      (all) => all.slice(1),
      0,
      "commit 2 of session counter_1 was changed: it does not follow",
    ],
    [
      "with a gap",
      (all) => all.filter(({ version }) => version !== 3),
      2,
      "commit 4 of session counter_1 was changed: it does not follow",
    ],
    [
      "with two commits swapped",
      ([a, b, c, d, e]) => [a, c, b, d, e].filter((one) => one !== undefined),
      1,
      "commit 3",
    ],
    ["with a commit twice", ([a, b, ...rest]) => [a, b, b, ...rest].filter((one) => one !== undefined), 2, "commit 2"],
  ];
  for (const [name, alter, versions, reason] of alterations) {
    it(`${name} is broken`, async () => {
      const { storage, fresh } = await five();
      storage.alter = alter;
      const report = await fresh().audit(ID);
      expect(report).toMatchObject({ intact: false, versions, reason: expect.stringContaining(reason) });
    });
  }

  it("is broken if two commits swap their places and version numbers", async () => {
    const { storage, fresh, commits } = await five();
    const { second, third } = commits;
    storage.alter = (all) =>
      all.map((commit) => {
        if (commit === second) return { ...third, version: 2, previousHash: second.previousHash };
        return commit === third ? { ...second, version: 3, previousHash: third.previousHash } : commit;
      });
    expect(await fresh().audit(ID)).toMatchObject({ intact: false, versions: 1 });
    expect(await reasonOf(fresh().at(ID, 2))).toBe("2: its hash is not that of its body");
  });

  it("is broken after a rewritten commit: the next one has the old hash", async () => {
    const { storage, fresh, commits } = await five();
    storage.edit(
      2,
      forged(commits.second, (body) => (body.events = [{ added: 1_000 }])),
    );
    expect(await fresh().audit(ID)).toMatchObject({
      intact: false,
      versions: 2,
      reason: expect.stringContaining("commit 3"),
    });
  });

  it("is broken by a gap, even if all hashes were made to match", async () => {
    const { storage, fresh, commits } = await five();
    const { first, second } = commits;
    const later = { ...forged(second, (body) => (body.version = 3)), version: 3 };
    storage.alter = () => [first, later];
    const reason = expect.stringContaining("commit 3 of session counter_1 was changed: it does not follow");
    expect(await fresh().audit(ID)).toMatchObject({ intact: false, versions: 1, reason });
  });

  it("with a missing commit returns no other commit for it", async () => {
    const { storage, fresh } = await five();
    storage.alter = (all) => all.filter(({ version }) => version !== 3);
    expect(await reasonOf(fresh().at(ID, 3))).toBe("3: it is missing");
    expect((await fresh().at(ID, 4)).version).toBe(4);
  });
});

describe("an audit", () => {
  it("returns a receipt, which later audits accept", async () => {
    const { kernel, fresh, commits } = await five();
    const report = await kernel.audit(ID);
    expect(report).toEqual({ intact: true, versions: 5, receipt: { version: 5, hash: commits.fifth.hash } });
    if (!report.intact) return;
    await kernel.execute(ID, adding(1));
    expect(await fresh().audit(ID, report.receipt)).toMatchObject({ intact: true, versions: 6 });
  });

  it("detects a truncated log only with a receipt", async () => {
    const { storage, fresh, commits } = await five();
    storage.alter = (all) => all.slice(0, 3);
    const receipt: Receipt = { version: 5, hash: commits.fifth.hash };
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 3 });
    const reason = "the commit of the receipt is not in the log";
    expect(await fresh().audit(ID, receipt)).toEqual({ intact: false, versions: 3, reason });
    expect(await fresh().audit(ID, { version: 3, hash: commits.third.hash })).toMatchObject({ intact: true });
  });

  it("detects a log that was rewritten from some version on only with a receipt", async () => {
    const { storage, fresh, commits } = await five();
    const anew = forged(commits.fifth, (body) => (body.events = [{ added: 1_000 }]));
    storage.edit(5, anew);
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 5 });
    const receipt: Receipt = { version: 5, hash: commits.fifth.hash };
    expect(await fresh().audit(ID, receipt)).toMatchObject({ intact: false, versions: 5 });
  });

  it("detects a session that is missing only with a receipt", async () => {
    const { storage, fresh, commits } = await five();
    storage.alter = () => [];
    expect(await fresh().audit(ID)).toEqual({ intact: true, versions: 0, receipt: { version: 0, hash: "" } });
    expect(await fresh().audit(ID, { version: 1, hash: commits.first.hash })).toMatchObject({
      intact: false,
      versions: 0,
    });
  });

  it("detects a truncated log by the store's hint", async () => {
    const { storage, fresh } = await five();
    const hint = vi.fn(async () => 5);
    Object.assign(storage, { hint });
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 5 });
    storage.alter = (all) => all.slice(0, 3);
    const reason = "the store names commit 5 as one of the session's, and it is missing";
    expect(await fresh().audit(ID)).toEqual({ intact: false, versions: 3, reason });
    hint.mockResolvedValue(3);
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 3 });
  });

  it("detects a payload that is missing, or another one", async () => {
    const storage = new AlteredStorage();
    const body = "a long text";
    const machine: typeof counter = {
      ...counter,
      decide: (head, command, context) => {
        const decision = counter.decide(head, command, context);
        return decision.ok ? { ...decision, events: [{ added: 1, note: `payload ${digest(body)}` }] } : decision;
      },
    };
    const { kernel } = makeKernel({ storage, machine });
    await kernel.execute(ID, () => ({ command: { add: 1 }, payloads: [{ hash: digest(body), body }] }));
    expect(await kernel.audit(ID)).toMatchObject({ intact: true, versions: 1 });
    const payload = vi.spyOn(storage, "payload").mockResolvedValue("another text");
    expect(await kernel.audit(ID)).toMatchObject({
      ...{ intact: false, versions: 0, reason: expect.stringContaining("a payload of it is not the one") },
    });
    payload.mockResolvedValue(undefined);
    expect(await kernel.audit(ID)).toMatchObject({
      ...{ intact: false, versions: 0, reason: expect.stringContaining("a payload of it is missing") },
    });
  });

  it.each([null, "1", {}, { version: 1 }, { hash: "f" }, { version: 1.5, hash: "f" }, { version: 1, hash: 7 }])(
    "refuses what is no receipt: hosts may be in plain JavaScript (%j)",
    async (receipt) => {
      const { kernel } = await five();
      const error = { code: "INVALID_INPUT", details: { field: "receipt", expected: "a version and a hash" } };
      await expect(Reflect.apply(kernel.audit, kernel, [ID, receipt])).rejects.toMatchObject(error);
    },
  );

  it("reads the first commit alone to find out of which kind the session is", async () => {
    const { storage, fresh } = await five();
    const log = vi.spyOn(storage, "log");
    await fresh().audit(ID);
    expect(log.mock.calls).toEqual([
      [ID, { limit: 1 }],
      [ID, {}],
    ]);
  });

  it("throws if the log cannot be read", async () => {
    const { storage, fresh } = await five();
    storage.alter = () => {
      throw new Error("disk on fire");
    };
    await expect(fresh().audit(ID)).rejects.toThrow("disk on fire");
  });
});

describe("a hash key", () => {
  it("makes it impossible to rewrite the log without the key", async () => {
    const { storage, fresh, commits } = await five(KEY);
    expect(await fresh().audit(ID)).toMatchObject({ intact: true, versions: 5 });
    const change = (body: Record<string, unknown>) => (body.events = [{ added: 1_000 }]);
    storage.edit(5, forged(commits.fifth, change));
    expect(await reasonOf(fresh().find(ID))).toBe("5: its hash is not that of its body");
    expect(await fresh().audit(ID)).toMatchObject({ intact: false, versions: 4 });
    storage.edit(5, forged(commits.fifth, change, KEY));
    expect((await fresh().at(ID, 5)).events).toEqual([{ added: 1_000 }]);
  });

  it("is required to read the log, and must be the same", async () => {
    const { storage } = await five(KEY);
    expect(await reasonOf(makeKernel({ storage }).kernel.find(ID))).toBe("5: its hash is not that of its body");
    const other = makeKernel({ storage, hashKey: new TextEncoder().encode("another key") }).kernel;
    expect(await reasonOf(other.find(ID))).toBe("5: its hash is not that of its body");
    const { storage: open } = await five();
    expect(await reasonOf(makeKernel({ storage: open, hashKey: KEY }).kernel.find(ID))).toContain("its hash");
  });
});

describe("commitHash", () => {
  it("is SHA-256, or HMAC-SHA-256 with a key, of the previous hash and the body", async () => {
    const { createHash, createHmac } = await import("node:crypto");
    const text = "previous\n{ä🙂}";
    expect(commitHash("previous", "{ä🙂}")).toBe(createHash("sha256").update(text).digest("hex"));
    expect(commitHash("previous", "{ä🙂}", KEY)).toBe(createHmac("sha256", KEY).update(text).digest("hex"));
  });

  it("is the hash that readBody checks", async () => {
    const { commits } = await five();
    expect(readBody(commits.first, counter.schema)).toMatchObject({ sessionId: ID, version: 1, keys: [] });
  });
});
