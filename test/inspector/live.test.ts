import { MemoryStorage } from "phasegate";
import { describe, expect, it, vi } from "vitest";
import type { LiveMessage } from "../../src/inspector/wire.js";
import type { SessionList } from "../../src/read/model.js";
import { Recorder } from "../../src/workspace/session/machine.js";
import { built } from "../support/workflows.js";
import { makeHouse, ORIGIN } from "./house.js";

type House = Awaited<ReturnType<typeof makeHouse>>;

/** Opens a stream, and returns what reads its messages. */
async function open({ inspector, pass }: House, lastId?: string) {
  const end = new AbortController();
  const headers = { ...pass, ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
  const response = await inspector.fetch(new Request(`${ORIGIN}/api/events`, { headers, signal: end.signal }));
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let lastSeen = "";
  /** Returns the next message; undefined at the end of the stream. */
  const next = async (): Promise<LiveMessage | undefined> => {
    for (;;) {
      const at = text.indexOf("\n\n");
      if (at === -1) {
        const part = await reader?.read();
        if (part === undefined || part.done) return undefined;
        text += part.value;
        continue;
      }
      const block = text.slice(0, at);
      text = text.slice(at + 2);
      lastSeen = /^id: (.*)$/m.exec(block)?.[1] ?? lastSeen;
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) return JSON.parse(data);
    }
  };
  return { next, close: () => end.abort(), lastSeen: () => lastSeen };
}

/** A clock on which the time after the last page passes when `pass` is called. */
function stayingClock() {
  const staying = new Set<() => void>();
  const after = (milliseconds: number, callback: () => void) => {
    if (milliseconds === 30_000) {
      staying.add(callback);
      return () => staying.delete(callback);
    }
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  };
  const pass = () => {
    for (const callback of staying) callback();
    staying.clear();
  };
  return { clock: { now: Date.now, after }, pass, count: () => staying.size };
}

