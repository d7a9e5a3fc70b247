import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import {
  checkPlaceholders,
  fillKnownOptions,
  fillOptions,
  fillParams,
  hasPlaceholder,
} from "../../src/gate/fill-params.js";
import type { JsonObject } from "../../src/workflow/json.js";

const values = {
  spec_path: "specs/a",
  target_file: "src/a.ts",
  session_id: "release_a_1",
  evidence: { file: "b.md", count: 3, done: true, list: ["a"], none: null, inner: { key: "deep" }, "two-words": "w" },
};
const fill = (params: Parameters<typeof fillParams>[0]) => fillParams(params, values);

describe("fillParams", () => {
  it("inserts values into texts at any depth", () => {
    expect(
      fill({
        path: "{spec_path}/{target_file}.md",
        argv: ["test", "{evidence.file}", "--n={evidence.count}", "{evidence.inner.key}-{evidence.done}"],
        nested: { list: [{ text: "{session_id}" }], "{target_file}": "{evidence.two-words}" },
        number: 5,
        none: null,
      }),
    ).toEqual({
      path: "specs/a/src/a.ts.md",
      argv: ["test", "b.md", "--n=3", "deep-true"],
      nested: { list: [{ text: "release_a_1" }], "{target_file}": "w" },
      number: 5,
      none: null,
    });
  });

  it("replaces a param that is only a placeholder by the value itself, and a list element by text", () => {
    expect(fill({ equals: "{evidence.count}", all: "{evidence.list}", argv: ["{evidence.count}"] })).toEqual({
      equals: 3,
      all: ["a"],
      argv: ["3"],
    });
  });

  it("never expands an inserted value again, and never splits one", () => {
    const evidence = { a: "{session_id} $& $1 a b; c", "": "x" };
    expect(fillParams({ argv: ["x", "{evidence.a}"], t: "<{evidence.a}>" }, { ...values, evidence })).toEqual({
      argv: ["x", "{session_id} $& $1 a b; c"],
      t: "<{session_id} $& $1 a b; c>",
    });
  });

  it("keeps other braces, and turns double braces into single ones", () => {
    const text = "a{2,3} {} {Name} {a b} {0} {{.Names}} {{json .}}";
    expect(fill({ text, two: "{{session_id}}", three: "{{{session_id}}}" })).toEqual({
      text,
      two: "{session_id}",
      three: "{{session_id}}",
    });
    expect(hasPlaceholder("{{session_id}}")).toBe(false);
    expect(hasPlaceholder("x{session_id}")).toBe(true);
  });

  it("keeps verbatim params unchanged", () => {
    const params = { pattern: "{evidence.file}", output: { rule: "{nonsense}" }, path: "{target_file}" };
    expect(fillParams(params, values, { verbatim: ["pattern", "output"] })).toEqual({ ...params, path: "src/a.ts" });
    expect(checkPlaceholders(params, { verbatim: ["pattern", "output"] })).toEqual(["target_file"]);
  });

  it.each(["--upload-pack=touch pwned", "-rf", "-"])("does not let the value %s add an option to a command", (evil) => {
    const at = (argv: string[], more = {}) => fillParams({ argv, ...more }, { evidence: { evil, e: "" } });
    for (const element of ["{evidence.evil}", "{evidence.evil}:main", "{evidence.e}{evidence.evil}"]) {
      expect(() => at(["git", element])).toThrow("it would be read as an option");
    }
    expect(at(["git", "{evidence.evil}"], { allow_options: true }).argv).toEqual(["git", evil]);
    expect(at(["git", "--x={evidence.evil}", "./{evidence.evil}"]).argv).toEqual(["git", `--x=${evil}`, `./${evil}`]);
    // Only the value true counts, not the text, and not evidence.
    expect(() => at(["git", "{evidence.evil}"], { allow_options: "true" })).toThrow("option");
  });

  it.each([
    ["{evidence.missing}", "nothing is known for {evidence.missing}: the evidence has no such field"],
    ["{evidence.inner.other}", "no such field"],
    ["{evidence.file.length}", "no such field"],
    ["{evidence.constructor}", "no such field"],
    ["{evidence.list.0}", "no such field"],
    ["<{evidence.list}>", "can't be put into a text"],
    ["<{evidence.inner}>", "can't be put into a text"],
    ["<{evidence.none}>", "can't be put into a text"],
    ["{nonsense}", "there is no placeholder {nonsense}"],
  ])("explains what is wrong with %s", (text, message) => {
    expect(() => fill({ text })).toThrow(message);
  });

  it("refuses NUL and very long texts, and names values that the session lacks", () => {
    expect(() => fillParams({ t: "{evidence.a}" }, { evidence: { a: "a\0b" } })).toThrow("NUL");
    expect(() => fillParams({ t: "<{evidence.a}>" }, { evidence: { a: "x".repeat(9000) } })).toThrow(
      "longer than 8192",
    );
    expect(() => fillParams({ t: "{spec_path}" }, {})).toThrow("this session has none");
    expect(() => fillParams({ t: "{evidence.a}" }, {})).toThrow("the evidence has no such field");
  });

  it("sets no prototype through a key", () => {
    const params = JSON.parse('{"__proto__": {"path": "{target_file}"}}');
    const filled = fill(params);
    expect(Object.keys(filled)).toEqual(["__proto__"]);
    expect(filled.path).toBeUndefined();
  });
});

