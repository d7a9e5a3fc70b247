import fc from "fast-check";
import { applyEdits, type Edit, parse, printParseErrorCode } from "jsonc-parser";
import { expect, test } from "vitest";
import { cutAll, cutsAfter } from "../../src/setup/changes.js";
import { addJson, findJson, isJsonLeftover, jsonProblem, removeJson, replaceJson } from "../../src/setup/json-text.js";
import { howOften } from "../support/how-often.js";

const KEYS = ["mcpServers", "phasegate"];
const VALUE = { command: "node", args: ["main.js", "serve"] };

function added(text: string, keys = KEYS): string {
  return applyEdits(text, addJson(text, { keys }, VALUE, {}).edits);
}

/** Reads a text as clients with comments and trailing commas do. */
function read(text: string): unknown {
  const errors: { error: number; offset: number; length: number }[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  expect(errors.map(({ error }) => printParseErrorCode(error))).toEqual([]);
  return value;
}

test("a value goes behind the others, with the indentation of the file", () => {
  expect(added('{\n    "mcpServers": {\n        "a": {}\n    }\n}\n')).toBe(
    `{
    "mcpServers": {
        "a": {},
        "phasegate": {
            "command": "node",
            "args": ["main.js", "serve"]
        }
    }
}
`,
  );
});

test("tabs stay tabs, and CRLF stays CRLF", () => {
  const text = '{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n';
  const next = added(text);
  expect(next).toBe(
    '{\r\n\t"mcpServers": {\r\n\t\t"a": {},\r\n\t\t"phasegate": {\r\n\t\t\t"command": "node",\r\n\t\t\t"args": ["main.js", "serve"]\r\n\t\t}\r\n\t}\r\n}\r\n',
  );
});

test("a comment stays with what it is about", () => {
  const text = '{\n  "mcpServers": {\n    "a": { "command": "x" } // of Ann\n    // the end\n  }\n}';
  expect(added(text)).toContain(
    '    "a": { "command": "x" }, // of Ann\n    // the end\n    "phasegate": {\n      "command"',
  );
});

test("a trailing comma stays the style of its list", () => {
  const next = added('{\n  "mcpServers": {\n    "a": {}, // one\n  },\n}\n');
  expect(next).toContain('"args": ["main.js", "serve"]\n    },\n  },\n}\n');
});

test.each([
  [
    "{}",
    '{\n  "mcpServers": {\n    "phasegate": {\n      "command": "node",\n      "args": ["main.js", "serve"]\n    }\n  }\n}',
  ],
  [
    "{ }\n",
    '{\n  "mcpServers": {\n    "phasegate": {\n      "command": "node",\n      "args": ["main.js", "serve"]\n    }\n  }\n }\n',
  ],
  ['{"a":1}', '{"a":1, "mcpServers": { "phasegate": { "command": "node", "args": ["main.js", "serve"] } }}'],
  [
    '{"mcpServers":{}}',
    '{"mcpServers":{\n  "phasegate": {\n    "command": "node",\n    "args": ["main.js", "serve"]\n  }\n}}',
  ],
])("%s gets the value in the layout that it has", (text, expected) => {
  expect(added(text)).toBe(expected);
});

test("an empty file becomes one, with what belongs into it", () => {
  const { edits } = addJson("", { keys: ["mcp", "phasegate"] }, 1, { $schema: "s" });
  expect(applyEdits("", edits)).toBe('{\n  "$schema": "s",\n  "mcp": {\n    "phasegate": 1\n  }\n}\n');
});

test("a value in a list is found by what it is, and made with the list", () => {
  const place = { keys: ["hooks", "Stop"], isOurs: (value: unknown) => value === "ours" };
  const text = '{\n  "hooks": {\n    "Start": []\n  }\n}';
  const { edits, made } = addJson(text, place, "ours", {});
  const next = applyEdits(text, edits);
  expect([read(next), made]).toEqual([{ hooks: { Start: [], Stop: ["ours"] } }, 1]);
  expect(findJson(next, place)).toBe("ours");
  expect(removeJson(next, place, made)).toBe(text);
  expect(findJson('{"hooks": {"Stop": ["theirs"]}}', place)).toBeUndefined();
});

test.each([
  ['{ "a": 1', "it is not JSON: close brace expected in line 1"],
  ['{\n  "a": \n}', "it is not JSON: value expected in line 3"],
  ["[]", "its value is not an object (line 1)"],
  ['{\n"mcpServers": []}', "mcpServers is not an object (line 2)"],
  ['{"mcpServers": {},\n "mcpServers": {}}', "the key mcpServers is there twice (line 2)"],
  ["// nothing", "it is not JSON: value expected in line 1"],
  ["<<<<<<< HEAD\n{}", /^it is not JSON: /],
])("%j can't be changed, and the problem says where", (text, problem) => {
  expect(jsonProblem(text, { keys: KEYS })).toEqual(
    typeof problem === "string" ? problem : expect.stringMatching(problem),
  );
});

test("where a list should be, anything else is a problem", () => {
  const place = { keys: ["hooks", "Stop"], isOurs: () => false };
  expect(jsonProblem('{"hooks": {"Stop": {}}}', place)).toBe("hooks.Stop is not a list (line 1)");
  expect(jsonProblem('{"hooks": {"Stop": [1]}}', place)).toBeUndefined();
});

test("a replaced value keeps its place, its comments around it and its layout", () => {
  const text = '{\n  "mcpServers": {\n    // ours\n    "phasegate": { "command": "old" }, // here\n    "b": {}\n  }\n}';
  const next = applyEdits(text, [replaceJson(text, { keys: KEYS }, VALUE) as Edit]);
  expect(next).toBe(text.replace('{ "command": "old" }', '{ "command": "node", "args": ["main.js", "serve"] }'));
});

test("a removed value leaves what others have put behind it", () => {
  const text = added('{\n  "mcpServers": {\n    "a": {}\n  }\n}').replace(
    "\n    }\n  }",
    '\n    },\n    "b": {} // of Bob\n  }',
  );
  expect(removeJson(text, { keys: KEYS }, 0)).toBe('{\n  "mcpServers": {\n    "a": {},\n    "b": {} // of Bob\n  }\n}');
});

test("a removed value takes along only what was made for it", () => {
  const text = '{\n  "mcpServers": {\n    "phasegate": 1\n  }\n}';
  expect(removeJson(text, { keys: KEYS }, 0)).toBe('{\n  "mcpServers": {}\n}');
  expect(removeJson(text, { keys: KEYS }, 1)).toBe("{}");
  expect(removeJson(text.replace("1", "1 // why"), { keys: KEYS }, 1)).toBe('{\n  "mcpServers": { // why\n  }\n}');
});

test("a file is a leftover if it has nothing of anybody", () => {
  expect(isJsonLeftover('{"hooks": {"stop": []}, "version": 1}', { version: 1 })).toBe(true);
  expect(isJsonLeftover('{"version": 2}', { version: 1 })).toBe(false);
  expect(isJsonLeftover('{"version": 1} // mine', { version: 1 })).toBe(false);
  expect(isJsonLeftover("{", {})).toBe(false);
});

/** Texts of JSON with comments, blanks and trailing commas in any place. */
const jsonc = fc.letrec<{ value: string; object: string }>((tie) => {
  const gap = fc.constantFrom("", " ", "\n  ", " // note\n", " /* a, } */ ", "\n\t", "\r\n    ");
  const scalar = fc.constantFrom("1", "null", '"},{"', '"\\""', "[]", "[1, 2,]", "{}");
  const key = fc.constantFrom("a", "b", "c", "d");
  return {
    value: fc.oneof({ depthSize: "small" }, scalar, tie("object")),
    object: fc
      .tuple(
        fc.uniqueArray(key, { maxLength: 3 }),
        fc.array(tie("value"), { minLength: 3, maxLength: 3 }),
        fc.array(gap, { minLength: 16, maxLength: 16 }),
        fc.boolean(),
      )
      .map(([keys, values, gaps, trailing]) => {
        const pairs = keys.map((name, index) => {
          const [one, two, three, four] = gaps.slice(index * 4);
          return `${one}"${name}"${two}:${three}${values[index]}${four}`;
        });
        return `{${pairs.join(",")}${trailing && pairs.length > 0 ? "," : ""}${gaps[15]}}`;
      }),
  };
});

test("whatever the text: the value is added, nothing else changes, and cutting it out gives the text back", () => {
  const keys = fc.constantFrom(
    ["phasegate"],
    ["a", "phasegate"],
    ["x", "phasegate"],
    ["a", "b", "phasegate"],
    ["x", "y", "phasegate"],
  );
  fc.assert(
    fc.property(jsonc.object, keys, fc.constantFrom("", "\n", "\r\n", " // end"), (object, path, end) => {
      const text = object + end;
      fc.pre(jsonProblem(text, { keys: path }) === undefined);
      const { edits, made } = addJson(text, { keys: path }, VALUE, {});
      const next = applyEdits(text, edits);
      expect(jsonProblem(next, { keys: path })).toBeUndefined();
      expect(findJson(next, { keys: path })).toEqual(VALUE);
      const expected = read(text);
      put(expected, path, VALUE);
      expect(read(next)).toEqual(expected);
      expect(cutAll(next, cutsAfter([], edits) ?? [])).toBe(text);
      // Without the record of what was inserted, the meaning comes back, and often the text.
      expect(read(removeJson(next, { keys: path }, made))).toEqual(read(text));
    }),
    { numRuns: howOften(500, 20_000) },
  );
});

function put(whole: unknown, [key = "", ...rest]: readonly string[], value: unknown): void {
  const object = whole as Record<string, unknown>;
  if (rest.length === 0) object[key] = value;
  else {
    object[key] ??= {};
    put(object[key], rest, value);
  }
}