describe("the stream of changes", () => {
  it("tells of each session that changes, as it is then", async () => {
    const house = await makeHouse();
    const page = await open(house);
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(await page.next()).toMatchObject({ type: "session", session: { sessionId, current: 1 } });
    await house.engine.session(sessionId).completePhase(1, built);
    expect(await page.next()).toMatchObject({ type: "session", session: { sessionId, current: 2 } });
    await house.engine.session(sessionId).delete({});
    expect(await page.next()).toEqual({ type: "gone", sessionId });
    const { sessionId: routedId } = await house.routed.start({ workflow: "GARDEN" });
    expect(await page.next()).toMatchObject({ type: "session", session: { sessionId: routedId, kind: "routed" } });
    house.inspector.close();
    expect(await page.next()).toBeUndefined();
  });

  it("keeps the list of sessions up while a page is open: they are read once, and then one by one", async () => {
    const house = await makeHouse();
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const page = await open(house);
    const lists = vi.spyOn(house.engine, "listSessions");
    const list = () => house.get<SessionList>("sessions");
    expect(await list()).toMatchObject({ total: 1, read: { state: "whole" } });
    await house.engine.session(sessionId).pause({});
    await page.next();
    const { sessionId: other } = await house.engine.start({ workflowType: "two_phases", target: "src/b.ts" });
    await page.next();
    const { items } = await list();
    expect(items.map(({ target, status }) => [target, status])).toEqual([
      ["src/b.ts", "active"],
      ["src/a.ts", "paused"],
    ]);
    await house.engine.session(other).delete({});
    await page.next();
    expect(await list()).toMatchObject({ total: 1, items: [{ sessionId }] });
    expect(lists.mock.calls.filter(([query]) => query?.idPrefix === undefined)).toHaveLength(1);
    page.close();
  });

  it("has one watcher on the storage, and none when nobody looks", async () => {
    const storage = new MemoryStorage();
    let [watching, most] = [0, 0];
    const { watch } = storage;
    storage.watch = (query, options) => {
      watching += 1;
      most = Math.max(most, watching);
      options.signal.addEventListener("abort", () => {
        watching -= 1;
      });
      return watch.call(storage, query, options);
    };
    const { clock, pass, count } = stayingClock();
    const house = await makeHouse({ clock }, storage);
    const pages = await Promise.all(Array.from({ length: 50 }, () => open(house)));
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    for (const page of pages) expect(await page.next()).toMatchObject({ session: { sessionId } });
    expect([watching, most]).toEqual([1, 1]);
    for (const page of pages) page.close();
    await expect.poll(count).toBe(1);
    expect(watching).toBe(1);
    pass();
    await expect.poll(() => watching).toBe(0);
  });

  it("follows the sessions for a while after the last page: one that is loaded anew finds them read", async () => {
    const { clock, pass, count } = stayingClock();
    const house = await makeHouse({ clock });
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    const lists = vi.spyOn(house.engine, "listSessions");
    const readings = () => lists.mock.calls.filter(([query]) => query?.idPrefix === undefined).length;
    const list = () => house.get<SessionList>("sessions");
    const first = await open(house);
    await list();
    await house.engine.session(sessionId).pause({});
    await first.next();
    first.close();
    await house.engine.session(sessionId).resume({});
    // What happens meanwhile is kept for a page that comes back.
    const second = await open(house, first.lastSeen());
    expect(await second.next()).toMatchObject({ session: { sessionId, status: "active" } });
    expect(count()).toBe(0);
    expect(await list()).toMatchObject({ total: 1, items: [{ status: "active" }], read: { state: "whole" } });
    expect(readings()).toBe(1);
    second.close();
    pass();
    const third = await open(house);
    await list();
    expect(readings()).toBe(2);
    third.close();
    house.inspector.close();
    expect(count()).toBe(0);
  });

  it("gives a page that comes back what it has missed, each message once", async () => {
    const house = await makeHouse();
    const [first, other] = [await open(house), await open(house)];
    const start = async () => (await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" })).sessionId;
    const one = await start();
    expect(await first.next()).toMatchObject({ session: { sessionId: one } });
    first.close();
    const two = await start();
    expect(await other.next()).toMatchObject({ session: { sessionId: one } });
    expect(await other.next()).toMatchObject({ session: { sessionId: two } });
    const again = await open(house, first.lastSeen());
    expect(await again.next()).toMatchObject({ session: { sessionId: two } });
    const three = await start();
    expect(await again.next()).toMatchObject({ session: { sessionId: three } });
    house.inspector.close();
  });

  it("tells a page that was away too long, or knew another server, to read everything anew", async () => {
    const { clock, pass } = stayingClock();
    const house = await makeHouse({ clock });
    const page = await open(house, "another-7");
    expect(await page.next()).toEqual({ type: "reset" });
    await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(await page.next()).toMatchObject({ type: "session" });
    page.close();
    pass();
    const back = await open(house, page.lastSeen());
    expect(await back.next()).toEqual({ type: "reset" });
    house.inspector.close();
  });

  it("begins again after a failure of the storage, and says so", async () => {
    const storage = new MemoryStorage();
    const { watch } = storage;
    let fails = 3;
    storage.watch = (query, options) => {
      if (fails > 0) {
        fails -= 1;
        throw new Error("the disk has gone");
      }
      return watch.call(storage, query, options);
    };
    const clock = {
      now: Date.now,
      after: (milliseconds: number, callback: () => void) => {
        const timer = setTimeout(callback, milliseconds / 50);
        return () => clearTimeout(timer);
      },
    };
    const house = await makeHouse({ clock }, storage);
    const page = await open(house);
    // One for each failure, and one when the watch that follows misses nothing any more.
    for (let resets = 0; resets < 4; resets += 1) expect(await page.next()).toEqual({ type: "reset" });
    expect(house.errors).toHaveLength(3);
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(await page.next()).toMatchObject({ session: { sessionId } });
    house.inspector.close();
  });

  it("reads everything anew if many sessions change at once", async () => {
    const house = await makeHouse();
    const page = await open(house);
    const starts = Array.from({ length: 60 }, (_, index) =>
      house.engine.start({ workflowType: "two_phases", target: `src/${index}.ts` }),
    );
    await Promise.all(starts);
    expect(await page.next()).toEqual({ type: "reset" });
    house.inspector.close();
  });
});

describe("the stream over a long time", () => {
  it("leaves no listener behind for what it has told", async () => {
    const listening = vi.spyOn(AbortSignal.prototype, "addEventListener");
    const released = vi.spyOn(AbortSignal.prototype, "removeEventListener");
    const clock = {
      now: Date.now,
      after: (milliseconds: number, callback: () => void) => {
        const timer = setTimeout(callback, milliseconds / 50);
        return () => clearTimeout(timer);
      },
    };
    const house = await makeHouse({ clock });
    const page = await open(house);
    for (let change = 0; change < 20; change += 1) {
      await house.engine.start({ workflowType: "two_phases", target: `src/${change}.ts` });
      expect(await page.next()).toMatchObject({ type: "session" });
    }
    const { length } = listening.mock.calls;
    expect(length).toBeGreaterThan(20);
    // Those of the watches and of the beat are there as long as somebody looks.
    expect(length - released.mock.calls.length).toBeLessThan(15);
    house.inspector.close();
    listening.mockRestore();
    released.mockRestore();
  });

  it("tells of a session as it was read last, also if reading takes its time", async () => {
    const house = await makeHouse();
    const page = await open(house);
    const { sessionId } = await house.engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    expect(await page.next()).toMatchObject({ session: { current: 1 } });
    const list = house.engine.listSessions.bind(house.engine);
    let isFirst = true;
    house.engine.listSessions = async (query) => {
      const wait = isFirst ? 400 : 0;
      isFirst = false;
      const found = await list(query);
      await new Promise((resolve) => setTimeout(resolve, wait));
      return found;
    };
    await house.engine.session(sessionId).pause({});
    await new Promise((resolve) => setTimeout(resolve, 200));
    await house.engine.session(sessionId).resume({});
    expect(await page.next()).toMatchObject({ session: { status: "paused" } });
    expect(await page.next()).toMatchObject({ session: { status: "active" } });
    house.inspector.close();
  });

  it("knows a session whose id begins those of many others", async () => {
    const { storage, get } = await makeHouse();
    const recorder = new Recorder({ storage, clock: { now: Date.now, newId: () => crypto.randomUUID() } });
    const input = { workflow: "intake", agent: "alex", inputs: {}, acts: [] };
    await recorder.open("intake", input);
    for (let index = 0; index < 60; index += 1) await recorder.open(`intake-${index}`, input);
    expect(await get("sessions/intake")).toMatchObject({ kind: "recorded", summary: { sessionId: "intake" } });
  });
});
