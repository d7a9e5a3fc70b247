import { describe, expect, it } from "vitest";
import type { SessionList } from "../../src/read/model.js";
import { built } from "../support/workflows.js";
import { makeHouse } from "./house.js";

describe("the list of sessions", () => {
  it("has sessions of all kinds, page by page, each once", async () => {
    const { engine, routed, get } = await makeHouse();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      const phased = await engine.start({ workflowType: "two_phases", target: `src/${index}.ts` });
      ids.push(phased.sessionId, (await routed.start({ workflow: "GARDEN" })).sessionId);
    }
    const found: string[] = [];
    let cursor = "";
    do {
      const page = await get<SessionList>(`sessions?limit=3&cursor=${cursor}`);
      found.push(...page.items.map(({ sessionId }) => sessionId));
      cursor = page.cursor ?? "";
    } while (cursor !== "");
    expect(found.toSorted()).toEqual(ids.toSorted());
    expect(await get<SessionList>("sessions?limit=3")).toMatchObject({ total: 14 });
  });

  it("begins with the session that has changed last, or is in the order that is asked for", async () => {
    const { engine, get } = await makeHouse();
    const start = async (target: string, owner: string) =>
      (await engine.as({ name: owner }).start({ workflowType: "two_phases", target })).sessionId;
    const [b, a, c] = [await start("src/b.ts", "zoe"), await start("src/a.ts", "amy"), await start("src/c.ts", "amy")];
    await engine.session(a).pause({});
    await new Promise((resolve) => setTimeout(resolve, 5));
    await engine.session(b).completePhase(1, built);
    const targets = async (query: string) =>
      (await get<SessionList>(`sessions?${query}`)).items.map(({ target }) => target.slice(4, 5)).join("");
    expect((await targets(""))[0]).toBe("b");
    expect(await targets("sort=target")).toBe("abc");
    expect(await targets("sort=-target")).toBe("cba");
    expect((await targets("sort=owner"))[2]).toBe("b");
    expect((await targets("sort=status"))[2]).toBe("a");
    expect((await targets("sort=-phase"))[0]).toBe("b");
    // A page continues behind the last session of the one before, in the same order.
    const first = await get<SessionList>("sessions?sort=target&limit=2");
    await engine.session(c).pause({});
    const second = await get<SessionList>(`sessions?sort=target&limit=2&cursor=${first.cursor}`);
    expect([...first.items, ...second.items].map(({ sessionId }) => sessionId)).toEqual([a, b, c]);
    expect(second.cursor).toBeUndefined();
    await expect(get(`sessions?sort=-target&limit=2&cursor=${first.cursor}`)).rejects.toThrow("400");
  });

  it("counts those that need somebody, have failed or are stuck, whatever tab is open", async () => {
    const { engine, get } = await makeHouse();
    const asking = await engine.start({ workflowType: "asking", target: "src/asking.ts" });
    await engine.session(asking.sessionId).completePhase(1, { tests_pass: true });
    await engine.start({ workflowType: "two_phases", target: "src/other.ts" });
    const counts = { all: 2, needs_you: 1, failed: 0, stuck: 0, broken: 0 };
    const read = { state: "whole", sessions: 2 };
    expect(await get<SessionList>("sessions")).toMatchObject({ total: 2, counts, read });
    expect(await get<SessionList>("sessions?status=needs_you")).toMatchObject({ total: 1, counts });
    expect(await get<SessionList>("sessions?text=other")).toMatchObject({ counts: { all: 1, needs_you: 0 } });
  });

  it("can be filtered by kind, status, workflow, phase, what it waits for, and text", async () => {
    const { engine, routed, get } = await makeHouse();
    const ready = await engine.start({ workflowType: "two_phases", target: "src/ready.ts" });
    await engine.session(ready.sessionId).completePhase(1, built);
    const paused = await engine.start({ workflowType: "two_phases", target: "src/paused.ts" });
    await engine.session(paused.sessionId).pause({});
    const asking = await engine.start({ workflowType: "asking", target: "src/asking.ts" });
    await engine.session(asking.sessionId).completePhase(1, { tests_pass: true });
    const { sessionId } = await routed.start({ workflow: "GARDEN" });
    const list = async (query: string) =>
      (await get<SessionList>(`sessions?${query}`)).items.map(({ sessionId }) => sessionId);
    expect(await list("kind=routed")).toEqual([sessionId]);
    expect(await list("status=paused")).toEqual([paused.sessionId]);
    expect(await list("workflow=asking")).toEqual([asking.sessionId]);
    expect(await list("phase=2")).toEqual([ready.sessionId]);
    expect(await list("phase=Ship")).toEqual([ready.sessionId]);
    expect(await list("phase=Dig")).toEqual([sessionId]);
    expect(await list("waiting=any")).toEqual([asking.sessionId]);
    expect(await list("waiting=host")).toEqual([]);
    expect(await list("text=PAUSED")).toEqual([paused.sessionId]);
    // The name of a phase.
    expect(await list("text=2+ship")).toEqual([ready.sessionId]);
    expect(await list("stuck=3600")).toEqual([]);
    await expect(list("cursor=bm90IG91cnM")).rejects.toThrow("400");
  });

  it.each([
    ["kind=lost", "one of phased, routed, recorded"],
    ["kind=phased,routed", "one of phased, routed, recorded"],
    ["status=lost", "some of needs_you, failed, refused, working, paused, done, joined by commas"],
    ["status=working,lost", "some of needs_you, failed, refused, working, paused, done, joined by commas"],
    [
      "sort=size",
      "one of changed, started, status, target, phase, workflow, owner, with - before it for the last first",
    ],
    ["waiting=lost", "one of any, approval, waiver, host"],
    ["stuck=soon", "seconds, 0 or more"],
  ])("refuses %s, and says what there is", async (query, expected) => {
    const { get } = await makeHouse();
    await expect(get(`sessions?${query}`)).rejects.toThrow(new RegExp(`^400 .*"Give ${expected}\\."`));
  });

  it("counts what it shows: of sessions that are not active, none is stuck", async () => {
    const { engine, get } = await makeHouse();
    const { sessionId } = await engine.start({ workflowType: "two_phases", target: "src/a.ts" });
    await engine.start({ workflowType: "two_phases", target: "src/b.ts" });
    await engine.session(sessionId).pause({});
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await get<SessionList>("sessions?stuck=0")).toMatchObject({ items: [{ status: "active" }], total: 1 });
    expect(await get<SessionList>("sessions?stuck=0&status=paused")).toMatchObject({ items: [], total: 0 });
    expect(await get<SessionList>("sessions?stuck=0&status=paused,working")).toMatchObject({ total: 1 });
  });
});

