import { describe, expect, it } from "vitest";
import { aligned, cut, cutMiddle, fitted, widthOf, wrapped } from "../../src/cli/layout.js";

describe("texts at a terminal", () => {
  it("are cut at a width, in which wide characters count twice", () => {
    expect(cut("a plan", 6)).toBe("a plan");
    expect(cut("a long plan", 6)).toBe("a lon…");
    expect(cut("支付网关", 6)).toBe("支付…");
    expect(cutMiddle("src/cli/terminal.ts", 19)).toBe("src/cli/terminal.ts");
    expect(cutMiddle("src/cli/very/long/terminal.ts", 16)).toBe("src/c…erminal.ts");
    expect(widthOf(cutMiddle("文档/支付网关设计说明书.md", 11))).toBeLessThanOrEqual(11);
  });

  it("are broken between words, with the indent of the line", () => {
    expect(wrapped("  one two three four five six", 22)).toEqual(["  one two three four", "  five six"]);
    expect(wrapped("x".repeat(45), 20)).toEqual(["x".repeat(20), "x".repeat(20), "x".repeat(5)]);
    expect(wrapped("支付网关设计说明书支付网关", 20)).toEqual(["支付网关设计说明书支", "付网关"]);
    expect(wrapped("any width")).toEqual(["any width"]);
    expect(wrapped("", 20)).toEqual([""]);
  });

  it("are broken behind a bar with a mark, deeper than they begin, and never wider than the terminal", () => {
    expect(wrapped("  │   note: one two three four five six", 30)).toEqual([
      ...["  │   note: one two three four", "  │     ↳ five six"],
    ]);
    for (const width of [20, 40, 80]) {
      const text = Array.from({ length: 20 }, () => "word").join(" ");
      const [first = "", ...others] = wrapped(`    │ ${" ".repeat(60)}text: ${text}`, width);
      for (const line of [first, ...others]) expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(first).toMatch(/^ {4}│ *(?:text:.*)?$/);
      expect(others.filter((line) => !/^ {4}│ {3,}↳ \S/.test(line))).toEqual([]);
    }
  });
});

describe("columns", () => {
  it("stay in line beside wide characters", () => {
    expect(
      aligned([
        ["支付", "x"],
        ["👩‍👩‍👧", "y"],
        ["abcd", "z"],
      ]),
    ).toEqual(["支付  x", "👩‍👩‍👧    y", "abcd  z"]);
  });

  it("give way as they say: the widest is cut, then what is optional is left out, the last first", () => {
    const rows = [["id", "a long name of a phase", "a workflow", "an owner"]];
    const gives = [{}, { least: 4 }, { optional: 2 }, { least: 2, optional: 2 }] as const;
    const at = (width?: number) => fitted(rows, gives, width);
    expect(at()).toEqual({ columns: [0, 1, 2, 3], rows });
    expect(at(40).rows).toEqual([["id", "a long name o…", "a workflow", "an owner"]]);
    expect(at(30).rows).toEqual([["id", "a lon…", "a workflow", "an ow…"]]);
    expect(at(26)).toEqual({ columns: [0, 1, 2], rows: [["id", "a long na…", "a workflow"]] });
    expect(at(20)).toEqual({ columns: [0, 1], rows: [["id", "a long name of …"]] });
    const last = fitted(rows, [{}, { least: 4 }, { least: 4, optional: 1 }, { least: 2, optional: 1 }], 20);
    expect(last).toEqual({ columns: [0, 1, 2, 3], rows: [["id", "a l…", "a w…", "an …"]] });
    // What may not be cut stays.
    expect(at(5).rows).toEqual([["id", "a l…"]]);
  });
});