describe("checkPlaceholders", () => {
  it("returns all placeholders, each once", () => {
    const params = { a: "{spec_path}{evidence.x}", b: ["{spec_path}", { c: "{evidence.y.z}" }], d: 1, e: null };
    expect(checkPlaceholders(params)).toEqual(["spec_path", "evidence.x", "evidence.y.z"]);
  });

  it.each([
    ["{sesion_id}", "did you mean {session_id}?"],
    ["{evidence}", "did you mean {evidence.FIELD}?"],
    ["{upstream}", "there is no placeholder {upstream}"],
    ["{session_id.x}", "there is no placeholder"],
  ])("refuses %s when a definition is loaded", (text, message) => {
    expect(() => checkPlaceholders({ list: [{ text }] })).toThrow(message);
  });
});

describe("options in params", () => {
  const options = { name: "abc", count: 3, list: ["a", "b"], deep: { inner: "x" }, flag: "--evil", nothing: null };
  const fill = (params: JsonObject) => fillParams(params, { options });

  it("are filled in like evidence: a param that is only a placeholder keeps its type", () => {
    expect(
      fill({ a: "{options.count}", b: "x-{options.name}", c: "{options.list}", d: "{options.deep.inner}" }),
    ).toEqual({
      ...{ a: 3, b: "x-abc", c: ["a", "b"], d: "x" },
    });
  });

  it("can't become an option of a command, unless the author allows it", () => {
    expect(() => fill({ argv: ["ls", "{options.flag}"] })).toThrow("it would be read as an option");
    expect(fill({ argv: ["ls", "{options.flag}"], allow_options: true })).toMatchObject({ argv: ["ls", "--evil"] });
    expect(fill({ argv: ["ls", "{options.name}; rm -rf $HOME"] })).toEqual({ argv: ["ls", "abc; rm -rf $HOME"] });
    expect(() => fill({ argv: ["{options.list}"] })).toThrow("can't be put into a text");
  });

  it("are refused if they are missing, and checked by name before a session starts", () => {
    expect(() => fill({ a: "{options.other}" })).toThrow("the session was started without this option");
    expect(() => fill({ a: "{options.toString}" })).toThrow("without this option");
    expect(() => fillParams({ a: "{options.name}" }, {})).toThrow("without this option");
    expect(checkPlaceholders({ a: "{options.name}" })).toEqual(["options.name"]);
    expect(() => checkPlaceholders({ a: "{option.name}" })).toThrow("there is no placeholder {option.name}");
    expect(() => checkPlaceholders({ a: "{options}" })).toThrow("did you mean {options.NAME}?");
  });
});

describe("fillOptions", () => {
  it("fills the options into a text, once, and leaves everything else", () => {
    const options = { name: "{options.other}", other: "x", list: ["a", 1], mixed: [{}], flag: true, none: null };
    expect(fillOptions("{options.name} {options.list} {options.mixed} {options.flag} {options.none}", options)).toBe(
      "{options.other} a, 1 [{}] true null",
    );
    const code = `$${"{options.name}"} {options.missing} {{options.missing}} {options} {evidence.name} {options.__proto__}`;
    expect(fillOptions(code, options)).toBe(code);
    expect(fillOptions("{{options.other}}", options)).toBe("{options.other}");
  });

  it("shortens a long value", () => {
    const filled = fillOptions("{options.a}", { a: "x".repeat(5_000) });
    expect(filled).toBe(`${"x".repeat(2_000)}…`);
  });
});

