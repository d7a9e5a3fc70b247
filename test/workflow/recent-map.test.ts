import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freeze } from "../../src/log/commit.js";
import { ENTRY_WEIGHT, jsonWeight, RecentMap, remember } from "../../src/workflow/cache.js";

describe("RecentMap", () => {
  it("drops the least recently used value", () => {
    const map = new RecentMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect(map.get("a")).toBe(1);
    map.set("c", 3);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
  });

  it("counts setting a value again as a use", () => {
    const map = new RecentMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
  });

  it("deletes a value, and ignores an unknown key", () => {
    const map = new RecentMap<string, number>(2);
    map.set("a", 1);
    map.delete("a");
    map.delete("b");
    expect(map.get("a")).toBeUndefined();
    map.set("b", 2);
    map.set("c", 3);
    expect([map.get("b"), map.get("c")]).toEqual([2, 3]);
  });

  it("keeps the order if the most recently used value is used again or deleted", () => {
    const map = new RecentMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect([map.get("b"), map.get("b"), map.get("a"), map.get("a")]).toEqual([2, 2, 1, 1]);
    map.set("c", 3);
    expect([map.get("a"), map.get("b")]).toEqual([1, undefined]);
    map.delete("a");
    map.set("a", 4);
    map.set("d", 5);
    expect([map.get("a"), map.get("c"), map.get("d")]).toEqual([4, undefined, 5]);
  });

  it("does not add a key that was read and not found", () => {
    const map = new RecentMap<string, number>(1);
    map.set("a", 1);
    expect(map.get("b")).toBeUndefined();
    expect(map.get("a")).toBe(1);
  });

  it("keeps the most recently used values up to the maximum weight", () => {
    const map = new RecentMap<string, string>(5, (text) => text.length);
    map.set("a", "12");
    map.set("b", "12");
    map.set("a", "123");
    expect([map.get("b"), map.get("a")]).toEqual(["12", "123"]);
    map.set("c", "1");
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual(["123", undefined, "1"]);
    map.set("d", "too long");
    expect([map.get("a"), map.get("c"), map.get("d")]).toEqual(["123", "1", undefined]);
    map.set("c", "too long");
    expect([map.get("a"), map.get("c")]).toEqual(["123", undefined]);
  });
});

/** The same map as a list, oldest first. */
class ListMap {
  entries: [number, number][] = [];

  get(key: number): number | undefined {
    const entry = this.entries.find(([known]) => known === key);
    if (entry !== undefined) this.entries = [...this.entries.filter((one) => one !== entry), entry];
    return entry?.[1];
  }

  set(key: number, value: number): void {
    this.delete(key);
    if (value > WEIGHT_MAX) return;
    this.entries.push([key, value]);
    while (this.entries.reduce((sum, [, weight]) => sum + weight, 0) > WEIGHT_MAX) this.entries.shift();
  }

  delete(key: number): void {
    this.entries = this.entries.filter(([known]) => known !== key);
  }
}

const WEIGHT_MAX = 12;

describe("RecentMap, whatever is done with it", () => {
  it("has what a list of its entries in the order of their use has", () => {
    const key = fc.nat(6);
    const step = fc.oneof(
      fc.tuple(fc.constant("set" as const), key, fc.integer({ min: 1, max: WEIGHT_MAX + 1 })),
      fc.tuple(fc.constantFrom("get" as const, "delete" as const), key),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const map = new RecentMap<number, number>(WEIGHT_MAX, (value) => value);
        const list = new ListMap();
        for (const [what, at, value = 0] of steps) {
          if (what === "set") [map, list].forEach((one) => void one.set(at, value));
          else expect(map[what](at)).toBe(list[what](at));
        }
        for (let at = 0; at <= 6; at += 1) expect(map.get(at)).toBe(list.get(at));
      }),
    );
  });
});

describe("jsonWeight", () => {
  it("is that of the JSON of a value, which is made once", () => {
    let made = 0;
    const value = {
      toJSON: () => {
        made += 1;
        return "abc";
      },
    };
    expect([jsonWeight(value), jsonWeight(value)]).toEqual([5 + ENTRY_WEIGHT, 5 + ENTRY_WEIGHT]);
    expect(made).toBe(1);
  });
});

describe("remember", () => {
  it("computes a result once for the same arguments, and again after a rejection", async () => {
    let calls = 0;
    const make = remember(async (one: string, other: string) => {
      calls += 1;
      if (calls === 1) throw new Error("not yet");
      return `${one}${other}`;
    });
    await expect(make("a", "b")).rejects.toThrow("not yet");
    expect(await make("a", "b")).toBe("ab");
    expect(await make("a", "b")).toBe("ab");
    expect(calls).toBe(2);
  });
});

describe("freeze", () => {
  it("freezes an object and everything inside, with cycles", () => {
    const value: { list: { a: number }[]; self?: unknown } = { list: [{ a: 1 }] };
    value.self = value;
    expect(freeze(value)).toBe(value);
    expect([value, value.list, value.list[0]].every(Object.isFrozen)).toBe(true);
  });

  it("returns primitive values unchanged", () => {
    for (const value of [1, "a", null, undefined, true]) expect(freeze(value)).toBe(value);
  });
});
