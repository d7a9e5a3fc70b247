import * as re2 from "@bufbuild/re2";
import { describe, expect, it } from "vitest";
import { loadRuleLanguage, verifiedValues } from "../../src/rules/language.js";
import { Patterns, requireSmallPattern } from "../../src/rules/patterns.js";

describe("the size of a pattern", () => {
  const isSmall = (pattern: string) => {
    try {
      requireSmallPattern(pattern);
      return true;
    } catch (error) {
      return error instanceof RangeError ? error.message : error;
    }
  };

  it("is limited in characters", () => {
    expect(isSmall("a".repeat(1000))).toBe(true);
    expect(isSmall("a".repeat(1001))).toBe("a pattern is longer than 1000 characters");
  });

  // Two steps for each part, times its repetitions, are at most ten thousand.
  it.each<readonly [string, (count: number) => string, number]>([
    ["one character", (n) => `a{${n}}`, 4999],
    ["the larger end of a range", (n) => `a{2,${n}}`, 4999],
    ["the lower end of an open range", (n) => `a{${n},}`, 4999],
    ["a class", (n) => `[a-z\\]]{${n}}`, 4999],
    ["a class with a class", (n) => `[[:alpha:]x]{${n}}`, 4999],
    ["a class that begins with a bracket", (n) => `[^]a]{${n}}`, 4999],
    ["a property", (n) => `\\p{Lu}{${n}}`, 4999],
    ["an escape", (n) => `\\.{${n}}`, 4999],
    ["an emoji", (n) => `👍{${n}}`, 4999],
    ["a quoted text", (n) => `\\Qab\\E{${n}}`, 832],
    ["a quoted space", (n) => `\\Qa b\\E{${n}}`, 713],
    ["an escaped space", (n) => `\\ {${n}}`, 4999],
    ["an escaped space in a class", (n) => `[\\ ]{${n}}`, 4999],
    ["a space", (n) => ` {${n}}`, 4999],
    ["a star that is escaped", (n) => `a\\*{${n}}`, 4998],
    ["a repetition that is repeated", (n) => `a{9}{${n}}`, 499],
    ["a group", (n) => `(ab){${n}}`, 1665],
    ["a group in a group", (n) => `((a)b){${n}}`, 1249],
    ["a group after others", (n) => `xx(ab){${n}}`, 1665],
    ["what is repeated twice", (n) => `(a{9}){${n}}`, 453],
    ["a star", (n) => `a*{${n}}`, 2499],
    ["a plus and a question mark", (n) => `a+?{${n}}`, 1665],
    ["an open group", (n) => `xxx(a{${n}}`, 4996],
    ["a group that was never opened", (n) => `a){${n}}`, 2499],
  ])("is limited in steps: %s", (_, of, most) => {
    expect(isSmall(of(most))).toBe(true);
    expect(isSmall(of(most + 1))).toMatch(/^a pattern compiles to more than 10000 steps/);
  });

  it("has no repetitions in texts that only look like one", () => {
    for (const pattern of ["a{9999", "a\\{9999}", "[{9999}]", "\\Qa{9999}", "{9999x}", "a{,9999}"])
      expect(isSmall(pattern), pattern).toBe(true);
  });
});

