import { describe, expect, it, vi } from "vitest";
import { PhasegateError } from "../../src/errors.js";
import { keyedRequest, ownKey } from "../../src/log/machine.js";
import type { Commit, StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { digest } from "../../src/workflow/json.js";
import type { SessionId } from "../../src/workflow/names.js";
import { AlteredStorage } from "./altered-storage.js";
import { adding, type CounterHead, count, counter, doing, ID, makeKernel, OTHER_ID } from "./counter.js";

/** A storage in which another writer is faster, for the given number of times. */
class Contested extends MemoryStorage {
  readonly #rival = makeKernel({ storage: this.#quiet() }).kernel;
  times = 0;
  /** So often, after that, a commit comes second to one that can't be read yet. */
  unseen = 0;

  override async append(commit: Commit): Promise<void> {
    if (this.times > 0) {
      this.times -= 1;
      await this.#rival.execute(commit.sessionId, adding(100));
    } else if (this.unseen > 0) {
      this.unseen -= 1;
      const { sessionId, version } = commit;
      throw new PhasegateError("CONFLICT", "another commit is on its way", {
        remedy: "None.",
        details: { sessionId, version },
      });
    }
    await super.append(commit);
  }

  #quiet(): StorageAdapter {
    return {
      capabilities: this.capabilities,
      read: (id) => this.read(id),
      append: (commit) => super.append(commit),
      log: (id, options) => this.log(id, options),
      payload: (id, hash) => this.payload(id, hash),
      list: (query) => this.list(query),
      countActive: (upTo) => this.countActive(upTo),
      remove: (id) => this.remove(id),
    };
  }
}

/** A clock that notes how long it is asked to wait, and does not wait. */
function waiting() {
  const waits: number[] = [];
  const after = (milliseconds: number, done: () => void) => {
    waits.push(milliseconds);
    queueMicrotask(done);
    return () => {};
  };
  return { waits, clock: { now: () => 0, random: () => 0.5, after } };
}

/** Returns a kernel of the same machine under another name. */
function otherKind(storage: StorageAdapter, schema = counter.schema) {
  const parse = () => {
    throw new Error("these events are of another machine");
  };
  return makeKernel({ storage, machine: { ...counter, kind: "other", schema, parse } }).kernel;
}

describe("a session of another kind", () => {
  it("is not there for a kernel that can't read it, whose new session can't have its id", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, adding(1));
    const other = otherKind(storage);
    expect(await other.find(ID)).toBeUndefined();
    // Its format is newer than any that this kernel knows of its own kind.
    expect(await otherKind(storage, 1).find(ID)).toBeUndefined();
    const append = vi.spyOn(storage, "append");
    await expect(other.execute(ID, adding(1), undefined, { isNew: true })).rejects.toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("by a session that is of another kind"),
    });
    expect(append.mock.calls.length).toBeLessThan(3);
    expect(await kernel.find(ID)).toMatchObject({ head: { total: 1 } });
  });

  it.each([undefined, new Uint8Array(32)])(
    "hides no commit that was changed, if it is in the summary alone (%j)",
    async (hashKey) => {
      const options = hashKey === undefined ? {} : { hashKey };
      const { kernel, storage } = makeKernel(options);
      await kernel.execute(ID, adding(1));
      const { read } = storage;
      const changes: ((commit: Commit) => Partial<Commit>)[] = [
        ({ body }) => ({ body: body.replace('"total":1', '"total":9') }),
        () => ({ schema: 999 }),
        () => ({ sessionId: OTHER_ID }),
      ];
      for (const change of changes) {
        storage.read = async (id: SessionId) => {
          const commit = await read.call(storage, id);
          return commit && { ...commit, ...change(commit), summary: { ...commit.summary, kind: "other" } };
        };
        const code = expect.stringMatching(/^(TAMPERED|FORMAT_TOO_NEW)$/);
        await expect(makeKernel({ ...options, storage }).kernel.find(ID)).rejects.toMatchObject({ code });
      }
    },
  );

  it("has no commits here to audit; one of this kind that was changed is told", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, adding(1));
    await kernel.execute(ID, adding(2));
    expect(await otherKind(storage).audit(ID)).toEqual({
      intact: true,
      versions: 0,
      receipt: { version: 0, hash: "" },
    });
    expect(await otherKind(storage, 1).audit(ID)).toMatchObject({ versions: 0 });
    // With a receipt it is known that there was one.
    const receipt = { version: 2, hash: "f".repeat(64) };
    expect(await otherKind(storage).audit(ID, receipt)).toMatchObject({ intact: false, versions: 0 });
    expect(await otherKind(storage).audit(OTHER_ID)).toMatchObject({ intact: true, versions: 0 });
    const { log } = storage;
    storage.log = async function* (...[id, options]: Parameters<typeof log>) {
      for await (const commit of log.call(storage, id, options)) {
        yield {
          ...commit,
          body: commit.body.replace('"total":1', '"total":9'),
          summary: { ...commit.summary, kind: "x" },
        };
      }
    };
    expect(await makeKernel({ storage }).kernel.audit(ID)).toMatchObject({ intact: false, versions: 0 });
    vi.spyOn(storage, "log").mockImplementationOnce(() => {
      throw new Error("the disk is gone");
    });
    await expect(makeKernel({ storage }).kernel.audit(ID)).rejects.toThrow("the disk is gone");
  });

  it("is one that can't be read: another kind in the summary alone hides nothing", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, adding(1));
    const { read } = storage;
    storage.read = async (id: SessionId) => {
      const commit = await read.call(storage, id);
      return commit && { ...commit, summary: { ...commit.summary, kind: "other" } };
    };
    expect(await makeKernel({ storage }).kernel.find(ID)).toMatchObject({ head: { total: 1 } });
  });
});

