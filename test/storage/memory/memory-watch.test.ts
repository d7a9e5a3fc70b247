import { MemoryStorage } from "phasegate";
import type { SessionQuery } from "phasegate/storage";
import { commitChain, makeCommit, nextCommit } from "phasegate/testing";
import { describe, expect, it } from "vitest";

const active: SessionQuery = { status: ["active"] };

function begin(query: SessionQuery = {}) {
  const storage = new MemoryStorage();
  const control = new AbortController();
  const commits = storage.watch(query, { signal: control.signal });
  const next = async () => {
    const { value } = await commits.next();
    return value === undefined ? undefined : `${value.sessionId} ${value.version}`;
  };
  return { storage, control, commits, next };
}

describe("MemoryStorage.watch", () => {
  it("yields commits that are appended after the call, to all waiting calls in order", async () => {
    const { storage, next } = begin();
    const [first, second, third] = commitChain(3);
    const waiting = [next(), next()];
    await storage.append(first);
    if (second === undefined || third === undefined) throw new Error("three were made");
    await storage.append(second);
    expect(await Promise.all(waiting)).toEqual(["session_1 1", "session_1 2"]);
    await storage.append(third);
    expect(await next()).toBe("session_1 3");
  });

  it("yields no commits from before the call, and no refused ones", async () => {
    const storage = new MemoryStorage();
    const [first, second] = commitChain(2);
    await storage.append(first);
    const commits = storage.watch({}, { signal: new AbortController().signal });
    await expect(storage.append(first)).rejects.toMatchObject({ code: "CONFLICT" });
    if (second === undefined) throw new Error("two were made");
    await storage.append(second);
    expect((await commits.next()).value?.version).toBe(2);
  });

  it("buffers commits for a slow consumer, in order per session and without one session blocking another", async () => {
    const { storage, next } = begin();
    for (const commit of commitChain(3, { sessionId: "a" })) await storage.append(commit);
    for (const commit of commitChain(2, { sessionId: "b" })) await storage.append(commit);
    const seen = [await next(), await next(), await next(), await next(), await next()];
    expect(seen).toEqual(["a 1", "b 1", "a 2", "b 2", "a 3"]);
  });

  it("filters each commit by its own summary, buffered ones too", async () => {
    const { storage, next, control } = begin(active);
    const first = makeCommit({ sessionId: "a" });
    const paused = nextCommit(first, { summary: { status: "paused" } });
    const again = nextCommit(paused, { summary: { status: "active" } });
    const done = nextCommit(again, { summary: { status: "completed" } });
    for (const commit of [first, paused, again, done]) await storage.append(commit);
    expect([await next(), await next()]).toEqual(["a 1", "a 3"]);
    const waiting = next();
    await storage.append(makeCommit({ sessionId: "c", summary: { status: "paused" } }));
    await storage.append(makeCommit({ sessionId: "b" }));
    expect(await waiting).toBe("b 1");
    control.abort();
  });

  it("yields the last commits of a session that is removed", async () => {
    const { storage, next } = begin();
    const first = makeCommit();
    await storage.append(first);
    await storage.append(nextCommit(first, { summary: { status: "deleted" } }));
    await storage.remove(first.sessionId);
    expect([await next(), await next()]).toEqual(["session_1 1", "session_1 2"]);
  });

  it("ends without an error when the signal aborts, with waiting calls and with buffered commits", async () => {
    const { storage, control, next, commits } = begin();
    const waiting = [next(), next()];
    control.abort();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    await storage.append(makeCommit());
    expect(await commits.next()).toEqual({ done: true, value: undefined });
    const late = storage.watch({}, { signal: control.signal });
    expect(await late.next()).toEqual({ done: true, value: undefined });
  });

  it("ends when its loop breaks", async () => {
    const { storage, commits } = begin();
    await storage.append(makeCommit());
    for await (const { version } of commits) {
      expect(version).toBe(1);
      break;
    }
    await storage.append(makeCommit({ sessionId: "b" }));
    expect(await commits.next()).toEqual({ done: true, value: undefined });
  });
});
