import { describe, expect, it } from "vitest";
import { addKey, findKey, KEYS_MAX, type Keys, keyedRequest, keysSchema } from "../../src/log/machine.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { wrapStorage } from "../../src/testing/broken.js";
import { adding, count, doing, ID, makeKernel } from "./counter.js";

describe("keyedRequest", () => {
  it("accepts keys of 1 to 200 characters", () => {
    for (const key of ["a", "x".repeat(200), " a ", "ключ", "🙂"]) expect(keyedRequest(key, {}).key).toBe(key);
    for (const key of ["", " ", "\t\n", "x".repeat(201)]) {
      expect(() => keyedRequest(key, {})).toThrow(
        expect.objectContaining({
          code: "INVALID_INPUT",
          details: { field: "idempotency_key", expected: "1 to 200 characters" },
        }),
      );
    }
  });

  it("refuses what is not a text: hosts may be in plain JavaScript", () => {
    for (const key of [undefined, null, 5, {}] as unknown[] as string[]) {
      expect(() => keyedRequest(key, {})).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    }
  });

  it("escapes and truncates an invalid key in the error", () => {
    expect(() => keyedRequest(`\u202e${"x".repeat(5_000)}`, {})).toThrow(
      /^the idempotency key "\\u202ex{50,}… is empty or too long$/,
    );
  });

  it("stores digests of key and command, which differ if key or command differ", () => {
    const one = keyedRequest("key", { add: 1 });
    expect(one.id).toMatch(/^[0-9a-f]{24}$/);
    expect(one.print).toMatch(/^[0-9a-f]{24}$/);
    expect(keyedRequest("key", { add: 1 })).toEqual(one);
    expect(keyedRequest("key", { add: 2 })).toMatchObject({ id: one.id, print: expect.not.stringMatching(one.print) });
    expect(keyedRequest("Key", { add: 1 })).toMatchObject({ id: expect.not.stringMatching(one.id), print: one.print });
  });
});

describe("idempotency keys", () => {
  const request = (name: string | number) => keyedRequest(`k${name}`, name);

  it("are found by key, and refused with another command", () => {
    const keys = addKey([], request(1), 1);
    expect(findKey(keys, request(1))).toBe(1);
    expect(findKey(keys, request(2))).toBeUndefined();
    expect(() => findKey(keys, keyedRequest("k1", "another"))).toThrow(
      expect.objectContaining({ code: "IDEMPOTENCY_KEY_REUSED", details: { key: "k1" } }),
    );
  });

  it("lead to their commit, whatever the command was; not if the session need not remember them", async () => {
    const { kernel } = makeKernel();
    expect(await kernel.ledTo(ID, "k1")).toBeUndefined();
    await kernel.execute(ID, adding(1), request(1));
    await kernel.execute(ID, () => ({ command: { add: 2 }, forgetsKey: true }), request(2));
    expect(await kernel.ledTo(ID, "k1")).toBe(1);
    expect(await kernel.ledTo(ID, "k2")).toBeUndefined();
  });

  it("are limited to the last sixteen and the one that started the session", () => {
    expect(KEYS_MAX).toBe(16);
    let keys: Keys = [];
    for (let version = 1; version <= 40; version += 1) keys = addKey(keys, request(version), version);
    expect(keys.map(([, version]) => version)).toEqual([1, ...Array.from({ length: 16 }, (_, index) => index + 25)]);
    expect(keysSchema.parse(JSON.parse(JSON.stringify(keys)))).toEqual(keys);
  });

  it("are limited to the last sixteen if the session was started without one", () => {
    let keys: Keys = [];
    for (let version = 2; version <= 40; version += 1) keys = addKey(keys, request(version), version);
    expect(keys.map(([, version]) => version)).toEqual(Array.from({ length: 16 }, (_, index) => index + 25));
  });
});