describe("a list that changes while it is read", () => {
  type House = Awaited<ReturnType<typeof makeHouse>>;

  /** Returns the sessions of a list that is read page by page. After the first one, something happens to its sessions. */
  async function readWhile(house: House, query: string, happens: (shown: SessionList["items"]) => Promise<void>) {
    const found: string[] = [];
    let cursor = "";
    do {
      const page = await house.get<SessionList>(`sessions?limit=7&${query}&cursor=${cursor}`);
      if (found.length === 0) await happens(page.items);
      found.push(...page.items.map(({ sessionId }) => sessionId));
      cursor = page.cursor ?? "";
    } while (cursor !== "");
    return found;
  }

  async function makeFull() {
    const house = await makeHouse();
    const start = async () =>
      (await house.engine.start({ workflowType: "two_phases", target: `src/${crypto.randomUUID()}.ts` })).sessionId;
    const phased: string[] = [];
    const routed: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      phased.push(await start());
      routed.push((await house.routed.start({ workflow: "GARDEN" })).sessionId);
    }
    return { house, start, phased, ids: [...phased, ...routed] };
  }

  it("has each session once, if some of those that were shown are deleted", async () => {
    const { house, ids } = await makeFull();
    const found = await readWhile(house, "", async (shown) => {
      expect(shown).toHaveLength(7);
      for (const { kind, sessionId } of shown) {
        await (kind === "phased" ? house.engine : house.routed).session(sessionId).delete({});
      }
    });
    expect(found.toSorted()).toEqual(ids.toSorted());
  });

  it.each([3, 20])("has each session once, if %i others are started", async (count) => {
    const { house, ids, start } = await makeFull();
    const started: string[] = [];
    const found = await readWhile(house, "", async () => {
      for (let index = 0; index < count; index += 1) started.push(await start());
    });
    expect(found.filter((id) => !started.includes(id)).toSorted()).toEqual(ids.toSorted());
  });

  it("has each session once that keeps the status it is filtered by", async () => {
    const { house, phased } = await makeFull();
    const found = await readWhile(house, "status=working&kind=phased", async (shown) => {
      for (const { sessionId } of shown) await house.engine.session(sessionId).pause({});
    });
    expect(found.toSorted()).toEqual(phased.toSorted());
  });
});