it("a session whose commit is that of another session is refused, also if it is of another kind", async () => {
  const { kernel, storage } = makeKernel();
  await kernel.execute(OTHER_ID, adding(1));
  const { read } = storage;
  storage.read = () => read.call(storage, OTHER_ID);
  const details = { reason: "it belongs to another session" };
  await expect(otherKind(storage).find(ID)).rejects.toMatchObject({ code: "TAMPERED", details });
});

describe("a first commit", () => {
  it("has no previous hash, and stores time, head and session id", async () => {
    const { kernel, storage } = makeKernel();
    const done = await kernel.execute(ID, adding(5));
    const at = "2026-01-01T00:00:00.000Z";
    expect(done).toMatchObject({ sessionId: ID, version: 1, at, events: [{ added: 5 }], replayed: false });
    const head = { status: "active", total: 5, marks: [{ at }], createdAt: at };
    expect(done.head).toEqual(head);
    const body = JSON.stringify({ sessionId: ID, version: 1, at, schema: 2, events: [{ added: 5 }], head });
    expect(await storage.read(ID)).toEqual({
      ...{ sessionId: ID, version: 1, at, schema: 2, previousHash: "", hash: digest(`\n${body}`), body },
      summary: {
        ...{ sessionId: ID, kind: "counter", workflowType: "counter", target: "numbers", status: "active" },
        ...{ current: 5, createdAt: at, updatedAt: at, activeSince: 1 },
      },
    });
  });

  it("is the previous commit of the second one", async () => {
    const { kernel, storage } = makeKernel();
    const first = await kernel.execute(ID, adding(5));
    const second = await kernel.execute(ID, adding(2));
    expect(second).toMatchObject({ version: 2, head: { total: 7 } });
    const commit = await storage.read(ID);
    expect(commit?.previousHash).toBe(first.hash);
    expect(second.hash).toBe(digest(`${first.hash}\n${commit?.body}`));
  });

  it("stores its payloads", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, () => ({ command: { add: 1 }, payloads: [{ hash: "abc", body: "large" }] }));
    expect(await storage.payload(ID, "abc")).toBe("large");
    const append = vi.spyOn(storage, "append");
    await kernel.execute(ID, adding(1));
    expect(append).toHaveBeenCalledWith(expect.objectContaining({ version: 2, payloads: [] }), {
      follows: expect.stringContaining('"version":1,'),
    });
  });
});

