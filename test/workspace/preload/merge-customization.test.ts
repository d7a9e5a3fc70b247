import { describe, expect, it } from "vitest";
import { mergeCustomization } from "../../../src/workspace/preload/customization.js";

describe("mergeCustomization", () => {
  it("replaces single values, dates too, and merges tables key by key", () => {
    const [old, young] = [new Date(0), new Date(1)];
    expect(
      mergeCustomization({ a: 1, t: { x: 1, y: { z: 1 } }, d: old }, { a: "2", t: { y: { w: 2 } }, d: young }),
    ).toEqual({ a: "2", t: { x: 1, y: { z: 1, w: 2 } }, d: young });
  });

  it("appends arrays", () => {
    expect(mergeCustomization({ a: ["x"] }, { a: ["x", "y"] })).toEqual({ a: ["x", "x", "y"] });
    expect(mergeCustomization({ a: [{ n: 1 }] }, { a: [{ n: 1 }] })).toEqual({ a: [{ n: 1 }, { n: 1 }] });
  });

  it.each(["code", "id"])("replaces entries with the same %s in place, as a whole, and appends others", (key) => {
    const base = { a: [{ [key]: "one", n: 1, old: true }, { [key]: "two" }] };
    const over = { a: [{ [key]: "three" }, { [key]: "one", n: 2 }] };
    expect(mergeCustomization(base, over)).toEqual({
      a: [{ [key]: "one", n: 2 }, { [key]: "two" }, { [key]: "three" }],
    });
  });

  it("appends if only some entries have a key, or keys differ", () => {
    expect(mergeCustomization({ a: [{ id: 1 }] }, { a: [{ code: 1 }] })).toEqual({ a: [{ id: 1 }, { code: 1 }] });
    expect(mergeCustomization({ a: [{ id: 1 }] }, { a: [{ id: 1 }, "x"] })).toEqual({ a: [{ id: 1 }, { id: 1 }, "x"] });
  });

  it("takes the later value if types differ, and ignores keys that reach a prototype", () => {
    expect(mergeCustomization({ a: [1], b: { x: 1 } }, { a: "no", b: [2] })).toEqual({ a: "no", b: [2] });
    const evil: unknown = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}');
    const merged = mergeCustomization({}, Object(evil));
    expect(merged).toEqual({ a: 1 });
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});