describe("patterns", () => {
  function counted() {
    let count = 0;
    class Counted extends re2.RE2JS {
      constructor(pattern: string) {
        super(pattern);
        count += 1;
      }
    }
    return { patterns: new Patterns({ ...re2, RE2JS: Counted }), count: () => count };
  }

  it("match a part of a text, or are faulty", () => {
    const { patterns } = counted();
    expect([patterns.matches("xaby", "ab"), patterns.matches("xaby", "^ab")]).toEqual([true, false]);
    expect(patterns.fault("ab")).toBeUndefined();
    expect(patterns.fault("(")).toMatch(/missing|paren/i);
    expect(() => patterns.matches("a", "(")).toThrow();
    expect(patterns.fault("a{9999}")).toContain("10000 steps");
    expect(patterns.steps("(")).toBe(0);
    expect(patterns.steps("ab")).toBeGreaterThan(1);
    expect(patterns.steps("a{100}")).toBeGreaterThan(100);
  });

  it("are compiled once", () => {
    const { patterns, count } = counted();
    for (let at = 0; at < 256; at += 1) patterns.fault(`a${at}`);
    patterns.matches("a", "a0");
    patterns.steps("a255");
    expect(count()).toBe(256);
  });

  it("are kept up to a total of steps", () => {
    const { patterns, count } = counted();
    const large = (at: number) => `a{900}${at + 10}`;
    const kept = Math.floor(100_000 / patterns.steps(large(0)));
    for (let at = 1; at < kept; at += 1) patterns.fault(large(at));
    patterns.fault(large(0));
    expect(count()).toBe(kept);
    patterns.fault(large(kept));
    patterns.fault(large(0));
    expect(count()).toBe(kept + 1);
    patterns.fault(large(1));
    expect(count()).toBe(kept + 2);
  });
});

describe("the language", () => {
  it("knows plausible values for verifiers that check the value of a field", () => {
    const of = (verifier: string, params = {}) => verifiedValues("string", [{ verifier, params }]);
    expect(["file_exists", "file_matches", "markdown_headings"].map((name) => of(name))).toEqual(
      Array(3).fill(["docs/report.md"]),
    );
    expect([of("directory_exists"), of("git_commit_exists"), of("http_ok")]).toEqual([
      ...[["docs"], ["0123abc"], ["https://example.org/"]],
    ]);
    expect(
      ["file_contains", "json_value", "line_exists", "plan_parses", "git_tag_exists", "fails_without"].map((name) =>
        of(name),
      ),
    ).toEqual([
      ...[
        ["docs/report.md"],
        ["reports/result.json"],
        ["src/main.ts:12"],
        ["specs/tasks.md"],
        ["v1.0.0"],
        ["src/main.ts"],
      ],
    ]);
    expect(of("fails_without", { files: "changed" })).toEqual([]);
    expect(of("line_exists", { path: "a.md" })).toEqual(["src/main.ts:12"]);
    expect(of("tests_pass")).toEqual([]);
    expect(of("file_exists", { path: "a.md" })).toEqual([]);
    expect(of("git_commit_exists", { commit: "a" })).toEqual([]);
    expect(of("http_ok", { url: "a" })).toEqual([]);
    expect(of("http_ok", { path: "a" })).toHaveLength(1);
    const check = [{ verifier: "directory_exists", params: {} }];
    expect(verifiedValues("list", check)).toEqual([["docs"]]);
    expect(verifiedValues("any", check)).toEqual(["docs"]);
    expect(verifiedValues("boolean", check)).toEqual([]);
    expect(verifiedValues("string", [...check, ...check])).toEqual(["docs", "docs"]);
  });

  it("limits the parts of a rule", async () => {
    const compiler = (await loadRuleLanguage()).forFields([]);
    const fault = (rule: string) => {
      const found = compiler.compile(rule, { value: "any" });
      return found.ok ? "" : found.message;
    };
    const ones = (count: number) => Array(count).fill("1").join();
    expect(fault(`value == [${ones(200)}]`)).toBe("");
    expect(fault(`value == [${ones(201)}]`)).not.toBe("");
    const keys = (count: number) => Array.from({ length: count }, (_, at) => `${at}: 1`).join();
    expect(fault(`value == {${keys(100)}}`)).toBe("");
    expect(fault(`value == {${keys(101)}}`)).not.toBe("");
    expect(fault(`[1, 'a', 2.0].all(v, v == value)`)).toBe("");
    expect(fault(Array(120).fill("value == 1").join(" && "))).toBe("");
    expect(fault(Array(130).fill("value == 1").join(" && "))).not.toBe("");
  });
});