describe("execute", () => {
  it("passes the newest state to prepare", async () => {
    const { kernel } = makeKernel();
    const seen: unknown[] = [];
    for (const add of [1, 2]) {
      await kernel.execute(ID, async (current) => {
        seen.push(current);
        return { command: { add } };
      });
    }
    expect(seen[0]).toBeUndefined();
    expect(seen[1]).toMatchObject({ version: 1, head: { total: 1 } });
  });

  it("throws the machine's refusal, and writes nothing", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, adding(1));
    const before = await storage.read(ID);
    await expect(kernel.execute(ID, adding(-2))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await storage.read(ID)).toBe(before);
    await expect(kernel.execute(OTHER_ID, adding(-2))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await storage.read(OTHER_ID)).toBeUndefined();
  });

  it("throws the error of prepare, and writes nothing", async () => {
    const { kernel, storage } = makeKernel();
    await expect(kernel.execute(ID, () => Promise.reject(new Error("no gate")))).rejects.toThrow("no gate");
    expect(await storage.read(ID)).toBeUndefined();
  });

  it("throws the storage's error unchanged, without a second attempt, and caches no head", async () => {
    const storage = new MemoryStorage();
    const { kernel } = makeKernel({ storage });
    await kernel.execute(ID, adding(1));
    const append = vi.spyOn(storage, "append").mockRejectedValueOnce(new Error("disk full"));
    await expect(kernel.execute(ID, adding(1))).rejects.toThrow("disk full");
    expect(append).toHaveBeenCalledTimes(1);
    expect((await kernel.find(ID))?.head.total).toBe(1);
    expect((await kernel.execute(ID, adding(1))).version).toBe(2);
  });

  it("calls onCommit for each commit, before the caller has the answer", async () => {
    const told: number[] = [];
    const { kernel } = makeKernel({ onCommit: ({ version }) => told.push(version) });
    await kernel.execute(ID, adding(1));
    expect(told).toEqual([1]);
    await kernel.execute(ID, adding(-5)).catch(() => {});
    await kernel.find(ID);
    await kernel.execute(ID, adding(1));
    expect(told).toEqual([1, 2]);
  });
});

describe("a command for a new id", () => {
  it("is decided without a look at the storage", async () => {
    const { kernel, storage } = makeKernel();
    const read = vi.spyOn(storage, "read");
    expect(await kernel.execute(ID, adding(1), undefined, { isNew: true })).toMatchObject({ version: 1 });
    expect(read).not.toHaveBeenCalled();
  });

  it("is decided again if a session has that id", async () => {
    const storage = new MemoryStorage();
    await makeKernel({ storage }).kernel.execute(ID, adding(5));
    const onConflict = vi.fn();
    const { kernel } = makeKernel({ storage, onConflict });
    const seen: unknown[] = [];
    const prepare = (current: { readonly head: CounterHead } | undefined) => {
      seen.push(current?.head.total);
      return { command: { add: 1 } };
    };
    expect(await kernel.execute(ID, prepare, undefined, { isNew: true })).toMatchObject({
      version: 2,
      head: { total: 6 },
    });
    expect(seen).toEqual([undefined, 5]);
    expect(onConflict).toHaveBeenCalledTimes(1);
  });

  it("is refused if the id is that of a removed session", async () => {
    const { kernel } = makeKernel();
    await kernel.execute(ID, doing("bury"));
    await kernel.remove(ID);
    const again = kernel.execute(ID, adding(1), undefined, { isNew: true });
    await expect(again).rejects.toMatchObject({ code: "CONFLICT" });
  });
});

