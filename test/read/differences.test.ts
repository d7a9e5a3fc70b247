import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedLines, differencesOf } from "../../src/read/differences.js";

describe("differences of two submissions", () => {
  it("name each value that is not as it was", () => {
    const before = { a: 1, b: { c: [1, 2], d: "x" }, gone: true };
    const after = { a: 2, b: { c: [1, 3, 4], d: "x" }, e: null };
    expect(differencesOf(before, after)).toEqual([
      { path: "a", before: "1", after: "2" },
      { path: "b.c.1", before: "2", after: "3" },
      { path: "b.c.2", after: "4" },
      { path: "e", after: "null" },
      { path: "gone", before: "true" },
    ]);
  });

  it('tell 1 from "1", and a list from an object', () => {
    expect(differencesOf({ a: 1, b: [1] }, { a: "1", b: { 0: 1 } })).toEqual([
      { path: "a", before: "1", after: "1" },
      { path: "b", before: "[1]", after: '{"0":1}' },
    ]);
  });

  it("show the changed lines of a long text, and what is around them", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    const after = lines.with(15, "changed").join("\n");
    expect(differencesOf({ text: lines.join("\n") }, { text: after })).toEqual([
      {
        path: "text",
        lines: ["…", " line 13", " line 14", "-line 15", "+changed", " line 16", " line 17", "…"],
      },
    ]);
  });

  it("show a text that differs in its last line break alone as it is", () => {
    expect(differencesOf({ text: "a\nb" }, { text: "a\nb\n" })).toEqual([
      { path: "text", before: "a\nb", after: "a\nb\n" },
    ]);
  });

  it("are none for equal values, and some for others", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(value, value, (one, other) => {
        const [a, b] = [JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other))];
        expect(differencesOf(a, a)).toEqual([]);
        expect(differencesOf(a, b).length === 0).toBe(sorted(a) === sorted(b));
      }),
    );
  });

  it("of two texts without a common line, or of very many values, are bounded", () => {
    const text = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}`).join("\n");
    const [{ lines = [] } = {}] = differencesOf({ text: text("a") }, { text: text("b") });
    expect(lines).toHaveLength(40_000);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
    expect(differencesOf({}, many)).toHaveLength(200);
  });

  it("share one budget: what an agent has made hard to compare is shown whole, and so is what comes after it", () => {
    const text = (word: string, field: number) =>
      Array.from({ length: 400 }, (_, line) => word + (((line * 7 + field) % 97) + field)).join("\n");
    const made = (word: string) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`f${at}`, text(word, at)]));
    const lines = Array.from({ length: 400 }, (_, index) => `line ${index}`);
    const small = [lines.join("\n"), lines.with(200, "changed").join("\n")] as const;
    const before = { first: small[0], ...made("a"), last: small[0] };
    const after = { first: small[1], ...made("b"), last: small[1] };
    const begun = performance.now();
    const found = differencesOf(before, after);
    // Without the budget it takes seconds.
    expect(performance.now() - begun).toBeLessThan(1500);
    expect(found.map(({ path }) => path)).toEqual(Object.keys(before));
    expect(found[0]?.lines).toHaveLength(8);
    expect(found[1]?.lines).toHaveLength(800);
    expect(found.at(-1)).toEqual({ path: "last", before: small[0], after: small[1] });
  });

  it("of long lists end where no more are listed", () => {
    let reads = 0;
    const get = (list: number[], name: string | symbol) => {
      reads += 1;
      return Reflect.get(list, name);
    };
    const items = new Proxy(
      Array.from({ length: 100_000 }, (_, index) => index),
      { get },
    );
    expect(differencesOf({ items: [] }, { items })).toHaveLength(200);
    expect(reads).toBeLessThan(1000);
  });

  it("of millions of lines show the texts whole", () => {
    const [before, after] = ["a", "b"].map((word) => `${word}\n`.repeat(1_000_000));
    expect(differencesOf({ text: before ?? "" }, { text: after ?? "" })).toEqual([{ path: "text", before, after }]);
  });
});

describe("changed lines", () => {
  it("stand with those around them, and with a sign where others are left out", () => {
    const lines = [..."abcdefghijklmnop"];
    const before = `${lines.join("\n")}\n`;
    const after = before.replace("c\n", "C\nC2\n").replace("n\n", "");
    expect(changedLines(before, after)).toEqual([
      " a",
      " b",
      "-c",
      "+C",
      "+C2",
      " d",
      " e",
      "…",
      " l",
      " m",
      "-n",
      " o",
      " p",
    ]);
    expect(changedLines(before, before)).toEqual([]);
    expect(changedLines("", "a\n")).toEqual(["+a"]);
    expect(changedLines("a\n", "")).toEqual(["-a"]);
    expect(changedLines("a", "a\n")).toEqual([]);
  });

  it("of very long texts are found without comparing each line with each", () => {
    const [one = "", other = ""] = ["a", "b"].map(
      (name) => `same\n${Array.from({ length: 3000 }, (_, i) => `${name}${i}`).join("\n")}\nend\n`,
    );
    expect(changedLines(one, other)).toHaveLength(6004);
  });
});

/** A value as text, whatever the order of its keys. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}
