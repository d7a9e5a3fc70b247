import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { SessionPage } from "../../src/engine/lists.js";
import { systemClock } from "../../src/ports/clock.js";
import type { BrokenSession, ListedSession } from "../../src/read/model.js";
import { SessionIndex } from "../../src/read/session-index.js";
import type { Source } from "../../src/read/sources.js";

const session = (number: number, changes: Partial<ListedSession> = {}): ListedSession => ({
  sessionId: `session_${number}` as ListedSession["sessionId"],
  kind: "phased",
  workflowType: "bug_fix",
  target: `src/${number}.ts`,
  status: "active",
  current: 1,
  createdAt: "2026-11-22T01:06:56.000Z",
  activeSince: 0,
  updatedAt: "2026-11-22T02:00:00.000Z",
  ...changes,
});

/** A source of as many sessions, which gives a page when `next` is called. */
function slowSource(count: number) {
  const waiting: (() => void)[] = [];
  const list = async ({ limit = 50, cursor = "0" }): Promise<SessionPage> => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    const at = Number(cursor);
    const end = Math.min(count, at + limit);
    const items = Array.from({ length: end - at }, (_, index) => session(at + index));
    return end < count ? { items, cursor: String(end) } : { items };
  };
  const next = async () => {
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()?.();
    await new Promise((resolve) => setTimeout(resolve));
  };
  const source: Pick<Source, "kind" | "list"> = { kind: "phased", list };
  return { source: source as Source, next, isAsked: () => waiting.length > 0 };
}

/** A source of these sessions, which takes the processor for so many milliseconds. */
function sourceOf(items: readonly ListedSession[], milliseconds = 0): Source {
  const list = async (): Promise<SessionPage> => {
    for (const end = performance.now() + milliseconds; performance.now() < end; );
    return { items };
  };
  const source: Pick<Source, "kind" | "list"> = { kind: "phased", list };
  return source as Source;
}

describe("the index of sessions", () => {
  it("has the first ones at once, and says when it has all", async () => {
    const { source, next } = slowSource(500);
    const index = new SessionIndex([source]);
    const reading = index.read();
    await next();
    await index.begun;
    expect([index.state, index.sessions.length]).toEqual(["reading", 40]);
    await next();
    await reading;
    expect([index.state, index.sessions.length]).toEqual(["whole", 500]);
  });

  it("waits for all kinds where there are few sessions, and leaves the others their turns", async () => {
    const index = new SessionIndex([sourceOf([session(1)]), sourceOf([session(2, { kind: "routed" })])]);
    index.read();
    await index.begun;
    expect([index.state, index.sessions.length]).toEqual(["whole", 2]);
    // A storage that answers at once: a timer fires before all are read.
    const long = new SessionIndex(Array.from({ length: 40 }, (_, at) => sourceOf([session(at)], 5)));
    long.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(long.state).toBe("reading");
  });

  it("leaves out sessions whose logs are known to be damaged, and names them", async () => {
    const damaged = new Map<string, BrokenSession>();
    const index = new SessionIndex([sourceOf([session(1), session(2)])], { damaged: () => damaged });
    await index.read();
    expect([index.sessions.length, index.broken]).toEqual([2, []]);
    const damage = { sessionId: "session_2", code: "TAMPERED", message: "commit 1 was changed" } as const;
    damaged.set("session_2", damage).set("session_9", { ...damage, sessionId: "session_9" });
    expect([index.sessions, index.broken]).toEqual([[session(1)], [damage]]);
    index.note("session_2", { summary: session(2, { status: "paused" }) });
    expect([index.sessions, index.broken]).toEqual([[session(1)], [damage]]);
  });

  it("keeps what has changed while it reads: a page may be older", async () => {
    const { source, next } = slowSource(3);
    const index = new SessionIndex([source]);
    const reading = index.read();
    index.note("session_0", { summary: session(0, { status: "paused" }) });
    index.note("session_1", {});
    index.note("session_2", { damage: { sessionId: "session_2", code: "TAMPERED", message: "changed" } });
    await next();
    await reading;
    expect(index.sessions).toEqual([session(0, { status: "paused" })]);
    expect(index.broken).toMatchObject([{ code: "TAMPERED" }]);
    index.note("session_2", { summary: session(2) });
    expect([index.sessions.length, index.broken.length]).toEqual([2, 0]);
  });

  it("leaves time to draw the first ones before it reads the others", async () => {
    const { source, next, isAsked } = slowSource(60);
    const index = new SessionIndex([source], { drawMs: 500 });
    const reading = index.read();
    await next();
    await index.begun;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAsked()).toBe(false);
    await next();
    await reading;
    expect([index.state, index.sessions.length]).toEqual(["whole", 60]);
  });

  it("leaves that time once, whatever the first page had, and none after it is closed", async () => {
    const few = sourceOf(Array.from({ length: 10 }, (_, at) => session(at)));
    const { source, next, isAsked } = slowSource(600);
    const index = new SessionIndex([few, source], { drawMs: 60_000 });
    const reading = index.read();
    await next();
    await index.begun;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAsked()).toBe(false);
    index.close();
    await reading;
    expect(index.state).toBe("reading");
    // Pages of damaged sessions add no row.
    const first = Array.from({ length: 40 }, (_, at) => session(at));
    const list = async ({ cursor = "0" }: { cursor?: string }): Promise<SessionPage> => {
      const damage = { sessionId: `session_x${cursor}`, code: "TAMPERED", message: "changed" } as const;
      if (cursor === "0") return { items: first, cursor: "1" };
      return cursor === "9"
        ? { items: [], broken: [damage] }
        : { items: [], broken: [damage], cursor: `${+cursor + 1}` };
    };
    const pauses = vi.spyOn(systemClock, "after");
    onTestFinished(() => pauses.mockRestore());
    const damaged = new SessionIndex([{ kind: "phased", list } as Source], { drawMs: 5 });
    await damaged.read();
    expect([damaged.state, damaged.broken.length]).toEqual(["whole", 9]);
    expect(pauses.mock.calls.filter(([milliseconds]) => milliseconds === 5)).toHaveLength(1);
  });

  it("reads no more than so many, and says that there are more", async () => {
    const { source, next } = slowSource(300);
    const index = new SessionIndex([source], { max: 250 });
    const reading = index.read();
    await next();
    await next();
    await reading;
    expect([index.state, index.sessions.length]).toEqual(["cut", 250]);
  });

  it("forgets what a reading has found that has failed: it may be gone since", async () => {
    let there = [session(1), session(2)];
    const list = async ({ cursor }: { cursor?: string }): Promise<SessionPage> => {
      if (cursor !== undefined && there.length > 1) throw new Error("no disk");
      return there.length > 1 ? { items: there, cursor: "2" } : { items: there };
    };
    const index = new SessionIndex([{ kind: "phased", list } as Source]);
    await expect(index.read()).rejects.toThrow("no disk");
    there = [session(1)];
    index.note("session_2", {});
    await index.read();
    expect(index.sessions).toEqual([session(1)]);
  });

  it("begins again after a failure", async () => {
    let isDown = true;
    const list = async (): Promise<SessionPage> => {
      if (isDown) throw new Error("no disk");
      return { items: [session(1)] };
    };
    const source: Pick<Source, "kind" | "list"> = { kind: "phased", list };
    const index = new SessionIndex([source as Source]);
    await expect(index.read()).rejects.toThrow("no disk");
    isDown = false;
    await index.read();
    expect(index.sessions).toEqual([session(1)]);
  });
});
