import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/workflow/json.js";
import { readJson, scanJson } from "../../src/workflow/json-source.js";
import { createReport } from "../../src/workflow/report.js";
import { notJson } from "../../src/workflow/yaml.js";
import { howOften } from "../support/how-often.js";

function read(text: string) {
  const report = createReport();
  const source = readJson("x.json", text, report);
  return { source, problems: report.sorted() };
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("readJson", () => {
  it("knows the positions of keys and elements, with tabs and Windows line ends", () => {
    const { source } = read('{\r\n\t"a": [\r\n\t\t1,\r\n\t\t{"b": null}\r\n\t]\r\n}');
    expect(source?.value).toEqual({ a: [1, { b: null }] });
    const place = (...path: (string | number)[]) => source?.place(path);
    expect(place()).toEqual({ file: "x.json", line: 1, column: 1 });
    expect(place("a")).toMatchObject({ line: 2, column: 2 });
    expect(place("a", 1)).toMatchObject({ line: 4, column: 3 });
    expect(place("a", 1, "b")).toMatchObject({ line: 4, column: 4 });
    expect(place("a", 7, "b")).toMatchObject({ line: 2, column: 2 });
  });

  it.each([
    ['{"a": 1,}', 9, "expected a key in double quotes"],
    ["{'a': 1}", 2, "expected a key in double quotes"],
    ['{"a" 1}', 6, "expected ':' after the key"],
    ['{"a": 1 // one\n}', 9, "expected ',' or '}'"],
    ["[1 2]", 4, "expected ',' or ']'"],
    ["[01]", 2, "expected a value"],
    ["[NaN]", 2, "expected a value"],
    ['["a\nb"]', 4, "the text in double quotes does not end on its line"],
    ['["a', 4, "the text in double quotes does not end on its line"],
    ['["\\x"]', 3, "no character can be escaped like this"],
    ["[] []", 4, "expected the end of the file"],
    ["", 1, "expected a value"],
  ])("reports where %j stops being JSON", (text, column, message) => {
    expect(read(text)).toMatchObject({
      source: undefined,
      problems: [{ severity: "error", code: "JSON_SYNTAX", column, message }],
    });
  });

  it("reports the position of each duplicate key", () => {
    const { problems } = read('{"a": 1, "b": {"c": 1, "\\u0063": 2}, "a": 3}');
    expect(problems.map(({ code, column }) => [code, column])).toEqual([
      ["KEY_DUPLICATE", 24],
      ["KEY_DUPLICATE", 38],
    ]);
  });

  it("accepts exactly what JSON.parse accepts", () => {
    const pieces = fc.constantFrom(
      ...'{}[]:,"\\ \n\t0123456789.-+eEtrufalsn/b'.split(""),
      "true",
      '"a"',
      "1e5",
      "\u00a0",
    );
    const near = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
    const exact = fc.json({ maxDepth: 5 });
    const spaced = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value, null, "\t"));
    fc.assert(
      fc.property(fc.oneof(near, exact, spaced), (text) => {
        const { source, problems } = read(text);
        const sound = problems.every(({ code }) => code !== "JSON_SYNTAX");
        expect(sound).toBe(parses(text));
        if (sound) expect(source?.value).toEqual(JSON.parse(text));
      }),
      { numRuns: howOften(500, 30_000) },
    );
  });

  it("throws errors that are not caused by the text", () => {
    expect(() => scanJson("[")).toThrow("expected a value");
    const failing = { ...createReport(), error: () => expect.fail("from the report") };
    expect(() => readJson("x.json", '{"a":1,"a":1}', failing)).toThrow("from the report");
  });
});

describe("notJson", () => {
  it("finds the first value that is not JSON", () => {
    const round: unknown[] = [];
    round.push(round, round);
    for (const value of [null, 1, "a", true, [1, { a: [] }], {}]) expect(notJson(value)).toBeUndefined();
    for (const value of [undefined, Number.NaN, 1n, new Date()]) expect(notJson(value)).toEqual([]);
    expect(notJson({ a: [1, { b: () => 1 }] })).toEqual(["a", 1, "b"]);
    expect(notJson(round)).toHaveLength(64);
  });
});

describe("canonicalJson", () => {
  it("is the same for equal values", () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined }], a: null })).toBe('{"a":null,"b":[{"d":1}]}');
    expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
    expect(canonicalJson({ b: 1, a: new Date(0) })).toBe('{"a":"1970-01-01T00:00:00.000Z","b":1}');
  });

  it("has a key that is otherwise that of a prototype", () => {
    const [one, other] = ['{"b":1,"__proto__":{"d":2,"c":3}}', '{"b":1}'].map((text) => JSON.parse(text));
    expect(canonicalJson(one)).toBe('{"__proto__":{"c":3,"d":2},"b":1}');
    expect(canonicalJson(other)).toBe('{"b":1}');
  });
});