describe("a repeated call", () => {
  it("is answered only once its commit is durable", async () => {
    const inner = new MemoryStorage();
    let isDurable = false;
    const makeDurable = async (id: string) => {
      expect(id).toBe(ID);
      if (!isDurable) throw new Error("no standby has it");
    };
    const { kernel } = makeKernel({ storage: wrapStorage(inner, { makeDurable }) });
    const request = keyedRequest("one", { add: 5 });
    await kernel.execute(ID, adding(5), request);
    await expect(kernel.execute(ID, adding(5), request)).rejects.toThrow("no standby has it");
    isDurable = true;
    expect(await kernel.execute(ID, adding(5), request)).toMatchObject({ version: 1, replayed: true });
  });

  it("returns the first answer, and writes nothing", async () => {
    let commits = 0;
    const { kernel, clock } = makeKernel({ onCommit: () => (commits += 1) });
    const request = keyedRequest("one", { add: 5 });
    const first = await kernel.execute(ID, adding(5), request);
    await kernel.execute(ID, adding(1));
    clock.advance(60_000);
    const asked: unknown[] = [];
    const again = await kernel.execute(
      ID,
      (current) => {
        asked.push(current);
        return { command: { add: 5 } };
      },
      request,
    );
    const { replayed, ...answer } = first;
    expect(replayed).toBe(false);
    expect(again).toEqual({ ...answer, replayed: true });
    expect([asked, commits]).toEqual([[], 2]);
    expect((await kernel.find(ID))?.version).toBe(2);
  });

  it("may start a session, which every process can read", async () => {
    const storage = new MemoryStorage();
    await makeKernel({ storage }).kernel.execute(ID, adding(1), keyedRequest("start", 1));
    expect(await makeKernel({ storage }).kernel.audit(ID)).toMatchObject({ intact: true, versions: 1 });
    expect(JSON.parse((await storage.read(ID))?.body ?? "")).toHaveProperty("keys.length", 1);
  });

  it("returns the first answer if another process repeats it", async () => {
    const storage = new MemoryStorage();
    const request = keyedRequest("one", { add: 5 });
    const { replayed: _, ...first } = await makeKernel({ storage }).kernel.execute(ID, adding(5), request);
    expect(await makeKernel({ storage }).kernel.execute(ID, adding(5), request)).toMatchObject({
      ...first,
      replayed: true,
    });
  });

  it("returns one answer if both calls run at the same time", async () => {
    const storage = new MemoryStorage();
    const request = keyedRequest("one", { add: 5 });
    const calls = Array.from({ length: 6 }, () => makeKernel({ storage }).kernel.execute(ID, adding(5), request));
    const answers = await Promise.all(calls);
    expect(answers.map(({ version }) => version)).toEqual(Array(6).fill(1));
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect((await storage.read(ID))?.version).toBe(1);
  });

  it("is refused with another command, in any state", async () => {
    const { kernel } = makeKernel();
    await kernel.execute(ID, adding(5), keyedRequest("one", { add: 5 }));
    const other = kernel.execute(ID, adding(6), keyedRequest("one", { add: 6 }));
    await expect(other).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
    expect((await kernel.find(ID))?.version).toBe(1);
  });

  it("is recognized for sixteen keys, even after commits without a key", async () => {
    const { kernel } = makeKernel();
    const request = (index: number) => keyedRequest(`key ${index}`, { add: index });
    for (let index = 1; index <= 18; index += 1) await kernel.execute(ID, adding(index), request(index));
    await count(kernel, 20);
    const version = (await kernel.find(ID))?.version;
    for (const index of [1, 3, 10, 18]) {
      expect(await kernel.execute(ID, adding(index), request(index))).toMatchObject({ version: index, replayed: true });
    }
    expect((await kernel.find(ID))?.version).toBe(version);
    expect(await kernel.execute(ID, adding(2), request(2))).toMatchObject({ replayed: false });
  });

  it("is executed if the first call was refused", async () => {
    const { kernel } = makeKernel();
    const request = keyedRequest("one", { add: -1 });
    await expect(kernel.execute(ID, adding(-1), request)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await kernel.execute(ID, adding(1));
    expect(await kernel.execute(ID, adding(-1), request)).toMatchObject({ version: 2, replayed: false });
  });

  it("returns the first answer even after a tombstone", async () => {
    const { kernel } = makeKernel();
    await kernel.execute(ID, adding(1));
    const request = keyedRequest("bye", "bury");
    await kernel.execute(ID, doing("bury"), request);
    expect(await kernel.execute(ID, doing("bury"), request)).toMatchObject({ version: 2, replayed: true });
  });
});