describe("conflicts", () => {
  it("run prepare again with the state that the other writer left", async () => {
    const storage = new Contested();
    const conflicts: [string, number][] = [];
    const { kernel } = makeKernel({ storage, onConflict: (id, version) => conflicts.push([id, version]) });
    await kernel.execute(ID, adding(1));
    storage.times = 3;
    const seen: (number | undefined)[] = [];
    const done = await kernel.execute(ID, (current) => {
      seen.push(current?.head.total);
      return { command: { add: 1 } };
    });
    expect(seen).toEqual([1, 101, 201, 301]);
    expect(done).toMatchObject({ version: 5, head: { total: 302 } });
    expect(conflicts).toEqual([2, 3, 4].map((version) => [ID, version]));
  });

  it("are resolved on a first commit, too", async () => {
    const storage = new Contested();
    storage.times = 1;
    expect(await makeKernel({ storage }).kernel.execute(ID, adding(1))).toMatchObject({
      version: 2,
      head: { total: 101 },
    });
  });

  it("may end in a refusal if the command is no longer possible", async () => {
    const storage = new Contested();
    const { kernel } = makeKernel({ storage });
    await kernel.execute(ID, adding(1));
    storage.times = 1;
    const closing = kernel.execute(ID, (current) => {
      if (current?.head.total !== 1) throw new Error("too late");
      return { command: { add: -1 } };
    });
    await expect(closing).rejects.toThrow("too late");
  });

  it("lose no update among many concurrent callers", async () => {
    const storage = new MemoryStorage();
    const kernels = [makeKernel({ storage }).kernel, makeKernel({ storage }).kernel, makeKernel({ storage }).kernel];
    await Promise.all(kernels.flatMap((kernel) => Array.from({ length: 10 }, () => kernel.execute(ID, adding(1)))));
    expect(await kernels[0]?.find(ID)).toMatchObject({ version: 30, head: { total: 30 } });
    expect(await kernels[0]?.audit(ID)).toMatchObject({ intact: true, versions: 30 });
  });

  it("that do not end are reported to the caller after 400 attempts", async () => {
    const clock = { now: () => 0, random: () => 0 };
    const storage = new Contested();
    let conflicts = 0;
    const { kernel } = makeKernel({ storage, clock, onConflict: () => (conflicts += 1) });
    storage.times = 1_000;
    const error = await kernel.execute(ID, adding(1)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONFLICT", details: { sessionId: ID, version: 400 } });
    expect((error as Error).message).toContain("too many at once");
    expect((error as Error).cause).toMatchObject({ code: "CONFLICT" });
    expect(conflicts).toBe(400);
    expect((await kernel.find(ID))?.head.total).toBe(40_000);
  });

  it("are retried after increasing waits, up to a limit", async () => {
    const storage = new Contested();
    storage.times = 8;
    const { clock, waits } = waiting();
    await makeKernel({ storage, clock }).kernel.execute(ID, adding(1));
    expect(waits).toEqual([1, 2, 4, 8, 16, 25, 25, 25]);
  });

  it("are retried at once after sixteen tries, if others have written", async () => {
    const storage = new Contested();
    storage.times = 40;
    const { clock, waits } = waiting();
    await makeKernel({ storage, clock }).kernel.execute(ID, adding(1));
    expect(waits).toEqual([1, 2, 4, 8, 16, ...Array(11).fill(25)]);
  });

  it("are retried after increasing waits while nobody else's commit is there yet", async () => {
    const storage = new Contested();
    storage.times = 20;
    storage.unseen = 4;
    const { clock, waits } = waiting();
    await makeKernel({ storage, clock }).kernel.execute(ID, adding(1));
    expect(waits.slice(16)).toEqual([1, 2, 4]);
  });
});

it("a session that can't get a tombstone is deleted by an operator alone, and is not of another kind", async () => {
  const { kernel, storage } = makeKernel();
  await kernel.execute(ID, adding(1));
  const details = { sessionId: ID, version: 1, reason: "damaged" };
  const damaged = new PhasegateError("TAMPERED", "it is damaged", { remedy: "None.", details });
  const removed = vi.spyOn(storage, "remove");
  const remove = (isOperator: boolean) =>
    kernel.delete(
      ID,
      () => Promise.reject(damaged),
      () => isOperator,
    );
  await expect(remove(false)).rejects.toBe(damaged);
  const read = vi.spyOn(storage, "read");
  read.mockImplementation(async (id: SessionId) => {
    const commit = await MemoryStorage.prototype.read.call(storage, id);
    return commit && { ...commit, summary: { ...commit.summary, kind: "other" } };
  });
  await expect(remove(true)).rejects.toBe(damaged);
  const gone = new Error("the disk has gone");
  read.mockRejectedValue(gone);
  await expect(remove(true)).rejects.toBe(gone);
  expect(removed).not.toHaveBeenCalled();
  read.mockRejectedValue(damaged);
  await remove(true);
  read.mockResolvedValue(undefined);
  await remove(true);
  read.mockRestore();
  expect(removed).toHaveBeenCalledTimes(2);
  expect(await kernel.find(ID)).toBeUndefined();
});

it("a deletion that was interrupted after its tombstone is finished; a session that there is not is refused", async () => {
  const { kernel, storage } = makeKernel();
  const details = { sessionId: ID };
  const missing = new PhasegateError("SESSION_NOT_FOUND", "there is none", { remedy: "None.", details });
  const remove = () =>
    kernel.delete(
      ID,
      () => Promise.reject(missing),
      () => true,
    );
  await expect(remove()).rejects.toBe(missing);
  await kernel.execute(ID, adding(1));
  await kernel.execute(ID, doing("bury"));
  expect(await storage.read(ID)).toBeDefined();
  await remove();
  expect(await storage.read(ID)).toBeUndefined();
});

it("a session that was read as damaged by mistake, and is this kernel's own, is deleted", async () => {
  const { kernel } = makeKernel();
  await kernel.execute(ID, adding(1));
  const details = { sessionId: ID, version: 1, reason: "damaged" };
  const damaged = new PhasegateError("TAMPERED", "it is damaged", { remedy: "None.", details });
  await kernel.delete(
    ID,
    () => Promise.reject(damaged),
    () => true,
  );
  expect(await kernel.find(ID)).toBeUndefined();
});

it("a session is removed once it has its tombstone", async () => {
  const { kernel, storage } = makeKernel();
  await kernel.execute(ID, adding(1));
  const tombstone = vi.fn(() => kernel.execute(ID, doing("bury")));
  await kernel.delete(ID, tombstone, () => false);
  expect(tombstone).toHaveBeenCalledTimes(1);
  expect(await storage.read(ID)).toBeUndefined();
});

describe("a removed session", () => {
  it("is not found after its tombstone, and its id cannot be used again", async () => {
    const { kernel, storage } = makeKernel();
    await kernel.execute(ID, adding(1));
    expect(await kernel.isTombstone(ID)).toBe(false);
    await kernel.execute(ID, doing("bury"));
    expect(await kernel.find(ID)).toBeUndefined();
    expect((await storage.read(ID))?.summary.status).toBe("deleted");
    expect(await kernel.newest(ID)).toMatchObject({ version: 2 });
    expect(await kernel.isTombstone(ID)).toBe(true);
    await kernel.remove(ID);
    expect(await kernel.find(ID)).toBeUndefined();
    expect(await kernel.isTombstone(ID)).toBe(false);
    expect(await storage.read(ID)).toBeUndefined();
    const again = kernel.execute(ID, adding(1));
    await expect(again).rejects.toMatchObject({ code: "CONFLICT", details: { sessionId: ID, version: 1 } });
    await expect(again).rejects.toThrow("was used before");
  });

  it("that another kernel removed is not written to: prepare gets no state", async () => {
    const storage = new MemoryStorage();
    const { kernel } = makeKernel({ storage });
    await kernel.execute(ID, adding(1));
    const seen: (number | undefined)[] = [];
    const done = kernel.execute(ID, async (current) => {
      seen.push(current?.version);
      if (current === undefined)
        throw new PhasegateError("SESSION_NOT_FOUND", "gone", { remedy: "-", details: { sessionId: ID } });
      await storage.remove(ID);
      return { command: { add: 1 } };
    });
    await expect(done).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(seen).toEqual([1, undefined]);
  });
});

describe("find", () => {
  it("returns undefined for an unknown session", async () => {
    expect(await makeKernel().kernel.find(ID)).toBeUndefined();
  });

  it("returns the commits of another kernel", async () => {
    const storage = new MemoryStorage();
    const [one, other] = [makeKernel({ storage }).kernel, makeKernel({ storage }).kernel];
    await one.execute(ID, adding(1));
    expect((await other.find(ID))?.head.total).toBe(1);
    await one.execute(ID, adding(1));
    expect((await other.find(ID))?.head.total).toBe(2);
    await other.execute(ID, adding(1));
    expect((await one.find(ID))?.head.total).toBe(3);
  });

  it("parses a commit once for any number of calls", async () => {
    const storage = new MemoryStorage();
    await makeKernel({ storage }).kernel.execute(ID, adding(1));
    let parsed = 0;
    const parse: typeof counter.parse = (events, head) => {
      parsed += 1;
      return counter.parse(events, head);
    };
    const { kernel } = makeKernel({ storage, machine: { ...counter, parse } });
    for (let times = 0; times < 3; times += 1) expect((await kernel.find(ID))?.head.total).toBe(1);
    await kernel.execute(ID, adding(1));
    expect((await kernel.find(ID))?.head.total).toBe(2);
    expect(parsed).toBe(1);
  });

  it("drops the heads of sessions that were not used recently", async () => {
    const storage = new MemoryStorage();
    let parsed = 0;
    const parse: typeof counter.parse = (events, head) => {
      parsed += 1;
      return counter.parse(events, head);
    };
    const { kernel } = makeKernel({ storage, machine: { ...counter, parse } });
    // A commit weighs more than 1 KiB, and 16 MiB are kept.
    const last = 16 * 1024;
    for (let index = 0; index <= last; index += 1) await kernel.execute(`s${index}` as typeof ID, adding(1));
    await kernel.find(`s${last}` as typeof ID);
    expect(parsed).toBe(0);
    await kernel.find("s0" as typeof ID);
    expect(parsed).toBe(1);
  });

  it("returns frozen heads, which callers cannot change", async () => {
    const { kernel } = makeKernel();
    const started = await kernel.execute(ID, adding(1));
    const found = await kernel.find(ID);
    const elsewhere = await makeKernel({ storage: (await copyOf(kernel)).storage }).kernel.find(ID);
    for (const given of [started.head, found?.head, elsewhere?.head]) {
      expect(() => Object.assign(given ?? {}, { total: 1_000 })).toThrow(TypeError);
      expect(() => given?.marks.push({ at: "never" })).toThrow(TypeError);
      expect(() => Object.assign(given?.marks[0] ?? {}, { at: "never" })).toThrow(TypeError);
    }
    expect((await kernel.execute(ID, adding(1))).head.total).toBe(2);
  });
});

/** Copies a session of a kernel into another storage. */
async function copyOf(kernel: ReturnType<typeof makeKernel>["kernel"]) {
  const storage = new MemoryStorage();
  const copy = makeKernel({ storage });
  for await (const { events } of kernel.log(ID)) await copy.kernel.execute(ID, adding(events[0]?.added ?? 0));
  return { storage };
}

describe("at", () => {
  it("returns any commit as it was written", async () => {
    const { kernel, clock } = makeKernel();
    await kernel.execute(ID, adding(1));
    clock.advance(1_000);
    await kernel.execute(ID, adding(1));
    expect(await kernel.at(ID, 1)).toMatchObject({ version: 1, at: "2026-01-01T00:00:00.000Z", head: { total: 1 } });
    expect(await kernel.at(ID, 2)).toMatchObject({ version: 2, at: "2026-01-01T00:00:01.000Z", head: { total: 2 } });
  });

  it("reads no other commit", async () => {
    const { kernel, storage } = makeKernel();
    await count(kernel, 3);
    const log = vi.spyOn(storage, "log");
    await kernel.at(ID, 2);
    expect(log.mock.calls).toEqual([[ID, { after: 1, limit: 1 }]]);
  });

  it("throws if the commit does not exist", async () => {
    const { kernel } = makeKernel();
    await kernel.execute(ID, adding(1));
    const details = { sessionId: ID, version: 2, reason: "it is missing" };
    await expect(kernel.at(ID, 2)).rejects.toMatchObject({ code: "TAMPERED", details });
    await expect(kernel.at(OTHER_ID, 1)).rejects.toMatchObject({ code: "TAMPERED" });
  });
});

describe("log", () => {
  it("yields all commits in order, and none for an unknown session", async () => {
    const { kernel } = makeKernel();
    await count(kernel, 3);
    const totals: number[] = [];
    for await (const { version, head } of kernel.log(ID)) totals.push(version * 100 + head.total);
    expect(totals).toEqual([101, 203, 306]);
    for await (const { version } of kernel.log(OTHER_ID)) totals.push(version);
    expect(totals).toHaveLength(3);
  });
});

describe("a summary", () => {
  it("contains the version since which a session is active, and keeps it when the session ends", async () => {
    const { kernel, clock } = makeKernel();
    const since: number[] = [];
    for (const command of [{ add: 1 }, { add: 1 }, "close", { add: 1 }, "open", { add: 1 }, "close"] as const) {
      clock.advance(1_000);
      const { summary } = await kernel.execute(ID, doing(command));
      since.push(summary.activeSince);
    }
    expect(since).toEqual([1, 1, 1, 1, 5, 5, 5]);
    expect((await kernel.find(ID))?.summary).toMatchObject({
      ...{ status: "completed", current: 4, completedAt: "2026-01-01T00:00:01.000Z" },
      ...{ createdAt: "2026-01-01T00:00:01.000Z", updatedAt: "2026-01-01T00:00:07.000Z" },
    });
  });

  it("contains version 1 for a session that was never active", async () => {
    const { summary } = await makeKernel().kernel.execute(ID, doing("close"));
    expect(summary.activeSince).toBe(1);
  });

  it("is the same when another kernel reads it", async () => {
    const storage = new MemoryStorage();
    const { kernel } = makeKernel({ storage });
    for (const command of [{ add: 1 }, "close", "open", "close"] as const) {
      const { summary } = await kernel.execute(ID, doing(command));
      expect((await makeKernel({ storage }).kernel.find(ID))?.summary).toEqual(summary);
      expect((await storage.list({})).items).toEqual([summary]);
    }
  });
});

describe("a kernel with cached heads", () => {
  /** Creates two kernels on one storage, and counts their reads and conflicts. */
  function hosts() {
    const storage = new MemoryStorage();
    const conflicts: number[] = [];
    const onConflict = (_id: unknown, version: number) => void conflicts.push(version);
    const waits: number[] = [];
    const after = (milliseconds: number, done: () => void) => {
      waits.push(milliseconds);
      queueMicrotask(done);
      return () => {};
    };
    const clock = { now: () => 0, random: () => 0.5, after };
    const { kernel } = makeKernel({ storage, clock, trustsHeads: true, onConflict });
    const other = makeKernel({ storage }).kernel;
    const reads = vi.spyOn(storage, "read");
    return { storage, kernel, other, reads, conflicts, waits };
  }

  it("appends to its own commits without reading", async () => {
    const { kernel, reads } = hosts();
    await kernel.execute(ID, adding(1));
    expect(reads).toHaveBeenCalledTimes(1);
    await kernel.execute(ID, adding(2));
    expect((await kernel.execute(ID, adding(3))).head.total).toBe(6);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it("decides again if another kernel has written meanwhile, without waiting", async () => {
    const { kernel, other, conflicts, waits } = hosts();
    await kernel.execute(ID, adding(1));
    await other.execute(ID, adding(10));
    const seen: (number | undefined)[] = [];
    const done = await kernel.execute(ID, (current) => {
      seen.push(current?.head.total);
      return { command: { add: 1 } };
    });
    expect(seen).toEqual([1, 11]);
    expect(done).toMatchObject({ version: 3, head: { total: 12 } });
    expect([conflicts, waits]).toEqual([[2], []]);
  });

  it("refuses no command because of an outdated head", async () => {
    const { kernel, other } = hosts();
    await kernel.execute(ID, adding(1));
    await other.execute(ID, adding(10));
    expect((await kernel.execute(ID, adding(-5))).head.total).toBe(6);
  });

  it("refuses a command after one read", async () => {
    const { kernel, reads } = hosts();
    await kernel.execute(ID, adding(1));
    reads.mockClear();
    await expect(kernel.execute(ID, adding(-5))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it("writes nothing for an answer, and returns no outdated one", async () => {
    const { kernel, other, reads } = hosts();
    await kernel.execute(ID, adding(1));
    reads.mockClear();
    const total = vi.fn((current: { head: { total: number } } | undefined) => ({ answer: current?.head.total }));
    expect(await kernel.execute(ID, total)).toEqual({ answer: 1 });
    expect(reads).toHaveBeenCalledTimes(1);
    expect(total).toHaveBeenCalledTimes(1);
    await other.execute(ID, adding(10));
    expect(await kernel.execute(ID, total)).toEqual({ answer: 11 });
    expect(await other.execute(ID, total)).toEqual({ answer: 11 });
    expect((await other.find(ID))?.version).toBe(2);
  });

  it("returns the first answer for a key that another kernel has executed", async () => {
    const { kernel, other } = hosts();
    const request = keyedRequest("again", ["add", 5]);
    await kernel.execute(ID, adding(1));
    const first = await other.execute(ID, adding(5), request);
    expect(await kernel.execute(ID, adding(5), request)).toEqual({ ...first, replayed: true });
    expect((await kernel.find(ID))?.head.total).toBe(6);
  });

  it("detects that a session was removed, even if it knows the key", async () => {
    const { kernel, other } = hosts();
    const request = keyedRequest("again", ["add", 5]);
    await kernel.execute(ID, adding(5), request);
    await other.execute(ID, doing("bury"));
    await other.remove(ID);
    const seen: unknown[] = [];
    const prepare = (current: unknown) => {
      seen.push(current);
      return Promise.reject(new Error("there is none"));
    };
    await expect(kernel.execute(ID, prepare, request)).rejects.toThrow("there is none");
    expect(seen).toEqual([undefined]);
  });

  it("knows nothing of a session that it has removed", async () => {
    const { kernel } = hosts();
    await kernel.execute(ID, doing("bury"));
    await kernel.remove(ID);
    const prepare = vi.fn(() => Promise.reject(new Error("there is none")));
    await expect(kernel.execute(ID, prepare)).rejects.toThrow("there is none");
    expect(prepare.mock.calls).toMatchObject([[undefined, {}]]);
  });

  it("knows nothing of a session that it has not found any more", async () => {
    const { kernel, other } = hosts();
    await kernel.execute(ID, adding(1));
    await other.execute(ID, doing("bury"));
    await other.remove(ID);
    expect(await kernel.find(ID)).toBeUndefined();
    const prepare = vi.fn(() => Promise.reject(new Error("there is none")));
    await expect(kernel.execute(ID, prepare)).rejects.toThrow("there is none");
    expect(prepare.mock.calls).toMatchObject([[undefined, {}]]);
  });

  it("throws the storage's error, without a second attempt", async () => {
    const { kernel, storage, reads } = hosts();
    await kernel.execute(ID, adding(1));
    reads.mockClear();
    const append = vi.spyOn(storage, "append").mockRejectedValueOnce(new Error("connection lost"));
    await expect(kernel.execute(ID, adding(1))).rejects.toThrow("connection lost");
    expect(append).toHaveBeenCalledTimes(1);
    expect(reads).not.toHaveBeenCalled();
  });

  it("loses no update in a race", async () => {
    const { kernel, other } = hosts();
    const racers = Array.from({ length: 40 }, (_, turn) => (turn % 2 ? kernel : other).execute(ID, adding(1)));
    const totals = (await Promise.all(racers)).map(({ head }) => head.total);
    expect(totals.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, turn) => turn + 1));
  });

  it("confirms only a decision that is based on the newest state", async () => {
    const { kernel, other } = hosts();
    await kernel.execute(ID, adding(1));
    await other.execute(ID, adding(1));
    const confirmed: (number | undefined)[] = [];
    const adds = async (current: { head: { total: number } } | undefined, confirm: () => Promise<void>) => {
      await confirm();
      confirmed.push(current?.head.total);
      return { command: { add: 1 } };
    };
    expect((await kernel.execute(ID, adds)).version).toBe(3);
    expect((await kernel.execute(ID, adds)).version).toBe(4);
    await other.execute(OTHER_ID, adds);
    expect(confirmed).toEqual([2, 3, undefined]);
  });
});

describe("a kernel for one caller", () => {
  /** Two hosts on one storage, and a kernel of the first for a caller who may use counters below ten. */
  function limited(trustsHeads = false) {
    const { kernel, storage } = makeKernel({ trustsHeads });
    const { kernel: other } = makeKernel({ storage });
    return { kernel, other, storage, own: kernel.limitedTo(({ current }) => Number(current) < 10) };
  }

  it("finds the sessions that the caller may use, and no others", async () => {
    const { own, other } = limited();
    await other.execute(ID, adding(1));
    expect(await own.find(ID)).toMatchObject({ head: { total: 1 } });
    await other.execute(ID, adding(20));
    expect([await own.find(ID), await own.newest(ID)]).toEqual([undefined, undefined]);
    expect(await other.find(ID)).toMatchObject({ head: { total: 21 } });
  });

  it("does not tell that another caller's session was changed, and finds none by a changed summary", async () => {
    const storage = new AlteredStorage();
    const { summary, head } = await makeKernel({ storage }).kernel.execute(ID, adding(20));
    expect(head.total).toBe(20);
    const fresh = () => makeKernel({ storage }).kernel;
    const own = () => fresh().limitedTo(({ current }) => Number(current) < 10);
    storage.edit(1, { body: "{}" });
    await expect(fresh().find(ID)).rejects.toMatchObject({ code: "TAMPERED" });
    expect(await own().find(ID)).toBeUndefined();
    storage.edit(1, { summary: { ...summary, current: 1 } });
    expect(await fresh().find(ID)).toMatchObject({ head });
    expect(await own().find(ID)).toBeUndefined();
  });

  it("refuses the id of another caller's session like that of a removed one", async () => {
    const { own, other, kernel } = limited();
    await other.execute(ID, adding(20));
    const message = expect.stringContaining("is not yours any more, or was deleted");
    await expect(own.execute(ID, adding(1))).rejects.toMatchObject({ code: "CONFLICT", message });
    await kernel.remove(ID);
    await expect(kernel.execute(ID, adding(1))).rejects.toMatchObject({
      message: expect.stringContaining("by a session that was deleted"),
    });
  });

  it.each(["kernel", "other"] as const)("writes nothing to a session that was handed over (by %s)", async (by) => {
    const { own, other, ...kernels } = limited(true);
    await own.execute(ID, adding(1));
    await { other, ...kernels }[by].execute(ID, adding(20));
    await expect(own.execute(ID, adding(1))).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await other.find(ID)).toMatchObject({ version: 2, head: { total: 21 } });
  });

  it("answers a repeated call only while the session is the caller's", async () => {
    const { own, other } = limited(true);
    const request = keyedRequest("k", 1);
    await own.execute(ID, adding(1), request);
    expect(await own.execute(ID, adding(1), request)).toMatchObject({ version: 1, replayed: true });
    await other.execute(ID, adding(20));
    await expect(own.execute(ID, adding(1), request)).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("has keys that no other owner's are", () => {
    const keys = [ownKey("ann", "k"), ownKey("bob", "k"), ownKey("ann", "l"), ownKey("an", "nk")];
    expect(new Set(keys).size).toBe(4);
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{24}$/);
  });
});