describe("fillKnownOptions", () => {
  it("fills in what the options of a session say, and leaves everything else as it is", () => {
    const params = {
      line: "{options.command}",
      path: "{options.folder}/{evidence.file}",
      list: ["{options.command}", "{options.none}", "{{options.command}}", 1],
      deep: { number: "{options.number}", target: "{target_file}" },
      odd: "{options.odd}",
      pattern: "{options.command}",
    };
    const options = { command: "npm test", folder: "src", number: 3, odd: "{evidence.file}" };
    expect(fillKnownOptions(params, options, { verbatim: ["pattern"] })).toEqual({
      ...params,
      line: "npm test",
      list: ["npm test", "{options.none}", "{{options.command}}", 1],
      deep: { number: 3, target: "{target_file}" },
    });
    expect(() => fillKnownOptions({ argv: ["{options.command}"] }, { command: "-x" })).toThrow("read as an option");
    const allowed = { argv: ["{options.command}"], allow_options: true };
    expect(fillKnownOptions(allowed, { command: "-x" })).toEqual({ ...allowed, argv: ["-x"] });
    expect(() => fillKnownOptions({ ...allowed, allow_options: "yes" }, { command: "-x" })).toThrow("as an option");
    expect(fillKnownOptions({ path: "{evidence.file}" }, { file: "a.md" })).toEqual({ path: "{evidence.file}" });
  });
});

describe("errors of placeholders", () => {
  const refusalOf = (params: JsonObject, filled: Parameters<typeof fillParams>[1] = values) => {
    try {
      fillParams(params, filled);
    } catch (error) {
      if (isPhasegateError(error, "INVALID_INPUT")) return error;
      throw error;
    }
    throw new Error("it was not refused");
  };

  it("name a missing value, and say where it comes from", () => {
    const missing = refusalOf({ path: "{evidence.other}" });
    expect(missing.message).toBe("nothing is known for {evidence.other}: the evidence has no such field");
    expect(missing).toMatchObject({ remedy: "Submit evidence.other.", details: { field: "evidence.other" } });
    expect(refusalOf({ path: "{options.a.b}" }).remedy).toBe("Start a new session with the option a.b.");
    expect(refusalOf({ path: "{spec_path}" }, {}).remedy).toBe("Ask the author of the workflow.");
  });

  it("name the placeholders that there are, and the one that may be meant", () => {
    const near = refusalOf({ path: "{target_fil}" });
    expect(near.message).toBe("there is no placeholder {target_fil}; did you mean {target_file}?");
    expect(near.remedy).toBe(
      "Use {spec_path}, {target_file}, {session_id}, {options.NAME} or {evidence.FIELD}; {{target_fil}} stands for {target_fil} itself.",
    );
    expect(near.details).toEqual({
      ...{ field: "target_fil", expected: "spec_path, target_file, session_id, evidence.FIELD, options.NAME" },
    });
    expect(refusalOf({ path: "{option.a}" }).message).toContain("did you mean {options.NAME}?");
    expect(refusalOf({ path: "{zzzzzzzzzz}" }).message).toBe("there is no placeholder {zzzzzzzzzz}");
  });

  it("name the placeholder whose value can't be inserted", () => {
    expect(refusalOf({ path: "a {evidence.list}" })).toMatchObject({
      ...{ message: "{evidence.list} is refused: a list, an object or null can't be put into a text", details: {} },
    });
    const evidence = { nul: "a\0b", long: "x".repeat(8193), longest: "x".repeat(8192) };
    expect(refusalOf({ path: "{evidence.nul}" }, { evidence }).message).toBe(
      "{evidence.nul} is refused: it holds a NUL",
    );
    expect(refusalOf({ path: "{evidence.long}" }, { evidence }).message).toMatch(
      /^\{evidence\.long\} is refused: it is longer/,
    );
    expect(fillParams({ path: "{evidence.longest}" }, { evidence })).toEqual({ path: evidence.longest });
  });
});

it("a param of two placeholders, or of one in braces, is a text", () => {
  expect(fill({ two: "{evidence.count}{evidence.count}", text: "{{evidence.count}}", none: "" })).toEqual({
    ...{ two: "33", text: "{evidence.count}", none: "" },
  });
});

it("an option is shown whole up to 2000 characters, and a list of words with commas", () => {
  const show = (value: JsonObject[string]) => fillOptions("{options.a}", { a: value });
  expect(show("x".repeat(2000))).toBe("x".repeat(2000));
  expect(show("x".repeat(2001))).toBe(`${"x".repeat(2000)}…`);
  expect(show(["a", 1])).toBe("a, 1");
  expect(show(["a", { b: 1 }])).toBe('["a",{"b":1}]');
});

it("a value that can't be inserted is refused with what to submit instead", () => {
  expect(() => fill({ path: "a {evidence.list}" })).toThrow(
    expect.objectContaining({ code: "INVALID_INPUT", remedy: "Submit a text or a number." }),
  );
});
